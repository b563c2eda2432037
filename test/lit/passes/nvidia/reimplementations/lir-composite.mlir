// A step of the wheel's own, for modules that the reimplementation does not know; on one that it knows, both give the same.
// RUN: cutecc opt %s --pipeline='gpu.module(lir.func(canonicalize,remove-dead-values{canonicalize=true},composite:lir-auto-predication..lir-pipeline-to-nvvm))' -o %t.wheel
// RUN: cutecc opt %s --pipeline='gpu.module(lir.func(canonicalize,remove-dead-values{canonicalize=true},canonicalize,cse,hoist-create-pipeline-ops,lir-pipeline-to-nvvm))' -o %t.ours
// RUN: diff %t.wheel %t.ours
// RUN: filecheck %s < %t.wheel

!pipeline = !lir.pipeline<2, SM90_TMA_LOAD -> LD_SHARED, cta>
!state = !lir.pipeline_state<2>

gpu.module @kernels {
  // Each function is lowered, and none has the allocation that stopped the wheel left.
  // CHECK-LABEL: lir.func public @first
  // CHECK: sync.mbarrier_acquire
  // CHECK-NOT: static_alloc_tmem
  // CHECK-LABEL: lir.func public @second
  // CHECK: static_alloc_smem<64> ()
  // CHECK-NOT: static_alloc_tmem
  lir.func public @first() attributes {cc_attr = #core.compute_capability<arch = sm_100>, cute.kernel, gpu.kernel} {
    %c32 = arith.constant 32 : i32
    %count = lir.get_arrival_count(%c32) {pipeline_type = !pipeline, side = #lir.pipeline_side<consumer>} : (i32) -> i32
    %pipeline = lir.create_pipeline(%c32, %count) : (i32, i32) -> !pipeline
    %state = lir.create_pipeline_state(%pipeline) : (!pipeline) -> !state
    %acquired = lir.producer_acquire(%pipeline, %state) : (!pipeline, !state) -> !state
    %committed = lir.producer_commit(%pipeline, %acquired) : (!pipeline, !state) -> !state
    lir.return
  }
  func.func private @use(!cute.memref<f32, smem, align<16>, "16:1">)
  lir.func public @second() attributes {cc_attr = #core.compute_capability<arch = sm_90>, cute.kernel, gpu.kernel} {
    %0 = lir.allocate_buffer() : !cute.memref<f32, smem, align<16>, "16:1">
    func.call @use(%0) : (!cute.memref<f32, smem, align<16>, "16:1">) -> ()
    lir.return
  }
}
