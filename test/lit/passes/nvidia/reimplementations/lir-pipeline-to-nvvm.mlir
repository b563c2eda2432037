// RUN: cutecc opt %s --pipeline='gpu.module(lir.func(lir-pipeline-to-nvvm))' | filecheck %s

!pipeline = !lir.pipeline<2, SM90_TMA_LOAD -> LD_SHARED, cta>
!state = !lir.pipeline_state<2>
!token = !lir.stage_token<<2, SM90_TMA_LOAD -> LD_SHARED, cta>>

// A pipeline's two edges each have an attribute of the pipeline's own.
// CHECK: #[[EMPTY:.+]] = distinct[0]<#sync.edge<[#sync.memory_access<Read, #sync.generic_synchronous, <shared_cta>>] -> [#sync.memory_access<Write, #sync.cp_async_bulk<SrcDstMem>, <shared_cta>>], scope = #sync.scope<Cta>, topology = #sync.signaling_topology<PerCta>>>
// CHECK-NEXT: #[[FULL:.+]] = distinct[1]<#sync.edge<[#sync.memory_access<Write, #sync.cp_async_bulk<SrcDstMem>, <shared_cta>>] -> [#sync.memory_access<Read, #sync.generic_synchronous, <shared_cta>>], scope = #sync.scope<Cta>, topology = #sync.signaling_topology<PerCta>>>

