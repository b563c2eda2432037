// RUN: cutecc opt %s --pipeline=llvm-to-binary --emit=ptx | filecheck %s

// A descriptor is read where the launch puts it: the kernel makes no copy of it on its stack.
// CHECK-LABEL: .entry kernel(
// CHECK: .param .align 64 .b8 kernel_param_0[128]
// CHECK-NOT: .local
// CHECK: mov.b64 [[PARAMETER:%rd[0-9]+]], kernel_param_0;
// CHECK-NOT: .local
// Once, though LLVM has an instruction for either address space.
// CHECK-NOT: prefetch.param
// CHECK: prefetch.tensormap [
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  llvm.func @kernel(%descriptor: !llvm.ptr {
    llvm.align = 64 : i64, llvm.byval = !llvm.struct<(array<16 x i64>)>, nvvm.grid_constant
  }) attributes {gpu.kernel, nvvm.kernel} {
    nvvm.prefetch tensormap, %descriptor : !llvm.ptr
    llvm.return
  }
}
