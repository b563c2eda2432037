// RUN: cutecc opt %s --pipeline=llvm-to-binary --emit=ptx | filecheck %s

// A product and a sum may be rounded once, as with the wheel's code generator.
// CHECK-LABEL: .entry kernel(
// CHECK: fma.rn.f32
// CHECK-NOT: {{mul|add}}{{(.rn)?}}.f32
gpu.module @kernels [#nvvm.target<chip = "sm_80", features = "+ptx88">] {
  llvm.func @kernel(%out: !llvm.ptr<1>, %a: f32, %b: f32, %c: f32) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.fmul %a, %b : f32
    %1 = llvm.fadd %0, %c : f32
    llvm.store %1, %out : f32, !llvm.ptr<1>
    llvm.return
  }
}
