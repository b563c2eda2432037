// RUN: cutecc opt %s --pipeline='record-timeline' --split-input-file --verify-diagnostics | filecheck %s
// RUN: cutecc opt %s --pipeline='record-timeline{sites=waits}' --split-input-file | filecheck %s --check-prefix=WAITS
// RUN: not cutecc opt %s --pipeline='record-timeline{sites=some}' --split-input-file 2>&1 | filecheck %s --check-prefix=SOME

// SOME: error: pass record-timeline: option 'sites' takes 'waits' or 'all', not 'some'

// What arms the kernel, and what its sites are, are variables that others find by their names.
// CHECK: llvm.mlir.global external @cutecc_timeline_0("{{.*}}") {addr_space = 4 : i32, alignment = 16 : i64}
// CHECK: llvm.mlir.global external @cutecc_timeline_0_sites("{\22kernel\22:\22waits\22,\22sites\22:[
// CHECK-SAME: {\22kind\22:\22mark\22,\22name\22:\22load\22,\22file\22:
// CHECK-SAME: {\22kind\22:\22wait\22,\22name\22:\22mbarrier wait\22,\22barrier\22:\22mbarrier 0\22,
// CHECK-SAME: {\22kind\22:\22barrier\22,\22name\22:\22barrier\22,\22barrier\22:\22named barrier 0\22,
// CHECK-SAME: {\22kind\22:\22arrive\22,\22name\22:\22mbarrier arrive\22,\22barrier\22:\22mbarrier 0\22,
// CHECK-LABEL: gpu.func @waits(
// CHECK: %[[SLOT:.*]] = llvm.alloca
// CHECK: llvm.inline_asm has_side_effects {{.*}}ld.const.b64 base, [cutecc_timeline_0]{{.*}}%globaltimer
// A mark is where it stands.
// CHECK: iket.range_push("load")
// CHECK: %[[TIME:.*]] = llvm.inline_asm has_side_effects {{.*}}%clock
// CHECK-NEXT: st.global.v2.b32 [$0+0], {5, $2}; {{.*}}%[[TIME]]
// CHECK: scf.for
// All that a turn writes fits, or none of it; two are written at a time. The barrier begins where the wait ends, and
// orders the clock behind it.
// CHECK: %[[CURSOR:.*]] = llvm.load %[[SLOT]]
// CHECK-NEXT: %[[FITS:.*]] = llvm.inline_asm {{.*}}add.s64 end, $1, 32; setp.le.u64
// CHECK: %[[BEGIN:.*]] = llvm.inline_asm has_side_effects {{.*}}%clock
// CHECK-NEXT: nvvm.mbarrier.try_wait.parity
// CHECK-NEXT: %[[END:.*]] = llvm.inline_asm has_side_effects {{.*}}%clock
// CHECK-NEXT: st.global.v4.b32 [$0+0], {9, $2, 10, $3}; {{.*}} %[[CURSOR]], %[[FITS]], %[[BEGIN]], %[[END]]
// CHECK-NEXT: nvvm.barrier
// CHECK-NEXT: %[[MET:.*]] = llvm.inline_asm has_side_effects {{.*}}bar.warp.sync -1; mov.u32 $0, %clock
// CHECK-NEXT: nvvm.mbarrier.arrive
// CHECK-NEXT: %[[ARRIVED:.*]] = llvm.inline_asm has_side_effects {{.*}}%clock
// CHECK-NEXT: st.global.v4.b32 [$0+16], {14, $2, 16, $3}; {{.*}} %[[CURSOR]], %[[FITS]], %[[MET]], %[[ARRIVED]]
// CHECK: iket.range_pop
// CHECK: st.global.v4.b32 [$0+0], {23, $2, 25, $3};
// CHECK: %[[LAST:.*]] = llvm.load %[[SLOT]]
// CHECK-NEXT: {{.*}}%globaltimer{{.*}} %[[LAST]]
// CHECK-NEXT: gpu.return

