// RUN: cutecc opt %s --pipeline=llvm-to-binary --emit=ptx | filecheck %s

// The same barrier in both branches stays in each: threads of one do not wait for those of the other.
// CHECK-LABEL: .entry kernel(
// CHECK: bra
// CHECK: barrier.sync 1;
// CHECK: barrier.sync 1;
gpu.module @kernels [#nvvm.target<chip = "sm_80", features = "+ptx88">] {
  llvm.func @kernel(%out: !llvm.ptr<1>, %which: i1) attributes {gpu.kernel, nvvm.kernel} {
    %one = llvm.mlir.constant(1 : i32) : i32
    %two = llvm.mlir.constant(2 : i32) : i32
    llvm.cond_br %which, ^first, ^second
  ^first:
    llvm.inline_asm has_side_effects "barrier.sync 1;", "" : () -> ()
    llvm.store volatile %one, %out : i32, !llvm.ptr<1>
    llvm.br ^end
  ^second:
    llvm.inline_asm has_side_effects "barrier.sync 1;", "" : () -> ()
    llvm.store volatile %two, %out : i32, !llvm.ptr<1>
    llvm.br ^end
  ^end:
    llvm.return
  }
}
