// RUN: cutecc opt %s --pipeline=llvm-to-binary --emit=ptx | filecheck %s

// Calls of NVIDIA's library of mathematical functions are linked and inlined; nothing else of it is left.
// CHECK-NOT: .func
// CHECK: .entry kernel(
// CHECK: ex2.approx
// CHECK-NOT: call
// CHECK-NOT: .func
gpu.module @kernels [#nvvm.target<chip = "sm_80", features = "+ptx88">] {
  llvm.func @__nv_expf(f32) -> f32
  llvm.func @kernel(%out: !llvm.ptr<1>, %a: f32) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.call @__nv_expf(%a) : (f32) -> f32
    llvm.store %0, %out : f32, !llvm.ptr<1>
    llvm.return
  }
}
