// RUN: cutecc opt %s --pipeline=llvm-to-binary --emit=ptx | filecheck %s

// Pointers to shared memory take 32 bits, in inline assembly too.
// CHECK-LABEL: .entry kernel(
// CHECK: add.s32 [[ADDRESS:%r[0-9]+]], %{{r[0-9]+}}, %{{r[0-9]+}};
// CHECK: ld.volatile.shared.b32 %{{r[0-9]+}}, {{\[}}[[ADDRESS]]];
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  llvm.mlir.global external @buffer() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
  llvm.func @kernel(%out: !llvm.ptr<1>, %index: i32) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.mlir.addressof @buffer : !llvm.ptr<3>
    %1 = llvm.getelementptr %0[%index] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %2 = llvm.inline_asm has_side_effects "ld.volatile.shared.b32 $0, [$1];", "=r,r" %1 : (!llvm.ptr<3>) -> i32
    llvm.store %2, %out : i32, !llvm.ptr<1>
    llvm.return
  }
}
