// RUN: cutecc opt %s --pipeline=llvm-to-binary --emit=ptx | filecheck %s

// An access that names no alignment has its type's, by NVPTX's data layout: numbers of 64 bits are not taken apart.
// CHECK-LABEL: .entry kernel(
// CHECK: ld.shared::cluster.b64 [[NUMBER:%rd[0-9]+]], [%r{{[0-9]+}}];
// CHECK: st.volatile.global.b64 [%{{rd[0-9]+}}], [[NUMBER]];
// CHECK: ld.shared.v2.b64 {%rd{{[0-9]+}}, %rd{{[0-9]+}}}, [%r{{[0-9]+}}];
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  llvm.func @kernel(%far: !llvm.ptr<7>, %near: !llvm.ptr<3>, %out: !llvm.ptr<1>)
      attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.load %far : !llvm.ptr<7> -> i64
    llvm.store volatile %0, %out : i64, !llvm.ptr<1>
    %1 = llvm.load %near : !llvm.ptr<3> -> vector<2xf64>
    llvm.store volatile %1, %out : vector<2xf64>, !llvm.ptr<1>
    llvm.return
  }
}