gpu.module @kernels {
  // The barriers of all stages lie in shared memory, the full ones first; each stage's lane initialises two.
  // CHECK-LABEL: lir.func public @synchronises
  // CHECK: arith.shrui
  // CHECK-NEXT: %[[COUNT:.+]] = sync.get_arrival_count(%{{.+}}) {edge = #sync.edge<[#sync.memory_access<Write
  // CHECK: static_alloc_smem<1> () : !cute.ptr<!llvm.array<4 x i64>, smem, align<8>>
  // CHECK-NEXT: %[[BARRIERS:.+]] = ptrcast
  // CHECK: %[[LANE:.+]] = nvvm.read.ptx.sreg.laneid
  // CHECK: arith.cmpi ult, %[[LANE]]
  // CHECK: llvm.getelementptr %[[BARRIERS]][%[[LANE]]]
  // CHECK-NEXT: nvvm.mbarrier.init %{{.+}}, %[[COUNT]]
  // CHECK: llvm.getelementptr %[[BARRIERS]]
  // CHECK-NEXT: nvvm.mbarrier.init %{{.+}}, %c128
  // CHECK: nvvm.fence.mbarrier.init {mbarrier_nvvm_barrier_start}
  // CHECK-NEXT: nvvm.barrier0 {mbarrier_nvvm_barrier_end}
  //
  // A state holds the producer's phase, which begins at 1, the consumer's, and the stage.
  // CHECK: ub.poison : !llvm.struct<(i32, i32, i32)>
  // CHECK-NEXT: llvm.insertvalue %c1{{.*}}[0]
  // CHECK-NEXT: llvm.insertvalue %c0{{.*}}[1]
  // CHECK-NEXT: %[[STATE:.+]] = llvm.insertvalue %c0{{.*}}[2]
  //
  // The producer waits at the stage's empty barrier, behind all full ones, and arrives at the full one.
  // CHECK: %[[PHASE:.+]] = llvm.extractvalue %[[STATE]][0]
  // CHECK-NEXT: %[[STAGE:.+]] = llvm.extractvalue %[[STATE]][2]
  // CHECK: arith.addi %[[STAGE]], %c2
  // CHECK: sync.mbarrier_acquire(%{{.+}}, %[[PHASE]]) {hyper_edge = #[[EMPTY]]}
  // CHECK: %[[ELECTED:.+]] = nvvm.elect.sync -> i1
  // CHECK-NEXT: scf.if %[[ELECTED]]
  // CHECK: sync.mbarrier_release(%{{.+}}) {hyper_edge = #[[FULL]]}
  //
  // A consumer waits at the full barrier, and not where it has asked before, and arrives at the empty one.
  // CHECK: %[[TRIED:.+]] = sync.mbarrier_try_acquire({{.+}}) {hyper_edge = #[[FULL]]}
  // CHECK: sync.mbarrier_acquire({{.+}}, skip %[[TRIED]]) {hyper_edge = #[[FULL]]}
  // CHECK: sync.mbarrier_release(%{{.+}}) {hyper_edge = #[[EMPTY]]}
  // CHECK-NEXT: return
  lir.func public @synchronises() attributes {cc_attr = #core.compute_capability<arch = sm_100>, cute.kernel, gpu.kernel} {
    %c32 = arith.constant 32 : i32
    %c128 = arith.constant 128 : i32
    %count = lir.get_arrival_count<elect_one_sync>(%c32) {pipeline_type = !pipeline, side = #lir.pipeline_side<producer>} : (i32) -> i32
    %pipeline = lir.create_pipeline(%count, %c128) : (i32, i32) -> !pipeline
    %state = lir.create_pipeline_state(%pipeline) : (!pipeline) -> !state
    %acquired = lir.producer_acquire(%pipeline, %state) : (!pipeline, !state) -> !state
    %committed = lir.producer_commit<elect_one_sync>(%pipeline, %acquired) : (!pipeline, !state) -> !state
    %tried = "lir.consumer_try_wait"(%pipeline, %state) : (!pipeline, !state) -> i1
    %waited = "lir.consumer_wait"(%pipeline, %state, %tried) : (!pipeline, !state, i1) -> !state
    %released = lir.consumer_release(%pipeline, %waited) : (!pipeline, !state) -> !state
    lir.return
  }

  // Loops carry states as structs. The stage after the last is the first, with the phases turned over.
  // CHECK-LABEL: lir.func public @loops
  // CHECK: scf.for {{.+}} iter_args(%[[STATE:.+]] = %{{.+}}) -> (!llvm.struct<(i32, i32, i32)>)
  // CHECK: %[[PRODUCE:.+]] = llvm.extractvalue %[[STATE]][0]
  // CHECK-NEXT: %[[CONSUME:.+]] = llvm.extractvalue %[[STATE]][1]
  // CHECK-NEXT: %[[STAGE:.+]] = llvm.extractvalue %[[STATE]][2]
  // CHECK-NEXT: %[[NEXT:.+]] = arith.addi %[[STAGE]], %c1
  // CHECK-NEXT: arith.cmpi ule, %c2{{.*}}, %[[NEXT]]
  // CHECK-NEXT: scf.if
  // CHECK-NEXT: arith.subi %[[NEXT]], %c2
  // CHECK-NEXT: arith.xori %[[PRODUCE]]
  // CHECK-NEXT: arith.xori %[[CONSUME]]
  // CHECK: else
  // CHECK-NEXT: scf.yield %[[PRODUCE]], %[[CONSUME]], %[[NEXT]]
  lir.func public @loops() attributes {cc_attr = #core.compute_capability<arch = sm_100>, cute.kernel, gpu.kernel} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %pipeline = lir.create_pipeline(%c32, %c32) : (i32, i32) -> !pipeline
    %state = lir.create_pipeline_state(%pipeline) : (!pipeline) -> !state
    %last = scf.for %i = %c0 to %c32 step %c1 iter_args(%each = %state) -> (!state) : i32 {
      %next = lir.pipeline_advance_iterator(%pipeline, %each) : (!pipeline, !state) -> !state
      scf.yield %next : !state
    }
    lir.return
  }

  // Below compute capability 10.0, one thread initialises all barriers.
  // CHECK-LABEL: lir.func public @one_thread
  // CHECK: %[[THREAD:.+]] = nvvm.read.ptx.sreg.tid.x
  // CHECK: arith.cmpi eq, %[[THREAD]], %c0
  // CHECK-NEXT: scf.if
  // CHECK-COUNT-4: nvvm.mbarrier.init
  // CHECK-NOT: nvvm.mbarrier.init
  // CHECK: nvvm.fence.mbarrier.init
  //
  // The stage's barrier, to fill it, is the full one.
  // CHECK: %[[STAGE:.+]] = llvm.extractvalue {{.+}}[2]
  // CHECK: llvm.getelementptr {{.+}}[%[[STAGE]]]
  // CHECK-NEXT: %[[BARRIER:.+]] = ptrcast
  // CHECK-NEXT: func.call @fill(%[[STAGE]], %[[BARRIER]])
  lir.func public @one_thread() attributes {cc_attr = #core.compute_capability<arch = sm_90>, cute.kernel, gpu.kernel} {
    %c32 = arith.constant 32 : i32
    %pipeline = lir.create_pipeline(%c32, %c32) : (i32, i32) -> !pipeline
    %state = lir.create_pipeline_state(%pipeline) : (!pipeline) -> !state
    %token, %stage = lir.get_pipeline_produce_stage(%pipeline, %state) : (!pipeline, !state) -> (!token, i32)
    %barrier = lir.get_mbarrier(%token) : !token
    func.call @fill(%stage, %barrier) : (i32, !cute.ptr<i64, smem>) -> ()
    lir.return
  }
  func.func private @fill(i32, !cute.ptr<i64, smem>)

  // Nothing runs on functions that are not of the experimental API.
  // CHECK-LABEL: func.func @left_alone
  // CHECK-NEXT: arith.addi
  // CHECK-NEXT: return
  func.func @left_alone(%a: i32) -> i32 {
    %0 = arith.addi %a, %a : i32
    return %0 : i32
  }
}