// WAITS-LABEL: gpu.func @waits(
// WAITS: iket.range_push
// WAITS-NEXT: llvm.load
// WAITS: nvvm.mbarrier.arrive
// WAITS-NEXT: }
gpu.module @kernels {
  // expected-remark@+1 {{records 6 sites}}
  gpu.func @waits(%bar: !llvm.ptr<3>, %phase: i32, %n: i32) kernel {
    %ticks = arith.constant 10000000 : i32
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    iket.range_push("load")
    scf.for %i = %zero to %n step %one : i32 {
      nvvm.mbarrier.try_wait.parity %bar, %phase, %ticks : !llvm.ptr<3>, i32, i32
      nvvm.barrier
      %0 = nvvm.mbarrier.arrive %bar, %one : !llvm.ptr<3> -> i64
    }
    iket.range_pop
    nvvm.wgmma.wait.group.sync.aligned 0
    gpu.return
  }
}

// -----

// The stages of a pipeline have one name, whatever chooses them; two pipelines have two. One that looks does not wait.
// CHECK-LABEL: gpu.module @kernels
// CHECK: \22barrier\22:\22mbarrier 0\22,{{.*}}\22barrier\22:\22mbarrier 0\22,{{.*}}\22barrier\22:\22mbarrier 1\22,{{.*}}\22barrier\22:\22mbarrier 1\22
// CHECK-NOT: mbarrier 2
// CHECK-LABEL: gpu.func @stages(
gpu.module @kernels {
  // expected-remark@+1 {{records 4 sites}}
  gpu.func @stages(%full: !cute.ptr<i64, smem>, %empty: !cute.ptr<i64, smem>, %stage: i32, %phase: i32) kernel {
    %ticks = arith.constant 10000000 : i32
    %zero = cute.make_int_tuple() : () -> !cute.int_tuple<"2">
    %number = cute.make_int_tuple(%stage) : (i32) -> !cute.int_tuple<"?">
    %first = cute.add_offset(%full, %zero) : (!cute.ptr<i64, smem>, !cute.int_tuple<"2">) -> !cute.ptr<i64, smem>
    %at = cute.add_offset(%full, %number) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
    %of = cute.add_offset(%empty, %number) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
    %0 = builtin.unrealized_conversion_cast %first : !cute.ptr<i64, smem> to !llvm.ptr<3>
    %1 = builtin.unrealized_conversion_cast %at : !cute.ptr<i64, smem> to !llvm.ptr<3>
    %2 = builtin.unrealized_conversion_cast %of : !cute.ptr<i64, smem> to !llvm.ptr<3>
    nvvm.mbarrier.try_wait.parity %0, %phase, %ticks : !llvm.ptr<3>, i32, i32
    nvvm.mbarrier.try_wait.parity %1, %phase, %ticks : !llvm.ptr<3>, i32, i32
    nvvm.mbarrier.try_wait.parity %2, %phase, %ticks : !llvm.ptr<3>, i32, i32
    %3 = nvvm.mbarrier.arrive %2, %stage : !llvm.ptr<3> -> i64
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-remark@+1 {{records nothing: it has no waits, barriers or marks}}
  gpu.func @nothing() kernel {
    gpu.return
  }
}

// -----

// A mark behind a wait is written, though the wait that follows begins where the one before has ended.
// CHECK-LABEL: gpu.func @mark_behind_a_wait(
// CHECK: add.s64 end, $1, 48;
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: [$0+0], {5, $2, 6, $3}
// CHECK: iket.range_push("work")
// CHECK-NEXT: %clock
// CHECK: nvvm.barrier
// CHECK: iket.range_pop
gpu.module @kernels {
  // expected-remark@+1 {{records 4 sites}}
  gpu.func @mark_behind_a_wait(%bar: !llvm.ptr<3>, %phase: i32) kernel {
    %ticks = arith.constant 10000000 : i32
    nvvm.mbarrier.try_wait.parity %bar, %phase, %ticks : !llvm.ptr<3>, i32, i32
    iket.range_push("work")
    nvvm.barrier
    iket.range_pop
    gpu.return
  }
}

// -----

// CHECK-LABEL: gpu.func @calls(
gpu.module @kernels {
  func.func private @helper()
  // expected-remark@+1 {{records 1 sites; not what functions do that it calls}}
  gpu.func @calls() kernel {
    func.call @helper() : () -> ()
    nvvm.barrier
    gpu.return
  }
}
