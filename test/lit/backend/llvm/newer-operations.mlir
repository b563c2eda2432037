// RUN: cutecc opt %s --pipeline=llvm-to-binary --emit=ptx --split-input-file | filecheck %s

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

  // Waiting for a barrier's phase by its parity or by its state, with a limit or without; and for nothing more than a hint.
  // CHECK-LABEL: .entry waits(
  // CHECK: mbarrier.try_wait.acquire.cta.shared::cta.b64 p, [%r{{[0-9]+}}], %rd{{[0-9]+}}, %r{{[0-9]+}};
  // CHECK: mbarrier.try_wait.relaxed.cluster.b64 p, [%rd{{[0-9]+}}], %rd{{[0-9]+}}, %r{{[0-9]+}};
  // CHECK: mbarrier.test_wait.acquire.cta.shared::cta.b64 p, [%r{{[0-9]+}}], %rd{{[0-9]+}};
  // CHECK: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%r{{[0-9]+}}], %r{{[0-9]+}}, %r{{[0-9]+}}; }
  llvm.func @waits(%s: !llvm.ptr<3>, %p: !llvm.ptr, %state: i64, %i: i32, %o: !llvm.ptr<1>)
      attributes {gpu.kernel, nvvm.kernel} {
    %0 = nvvm.mbarrier.try_wait.timelimit %s, %state, %i : !llvm.ptr<3>, i64, i32 -> i1
    llvm.store volatile %0, %o : i1, !llvm.ptr<1>
    %1 = nvvm.mbarrier.try_wait.timelimit %p, %state, %i {order = #nvvm.mem_order<relaxed>,
        scope = #nvvm.mbar_scope<cluster>} : !llvm.ptr, i64, i32 -> i1
    llvm.store volatile %1, %o : i1, !llvm.ptr<1>
    %2 = nvvm.mbarrier.wait %s, %state {kind = #nvvm.mbar_wait<test>} : !llvm.ptr<3>, i64 -> i1
    llvm.store volatile %2, %o : i1, !llvm.ptr<1>
    nvvm.mbarrier.try_wait.parity %s, %i, %i : !llvm.ptr<3>, i32, i32
    llvm.return
  }

  // CHECK-LABEL: .entry signals(
  // CHECK: mbarrier.arrive_drop.shared::cluster.b64 _, [%r{{[0-9]+}}], %r{{[0-9]+}};
  // CHECK: mbarrier.arrive_drop.expect_tx.relaxed.cluster.shared::cluster.b64 _, [%r{{[0-9]+}}], %r{{[0-9]+}};
  // CHECK: mbarrier.complete_tx.relaxed.cta.shared::cluster.b64 [%r{{[0-9]+}}], %r{{[0-9]+}};
  // CHECK: mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %rd{{[0-9]+}}, [%r{{[0-9]+}}], %r{{[0-9]+}};
  // CHECK: mbarrier.arrive_drop.relaxed.cluster.shared::cluster.b64 _, [%r{{[0-9]+}}], %r{{[0-9]+}};
  // CHECK: mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r{{[0-9]+}}], %r{{[0-9]+}};
  // CHECK: mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r{{[0-9]+}}], %r{{[0-9]+}};
  // CHECK: cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint [%r{{[0-9]+}}], [%rd{{[0-9]+}}], %r{{[0-9]+}}, [%r{{[0-9]+}}], %rd{{[0-9]+}};
  llvm.func @signals(%s: !llvm.ptr<3>, %c: !llvm.ptr<7>, %g: !llvm.ptr<1>, %policy: i64, %i: i32)
      attributes {gpu.kernel, nvvm.kernel} {
    nvvm.mbarrier.arrive_drop %c, %i : !llvm.ptr<7>
    nvvm.mbarrier.arrive_drop.expect_tx %c, %i {relaxed = true, scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>, i32
    nvvm.mbarrier.complete_tx %c, %i : !llvm.ptr<7>, i32
    %0 = "nvvm.mbarrier.txn.cta"(%s, %i) <{kind = #nvvm.mbar_txn_kind<arrive_expect_tx>}> : (!llvm.ptr<3>, i32) -> i64
    llvm.store volatile %0, %g : i64, !llvm.ptr<1>
    "nvvm.mbarrier.txn"(%s, %i) <{kind = #nvvm.mbar_txn_kind<arrive_drop>, space = #nvvm.mbar_space<cluster>,
        scope = #nvvm.mbar_scope<cluster>, order = #nvvm.mem_order<relaxed>}> : (!llvm.ptr<3>, i32) -> ()
    "nvvm.mbarrier.txn"(%s, %i) <{kind = #nvvm.mbar_txn_kind<complete_tx>}> : (!llvm.ptr<3>, i32) -> ()
    "nvvm.mbarrier.txn"(%c, %i) <{kind = #nvvm.mbar_txn_kind<arrive>, scope = #nvvm.mbar_scope<cluster>}>
        : (!llvm.ptr<7>, i32) -> ()
    "nvvm.cp.async.bulk.shared.cluster.global"(%s, %g, %s, %i, %policy) <{operandSegmentSizes =
        array<i32: 1, 1, 1, 1, 0, 1>}> : (!llvm.ptr<3>, !llvm.ptr<1>, !llvm.ptr<3>, i32, i64) -> ()
    llvm.return
  }

  // An access may have a policy of the L2 cache.
  // CHECK-LABEL: .entry policies(
  // CHECK: ld.global.L1::evict_first.L2::cache_hint.v4.b32 {%{{.*}}}, [%{{rd[0-9]+}}], [[POLICY:%rd[0-9]+]];
  // CHECK: st.global.L2::cache_hint.v4.b32 [%{{rd[0-9]+}}], {%{{.*}}}, [[POLICY]];
  // CHECK: red.relaxed.gpu.global.add.L2::cache_hint.s32 [%{{rd[0-9]+}}], %{{r[0-9]+}}, [[POLICY]];
  // CHECK: ld.mmio.relaxed.sys.global.b32 %{{r[0-9]+}}, [%{{rd[0-9]+}}];
  // CHECK: ld.global.b32 %{{r[0-9]+}}, [%{{rd[0-9]+}}].unified;
  // CHECK: ld.global.b128
  llvm.func @policies(%p: !llvm.ptr<1>, %policy: i64, %i: i32) attributes {gpu.kernel, nvvm.kernel} {
    %0 = "nvvm.load.ext"(%p, %policy) <{evict = #nvvm.evict_kind<evict_first>}> : (!llvm.ptr<1>, i64) -> vector<4xf32>
    "nvvm.store.ext"(%0, %p, %policy) : (vector<4xf32>, !llvm.ptr<1>, i64) -> ()
    "nvvm.red"(%p, %i, %policy) <{memOrder = #nvvm.mem_order<relaxed>, memScope = #nvvm.mem_scope<gpu>,
        op = #nvvm.red_op<add>, type = #nvvm.red_type<s32>}> : (!llvm.ptr<1>, i32, i64) -> ()
    %1 = "nvvm.load.ext"(%p) <{order = #nvvm.mem_order<mmio>, scope = #nvvm.mem_scope<sys>}> : (!llvm.ptr<1>) -> i32
    llvm.store volatile %1, %p : i32, !llvm.ptr<1>
    %2 = "nvvm.load.ext"(%p) <{order = #nvvm.mem_order<constant>, unified = true}> : (!llvm.ptr<1>) -> i32
    llvm.store volatile %2, %p : i32, !llvm.ptr<1>
    %3 = "nvvm.load.ext"(%p) : (!llvm.ptr<1>) -> i128
    llvm.store volatile %3, %p : i128, !llvm.ptr<1>
    llvm.return
  }

  // CHECK-LABEL: .entry arithmetic(
  // CHECK: match.all.sync.b32 %{{r[0-9]+}}|p, %{{r[0-9]+}}, %{{r[0-9]+}};
  // CHECK: mul.wide.s32
  // CHECK: mul.wide.u32
  // CHECK: add.rn.ftz.sat.f16x2
  // CHECK: cvt.pack.sat.s16.s32 %{{r[0-9]+}}, %{{r[0-9]+}}, %{{r[0-9]+}};
  // CHECK: cvt.pack.sat.u8.s32.b32 %{{r[0-9]+}}, %{{r[0-9]+}}, %{{r[0-9]+}}, %{{r[0-9]+}};
  llvm.func @arithmetic(%i: i32, %h: vector<2xf16>, %o: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %0 = "nvvm.match.sync"(%i, %i) <{kind = #nvvm<match_sync_kind all>}> : (i32, i32) -> !llvm.struct<(i32, i1)>
    llvm.store volatile %0, %o : !llvm.struct<(i32, i1)>, !llvm.ptr<1>
    %1 = "nvvm.mul"(%i, %i) <{mode = #nvvm<mul_mode wide>, isSigned = true}> : (i32, i32) -> i64
    llvm.store volatile %1, %o : i64, !llvm.ptr<1>
    %2 = "nvvm.mul"(%i, %i) <{mode = #nvvm<mul_mode wide>}> : (i32, i32) -> i64
    llvm.store volatile %2, %o : i64, !llvm.ptr<1>
    %3 = "nvvm.addf"(%h, %h) <{sat = #nvvm.sat_mode<sat>, ftz = true}> : (vector<2xf16>, vector<2xf16>) -> vector<2xf16>
    llvm.store volatile %3, %o : vector<2xf16>, !llvm.ptr<1>
    %4 = "nvvm.convert.and.pack.integer"(%i, %i) <{convert_type = i16, is_signed}> : (i32, i32) -> i32
    llvm.store volatile %4, %o : i32, !llvm.ptr<1>
    %5 = "nvvm.convert.and.pack.integer"(%i, %i, %i) <{convert_type = i8}> : (i32, i32, i32) -> i32
    llvm.store volatile %5, %o : i32, !llvm.ptr<1>
    llvm.return
  }

  // Two numbers become halves of a register; the third operand is for those that join more.
  // CHECK-LABEL: .entry conversions(
  // CHECK: cvt.rn.bf16x2.f32 %r{{[0-9]+}}, [[A:%r[0-9]+]], [[B:%r[0-9]+]];
  // CHECK: cvt.rz.relu.f16x2.f32 %r{{[0-9]+}}, [[A]], [[B]];
  // CHECK: cvt.rn.satfinite.relu.e4m3x2.f32 %rs{{[0-9]+}}, [[A]], [[B]];
  // CHECK: cvt.rni.ftz.sat.s32.f32 %r{{[0-9]+}}, [[A]];
  llvm.func @conversions(%a: f32, %b: f32, %i: i32, %o: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %0 = "nvvm.cvt.packfloat.f32"(%a, %b, %i) <{extractHi = false, relu = false, rnd = #nvvm.fp_rnd_mode<rn>,
        sat = #nvvm.sat<none>, to = #nvvm.packfloat_type<bf16x2>}> : (f32, f32, i32) -> i32
    llvm.store volatile %0, %o : i32, !llvm.ptr<1>
    %1 = "nvvm.cvt.packfloat.f32"(%a, %b, %i) <{extractHi = false, relu = true, rnd = #nvvm.fp_rnd_mode<rz>,
        sat = #nvvm.sat<none>, to = #nvvm.packfloat_type<f16x2>}> : (f32, f32, i32) -> i32
    llvm.store volatile %1, %o : i32, !llvm.ptr<1>
    %2 = "nvvm.cvt.packfloat.f32"(%a, %b, %i) <{extractHi = false, relu = true, rnd = #nvvm.fp_rnd_mode<rn>,
        sat = #nvvm.sat<satfinite>, to = #nvvm.packfloat_type<e4m3x2>}> : (f32, f32, i32) -> i32
    llvm.store volatile %2, %o : i32, !llvm.ptr<1>
    %3 = "nvvm.convert.float.to.integer"(%a) <{sat, ftz, is_signed}> : (f32) -> i32
    llvm.store volatile %3, %o : i32, !llvm.ptr<1>
    llvm.return
  }
}

// -----

// Blackwell computes with two numbers at once, and finds the least and the most of three.
gpu.module @kernels [#nvvm.target<chip = "sm_100a", features = "+ptx90">] {
  // CHECK-LABEL: .entry pairs(
  // CHECK: fma.rn.ftz.f32x2 %{{rd[0-9]+}}, %{{rd[0-9]+}}, %{{rd[0-9]+}}, %{{rd[0-9]+}};
  // CHECK: add.rz.f32x2 %{{rd[0-9]+}}, %{{rd[0-9]+}}, %{{rd[0-9]+}};
  // CHECK-COUNT-2: mul.rn.f32x2 %{{rd[0-9]+}}, %{{rd[0-9]+}}, %{{rd[0-9]+}};
  // CHECK: max.ftz.NaN.f32 %{{r[0-9]+}}, %{{r[0-9]+}}, %{{r[0-9]+}}, %{{r[0-9]+}};
  llvm.func @pairs(%p: vector<2xf32>, %q: vector<4xf32>, %f: f32, %o: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %0 = "nvvm.fma.packed.f32x2"(%p, %p, %p) <{rnd = #nvvm.fp_rnd_mode<rn>, ftz = true}>
        : (vector<2xf32>, vector<2xf32>, vector<2xf32>) -> vector<2xf32>
    llvm.store volatile %0, %o : vector<2xf32>, !llvm.ptr<1>
    %1 = "nvvm.add.packed.f32x2"(%p, %p) <{rnd = #nvvm.fp_rnd_mode<rz>}> : (vector<2xf32>, vector<2xf32>) -> vector<2xf32>
    llvm.store volatile %1, %o : vector<2xf32>, !llvm.ptr<1>
    %3 = "nvvm.mul.packed.f32x2"(%q, %q) <{rnd = #nvvm.fp_rnd_mode<rn>}> : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
    llvm.store volatile %3, %o : vector<4xf32>, !llvm.ptr<1>
    %2 = "nvvm.fmax"(%f, %f, %f) <{ftz, nan}> : (f32, f32, f32) -> f32
    llvm.store volatile %2, %o : f32, !llvm.ptr<1>
    llvm.return
  }
}

// -----

// What a load of tensor memory reduces to is a register more.
gpu.module @kernels [#nvvm.target<chip = "sm_103a", features = "+ptx90">] {
  // CHECK-LABEL: .entry reducing_loads(
  // CHECK: tcgen05.ld.red.sync.aligned.32x32b.x2.max.abs.f32 {[[A:%r[0-9]+]], [[B:%r[0-9]+]]}, [[C:%r[0-9]+]], {{\[}}[[P:%r[0-9]+]]];
  // CHECK: st.volatile.global.v2.b32 [{{.*}}], {[[A]], [[B]]};
  // CHECK: st.volatile.global.b32 [{{.*}}], [[C]];
  // CHECK: tcgen05.ld.red.sync.aligned.32x32b.x2.min.NaN.f32 {%r{{[0-9]+}}, %r{{[0-9]+}}}, %r{{[0-9]+}}, {{\[}}[[P]]];
  // CHECK: tcgen05.ld.red.sync.aligned.16x32bx2.x2.max.s32 {%r{{[0-9]+}}, %r{{[0-9]+}}}, %r{{[0-9]+}}, {{\[}}[[P]]], 8;
  llvm.func @reducing_loads(%p: !llvm.ptr<6>, %o: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %0, %1 = nvvm.tcgen05.ld.red max %p {abs, shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<2xf32>, f32
    llvm.store volatile %0, %o : vector<2xf32>, !llvm.ptr<1>
    llvm.store volatile %1, %o : f32, !llvm.ptr<1>
    %2, %3 = nvvm.tcgen05.ld.red min %p {nan, shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<2xf32>, f32
    llvm.store volatile %3, %o : f32, !llvm.ptr<1>
    %c8 = llvm.mlir.constant(8 : i64) : i64
    %4, %5 = nvvm.tcgen05.ld.red max %p, %c8 {isSigned = true, shape = #nvvm.tcgen05_ldst_shape<shape_16x32bx2>}
        : vector<2xi32>, i32
    llvm.store volatile %5, %o : i32, !llvm.ptr<1>
    llvm.return
  }
}

// -----

// Several numbers are added at once, each by itself.
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  // CHECK-LABEL: .entry vector_atomics(
  // CHECK: atom.global.relaxed.gpu.add.v4.f32 {%r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}}, {{\[}}%rd{{[0-9]+}}], {%r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}};
  llvm.func @vector_atomics(%p: !llvm.ptr<1>, %v: vector<4xf32>, %o: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %0 = nvvm.atomicrmw fadd %p, %v : !llvm.ptr<1>, vector<4xf32>
    llvm.store volatile %0, %o : vector<4xf32>, !llvm.ptr<1>
    llvm.return
  }
}
