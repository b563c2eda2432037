// RUN: cutecc opt %s --pipeline=llvm-to-binary --emit=ptx | filecheck %s

// Operations that LLVM 22 has no intrinsic for are the PTX instructions that they stand for.
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  // CHECK-LABEL: .entry atomics(
  // CHECK: atom.global.release.gpu.add.u32 [[OLD:%r[0-9]+]], {{\[}}[[P:%rd[0-9]+]]], %{{r[0-9]+}};
  // CHECK: st.global.b32 [{{.*}}], [[OLD]];
  // CHECK: atom.shared.relaxed.gpu.max.s32
  // CHECK: atom.global.relaxed.gpu.add.f32
  // CHECK: atom.global.relaxed.gpu.cas.b64 %{{rd[0-9]+}}, {{\[}}[[P]]], %{{rd[0-9]+}}, %{{rd[0-9]+}};
  // CHECK: atom.global.relaxed.gpu.add.noftz.f16x2
  llvm.func @atomics(%p: !llvm.ptr<1>, %s: !llvm.ptr<3>, %i: i32, %l: i64, %f: f32, %h: vector<2xf16>, %o: !llvm.ptr<1>)
      attributes {gpu.kernel, nvvm.kernel} {
    %0 = nvvm.atomicrmw add %p, %i {memOrder = #nvvm.mem_order<release>} : !llvm.ptr<1>, i32
    llvm.store %0, %o : i32, !llvm.ptr<1>
    %1 = nvvm.atomicrmw max %s, %i : !llvm.ptr<3>, i32
    %2 = nvvm.atomicrmw fadd %p, %f : !llvm.ptr<1>, f32
    %3 = nvvm.atomicrmw cas %p, %l, %l : !llvm.ptr<1>, i64, i64
    %4 = nvvm.atomicrmw fadd %p, %h : !llvm.ptr<1>, vector<2xf16>
    llvm.return
  }

  // CHECK-LABEL: .entry loads(
  // CHECK: ld.acquire.gpu.global.b32
  // CHECK: ld.relaxed.sys.global.v4.b32 {%{{r[0-9]+}}, %{{r[0-9]+}}, %{{r[0-9]+}}, %{{r[0-9]+}}}, [%{{rd[0-9]+}}];
  // CHECK: red.relaxed.gpu.global.add.v4.f32 [%rd{{[0-9]+}}], {%r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}};
  // CHECK: red.release.gpu.global.add.s32 [%rd{{[0-9]+}}], %r{{[0-9]+}};
  // CHECK: st.release.gpu.global.b16 [%{{rd[0-9]+}}], %{{rs[0-9]+}};
  llvm.func @loads(%p: !llvm.ptr<1>, %o: !llvm.ptr<1>, %h: i16, %i: i32) attributes {gpu.kernel, nvvm.kernel} {
    %0 = nvvm.load.ext %p {order = #nvvm.mem_order<acquire>, scope = #nvvm.mem_scope<gpu>} : !llvm.ptr<1> -> f32
    llvm.store %0, %o : f32, !llvm.ptr<1>
    %1 = nvvm.load.ext %p {order = #nvvm.mem_order<relaxed>, scope = #nvvm.mem_scope<sys>} : !llvm.ptr<1> -> vector<4xf32>
    llvm.store %1, %o : vector<4xf32>, !llvm.ptr<1>
    nvvm.red %p, %1 {memOrder = #nvvm.mem_order<relaxed>, memScope = #nvvm.mem_scope<gpu>, op = #nvvm.red_op<add>,
        type = #nvvm.red_type<f32>} : !llvm.ptr<1>, vector<4xf32>
    nvvm.red %p, %i {memOrder = #nvvm.mem_order<release>, memScope = #nvvm.mem_scope<gpu>, op = #nvvm.red_op<add>,
        type = #nvvm.red_type<s32>} : !llvm.ptr<1>, i32
    nvvm.store.ext %h, %p {order = #nvvm.mem_order<release>, scope = #nvvm.mem_scope<gpu>} : i16, !llvm.ptr<1>
    llvm.return
  }

  // CHECK-LABEL: .entry barriers(
  // CHECK: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%r{{[0-9]+}}], %r{{[0-9]+}}, %r{{[0-9]+}};
  // CHECK: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%r{{[0-9]+}}], %r{{[0-9]+}};
  // CHECK: mbarrier.arrive.shared.b64 %rd{{[0-9]+}}, [%r{{[0-9]+}}], %r{{[0-9]+}};
  // CHECK: mbarrier.arrive.shared::cluster.b64 _, [%r{{[0-9]+}}], %r{{[0-9]+}};
  // CHECK: mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r{{[0-9]+}}], %r{{[0-9]+}};
  // CHECK: mbarrier.arrive.expect_tx.shared::cluster.b64 _, [%r{{[0-9]+}}], %r{{[0-9]+}};
  // CHECK: mbarrier.expect_tx.relaxed.cta.shared.b64 [%r{{[0-9]+}}], %r{{[0-9]+}};
  // CHECK: mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%r{{[0-9]+}}], %r{{[0-9]+}};
  // CHECK: cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r{{[0-9]+}}], [%rd{{[0-9]+}}], %r{{[0-9]+}}, [%r{{[0-9]+}}];
  // CHECK: st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r{{[0-9]+}}], %r{{[0-9]+}}, [%r{{[0-9]+}}];
  // CHECK: tanh.approx.f32
  // CHECK: tanh.approx.f32
  llvm.func @barriers(%s: !llvm.ptr<3>, %c: !llvm.ptr<7>, %i: i32, %f: f32, %o: !llvm.ptr<1>)
      attributes {gpu.kernel, nvvm.kernel} {
    %0 = nvvm.mbarrier.try_wait.parity.timelimit %s, %i, %i {order = #nvvm.mem_order<acquire>}
        : !llvm.ptr<3>, i32, i32 -> i1
    llvm.store %0, %o : i1, !llvm.ptr<1>
    %3 = nvvm.mbarrier.wait.parity %s, %i {kind = #nvvm.mbar_wait<try>} : !llvm.ptr<3>, i32 -> i1
    llvm.store %3, %o : i1, !llvm.ptr<1>
    %4 = nvvm.mbarrier.arrive %s, %i : !llvm.ptr<3> -> i64
    nvvm.mbarrier.arrive %c, %i : !llvm.ptr<7>
    nvvm.mbarrier.arrive %c, %i {relaxed = true, scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>
    nvvm.mbarrier.arrive.expect_tx %c, %i : !llvm.ptr<7>, i32
    nvvm.mbarrier.expect_tx %s, %i : !llvm.ptr<3>, i32
    nvvm.mbarrier.expect_tx %c, %i {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>, i32
    nvvm.cp.async.bulk.shared.cluster.global %c, %o, %s, %i : !llvm.ptr<7>, <1>
    nvvm.store.async %c, %i, mbarrier = %c : <7>, i32, <7>
    %1 = llvm.call_intrinsic "llvm.nvvm.tanh.approx.f32"(%f) : (f32) -> f32
    llvm.store %1, %o : f32, !llvm.ptr<1>
    %2 = llvm.call_intrinsic "llvm.nvvm.tanh.approx"(%1) : (f32) -> f32
    llvm.store %2, %o : f32, !llvm.ptr<1>
    llvm.return
  }
  // Two numbers become halves of a register; the third operand is for those that join more.
  // CHECK-LABEL: .entry conversions(
  // CHECK: cvt.rn.bf16x2.f32 %r{{[0-9]+}}, [[A:%r[0-9]+]], [[B:%r[0-9]+]];
  // CHECK: cvt.rz.relu.f16x2.f32 %r{{[0-9]+}}, [[A]], [[B]];
  llvm.func @conversions(%a: f32, %b: f32, %i: i32, %o: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %0 = "nvvm.cvt.packfloat.f32"(%a, %b, %i) <{extractHi = false, relu = false, rnd = #nvvm.fp_rnd_mode<rn>,
        sat = #nvvm.sat<none>, to = #nvvm.packfloat_type<bf16x2>}> : (f32, f32, i32) -> i32
    llvm.store volatile %0, %o : i32, !llvm.ptr<1>
    %1 = "nvvm.cvt.packfloat.f32"(%a, %b, %i) <{extractHi = false, relu = true, rnd = #nvvm.fp_rnd_mode<rz>,
        sat = #nvvm.sat<none>, to = #nvvm.packfloat_type<f16x2>}> : (f32, f32, i32) -> i32
    llvm.store volatile %1, %o : i32, !llvm.ptr<1>
    llvm.return
  }
}
