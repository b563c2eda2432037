// RUN: cutecc opt %s --pipeline='mark-timeline' --verify-diagnostics | filecheck %s
// RUN: cutecc opt %s --pipeline='mark-timeline{sites=all}' | filecheck %s --check-prefix=ALL

// A range around what waits; what the user marked stays as it is.
// CHECK: iket.range_push("load")
// CHECK: iket.range_push("mbarrier wait:{{[0-9]+}}")
// CHECK-NEXT: nvvm.mbarrier.try_wait.parity
// CHECK-NEXT: iket.range_pop
// CHECK-NEXT: nvvm.mbarrier.arrive
// CHECK-NEXT: iket.range_pop
// CHECK-NEXT: gpu.return

// ALL: nvvm.mbarrier.arrive
// ALL-NEXT: iket.mark("mbarrier arrive:{{[0-9]+}}")
gpu.module @kernels {
  // expected-remark@+1 {{marks 1 sites}}
  gpu.func @waits(%bar: !llvm.ptr<3>, %phase: i32) kernel {
    %ticks = arith.constant 10000000 : i32
    %one = arith.constant 1 : i32
    iket.range_push("load")
    nvvm.mbarrier.try_wait.parity %bar, %phase, %ticks : !llvm.ptr<3>, i32, i32
    %0 = nvvm.mbarrier.arrive %bar, %one : !llvm.ptr<3> -> i64
    iket.range_pop
    gpu.return
  }
}
