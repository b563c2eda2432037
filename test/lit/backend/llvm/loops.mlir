// RUN: cutecc opt %s --pipeline=llvm-to-binary --emit=ptx | filecheck %s

// A loop that is to be unrolled is straight code.
// CHECK-LABEL: .entry unrolled(
// CHECK-COUNT-8: atom.global.relaxed.gpu.add.u32
// CHECK-NOT: bra
// CHECK: ret;

// One that is not stays a loop, for ptxas too.
// CHECK-LABEL: .entry rolled(
// CHECK: .pragma "nounroll";
// CHECK-COUNT-1: atom.global.relaxed.gpu.add.u32
// CHECK: bra
#full = #llvm.loop_annotation<unroll = <disable = false, full = true>>
#none = #llvm.loop_annotation<unroll = <disable = true>>
gpu.module @kernels [#nvvm.target<chip = "sm_80", features = "+ptx88">] {
  llvm.func @unrolled(%p: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %zero = llvm.mlir.constant(0 : i32) : i32
    %one = llvm.mlir.constant(1 : i32) : i32
    %end = llvm.mlir.constant(8 : i32) : i32
    llvm.br ^head(%zero : i32)
  ^head(%i: i32):
    %more = llvm.icmp "slt" %i, %end : i32
    llvm.cond_br %more, ^body, ^exit
  ^body:
    %0 = nvvm.atomicrmw add %p, %i : !llvm.ptr<1>, i32
    %next = llvm.add %i, %one : i32
    llvm.br ^head(%next : i32) {loop_annotation = #full}
  ^exit:
    llvm.return
  }
  llvm.func @rolled(%p: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %zero = llvm.mlir.constant(0 : i32) : i32
    %one = llvm.mlir.constant(1 : i32) : i32
    %end = llvm.mlir.constant(8 : i32) : i32
    llvm.br ^head(%zero : i32)
  ^head(%i: i32):
    %more = llvm.icmp "slt" %i, %end : i32
    llvm.cond_br %more, ^body, ^exit
  ^body:
    %0 = nvvm.atomicrmw add %p, %i : !llvm.ptr<1>, i32
    %next = llvm.add %i, %one : i32
    llvm.br ^head(%next : i32) {loop_annotation = #none}
  ^exit:
    llvm.return
  }
}
