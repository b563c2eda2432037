// RUN: cutecc opt %s --pipeline=pipeline-tma-loops --allow-unregistered-dialect 2>%t | filecheck %s
// RUN: filecheck --check-prefix=SAID --input-file %t %s

// What a turn loads by TMA is asked for some turns ahead, and with it goes what acquires its stage.
gpu.module @kernels {
  // First a loop that loads for the turns that come first, fewer where there are fewer.
  // CHECK-LABEL: cuda.kernel @counted(
  // CHECK-SAME: %[[TILES:[a-z0-9]+]]: i32, %[[MAP:[a-z0-9]+]]: !llvm.ptr, %[[STAGED:[a-z0-9]+]]: !llvm.ptr<3>, %[[FULL:[a-z0-9]+]]: !llvm.ptr<3>, %[[EMPTY:[a-z0-9]+]]: !llvm.ptr<3>
  // CHECK: %[[TWO:.*]] = arith.constant 2 : i32
  // CHECK: %[[LATEST:.*]] = arith.addi %{{.*}}, %[[TWO]] : i32
  // CHECK: %[[END:.*]] = arith.minsi %[[LATEST]], %[[TILES]] : i32
  // CHECK: %[[FIRST:.*]]:2 = scf.for %[[I:.*]] = %{{.*}} to %[[END]] step %{{.*}} iter_args(%[[STAGE:.*]] = %{{.*}}, %[[PHASE:.*]] = %{{.*}}) -> (i32, i32)
  // CHECK: %[[FREE:.*]] = llvm.getelementptr %[[EMPTY]][%[[STAGE]]]
  // CHECK: nvvm.mbarrier.try_wait.parity %[[FREE]], %[[PHASE]]
  // CHECK: nvvm.elect.sync
  // CHECK: nvvm.mbarrier.arrive.expect_tx
  // CHECK: %[[ROW:.*]] = arith.muli %[[I]],
  // CHECK: nvvm.cp.async.bulk.tensor{{.*}}box[%{{.*}}, %[[ROW]]]
  // CHECK-NOT: test.use
  // CHECK: %[[NEXT:.*]] = arith.select
  // CHECK: %[[TURNED:.*]] = arith.select
  // CHECK: scf.yield %[[NEXT]], %[[TURNED]]
  // Then the loop itself, in which loading goes on from there until the last tile is asked for.
  // CHECK: %[[REST:.*]]:4 = scf.for %[[J:.*]] = %{{.*}} to %[[TILES]] step %{{.*}} iter_args(%[[AT:.*]] = %[[FIRST]]#0, %[[ROUND:.*]] = %[[FIRST]]#1, %[[OWN:.*]] = %{{.*}}, %[[OWN_PHASE:.*]] = %{{.*}}) -> (i32, i32, i32, i32)
  // CHECK-NEXT: %[[LEFT:.*]] = arith.subi %[[TILES]], %[[J]] : i32
  // CHECK-NEXT: %[[MORE:.*]] = arith.cmpi ugt, %[[LEFT]], %[[TWO]] : i32
  // CHECK-NEXT: %[[STATE:.*]]:2 = scf.if %[[MORE]] -> (i32, i32) {
  // CHECK-NEXT: %[[AHEAD:.*]] = arith.addi %[[J]], %[[TWO]] : i32
  // CHECK: nvvm.mbarrier.try_wait.parity %{{.*}}, %[[ROUND]]
  // CHECK: nvvm.mbarrier.arrive.expect_tx
  // CHECK: arith.muli %[[AHEAD]],
  // CHECK: nvvm.cp.async.bulk.tensor
  // CHECK: } else {
  // CHECK-NEXT: scf.yield %[[AT]], %[[ROUND]] : i32, i32
  // CHECK-NEXT: }
  // What uses the tile stays, after it, in its order.
  // CHECK: %[[READY:.*]] = llvm.getelementptr %[[FULL]][%[[OWN]]]
  // CHECK-NEXT: nvvm.mbarrier.try_wait.parity %[[READY]], %[[OWN_PHASE]]
  // CHECK-NEXT: "test.use"(%[[J]], %[[OWN]])
  // CHECK: nvvm.mbarrier.arrive
  // CHECK: scf.yield %[[STATE]]#0, %[[STATE]]#1,
  // The hints that others take stay.
  // CHECK: } {loop_annotation = #{{[a-z_]*}}}
  // CHECK: "test.after"(%[[REST]]#0, %[[REST]]#2)
  cuda.kernel @counted(%tiles: i32, %map: !llvm.ptr, %staged: !llvm.ptr<3>, %full: !llvm.ptr<3>, %empty: !llvm.ptr<3>) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c4 = arith.constant 4 : i32
    %rows = arith.constant 16 : i32
    %bytes = arith.constant 4096 : i32
    %elements = arith.constant 1024 : i32
    %hint = arith.constant 0 : i64
    %time = arith.constant 10000000 : i32
    %out:4 = scf.for %i = %c0 to %tiles step %c1 iter_args(%stage = %c0, %phase = %c1, %own = %c0, %own_phase = %c0) -> (i32, i32, i32, i32) : i32 {
      %free = llvm.getelementptr %empty[%stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      nvvm.mbarrier.try_wait.parity %free, %phase, %time : !llvm.ptr<3>, i32, i32
      %bar = llvm.getelementptr %full[%stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      %one = nvvm.elect.sync -> i1
      scf.if %one {
        %token = nvvm.mbarrier.arrive.expect_tx %bar, %bytes : !llvm.ptr<3>, i32 -> i64
      }
      %row = arith.muli %i, %rows : i32
      %offset = arith.muli %stage, %elements : i32
      %to = llvm.getelementptr %staged[%offset] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      scf.if %one {
        nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %map, %bar, box[%c0, %row] l2_cache_hint = %hint {isCTAOnly = true} : !llvm.ptr<3>, !llvm.ptr
      }
      %ready = llvm.getelementptr %full[%own] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      nvvm.mbarrier.try_wait.parity %ready, %own_phase, %time : !llvm.ptr<3>, i32, i32
      "test.use"(%i, %own) : (i32, i32) -> ()
      %done = llvm.getelementptr %empty[%own] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      %arrived = nvvm.mbarrier.arrive %done, %c1 : !llvm.ptr<3> -> i64
      %more = arith.addi %stage, %c1 : i32
      %last = arith.cmpi eq, %more, %c4 : i32
      %next = arith.select %last, %c0, %more : i32
      %other = arith.xori %phase, %c1 : i32
      %turned = arith.select %last, %other, %phase : i32
      %own_more = arith.addi %own, %c1 : i32
      %own_last = arith.cmpi eq, %own_more, %c4 : i32
      %own_next = arith.select %own_last, %c0, %own_more : i32
      %own_other = arith.xori %own_phase, %c1 : i32
      %own_turned = arith.select %own_last, %own_other, %own_phase : i32
      scf.yield %next, %turned, %own_next, %own_turned : i32, i32, i32, i32
    } {cutlass.pipelining = 2 : i32, loop_annotation = #llvm.loop_annotation<unroll = <disable = true>>}
    "test.after"(%out#0, %out#2) : (i32, i32) -> ()
    cuda.return
  }

  // Where the use counts by what the loads count by, it keeps a count of its own. Another step is as many turns ahead.
  // CHECK-LABEL: cuda.kernel @one_count(
  // CHECK: %[[SIX:.*]] = arith.constant 6 : i32
  // CHECK: arith.addi %{{.*}}, %[[SIX]]
  // CHECK: %[[FIRST:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[ZERO:.*]]) -> (i32)
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[FIRST]], %[[OWN:.*]] = %[[ZERO]]) -> (i32, i32)
  // CHECK: arith.cmpi ugt, %{{.*}}, %[[SIX]]
  // CHECK: scf.if
  // CHECK: nvvm.cp.async.bulk.tensor
  // CHECK: "test.use"(%[[OWN]])
  // CHECK: %[[NEXT:.*]] = arith.addi %[[OWN]],
  // CHECK: scf.yield %{{.*}}, %[[NEXT]]
  cuda.kernel @one_count(%tiles: i32, %map: !llvm.ptr, %staged: !llvm.ptr<3>, %full: !llvm.ptr<3>, %empty: !llvm.ptr<3>) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %hint = arith.constant 0 : i64
    %time = arith.constant 10000000 : i32
    %out = scf.for %i = %c1 to %tiles step %c2 iter_args(%count = %c0) -> (i32) : i32 {
      %free = llvm.getelementptr %empty[%count] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      nvvm.mbarrier.try_wait.parity %free, %c1, %time : !llvm.ptr<3>, i32, i32
      %to = llvm.getelementptr %staged[%count] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %map, %full, box[%c0, %i] l2_cache_hint = %hint {isCTAOnly = true} : !llvm.ptr<3>, !llvm.ptr
      "test.use"(%count) : (i32) -> ()
      %next = arith.addi %count, %c1 : i32
      scf.yield %next : i32
    } {cutlass.pipelining = 3 : i32}
    cuda.return
  }

  // Where a loop shows how many stages it has, no more turns ahead than leave one in use: with as many as there are, it
  // would wait for ever.
  // CHECK-LABEL: cuda.kernel @stages(
  // SAID: warning: prefetch_stages=4 is taken for 3: of 4 stages, one is in use
  // SAID: warning: prefetch_stages=9 is taken for 7: of 8 stages, one is in use
  // SAID: warning: prefetch_stages=5 is taken for 3: of 4 stages, one is in use
  // SAID: warning: prefetch_stages is ignored: there is only one stage
  // SAID-NOT: prefetch_stages={{[0-9]}}
  cuda.kernel @stages(%tiles: i32, %map: !llvm.ptr, %staged: !llvm.ptr<3>, %full: !llvm.ptr<3>, %empty: !llvm.ptr<3>) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c3 = arith.constant 3 : i32
    %c4 = arith.constant 4 : i32
    %c8 = arith.constant 8 : i32
    %hint = arith.constant 0 : i64
    %time = arith.constant 10000000 : i32
    // What counts the stages begins again at 4.
    // CHECK: %[[AHEAD:.*]] = arith.constant 3 : i32
    // CHECK: scf.for
    // CHECK: scf.for
    // CHECK: arith.cmpi ugt, %{{.*}}, %[[AHEAD]]
    %out = scf.for %i = %c0 to %tiles step %c1 iter_args(%stage = %c0) -> (i32) : i32 {
      %free = llvm.getelementptr %empty[%stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      nvvm.mbarrier.try_wait.parity %free, %c1, %time : !llvm.ptr<3>, i32, i32
      %to = llvm.getelementptr %staged[%stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %map, %full, box[%c0, %i] l2_cache_hint = %hint {isCTAOnly = true} : !llvm.ptr<3>, !llvm.ptr
      "test.use"(%i) : (i32) -> ()
      %more = arith.addi %stage, %c1 : i32
      %last = arith.cmpi eq, %more, %c4 : i32
      %next = arith.select %last, %c0, %more : i32
      scf.yield %next : i32
    } {cutlass.pipelining = 4 : i32}
    // A remainder by 8.
    // CHECK: %[[AHEAD:.*]] = arith.constant 7 : i32
    // CHECK: scf.for
    // CHECK: scf.for
    // CHECK: arith.cmpi ugt, %{{.*}}, %[[AHEAD]]
    scf.for %i = %c0 to %tiles step %c1 : i32 {
      %stage = arith.remui %i, %c8 : i32
      %free = llvm.getelementptr %empty[%stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      nvvm.mbarrier.try_wait.parity %free, %c1, %time : !llvm.ptr<3>, i32, i32
      %to = llvm.getelementptr %staged[%stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %map, %full, box[%c0, %i] l2_cache_hint = %hint {isCTAOnly = true} : !llvm.ptr<3>, !llvm.ptr
      "test.use"(%i) : (i32) -> ()
    } {cutlass.pipelining = 9 : i32}
    // The lowest two bits.
    // CHECK: %[[AHEAD:.*]] = arith.constant 3 : i32
    // CHECK: scf.for
    // CHECK: scf.for
    // CHECK: arith.cmpi ugt, %{{.*}}, %[[AHEAD]]
    scf.for %i = %c0 to %tiles step %c1 : i32 {
      %stage = arith.andi %i, %c3 : i32
      %free = llvm.getelementptr %empty[%stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      nvvm.mbarrier.try_wait.parity %free, %c1, %time : !llvm.ptr<3>, i32, i32
      %to = llvm.getelementptr %staged[%stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %map, %full, box[%c0, %i] l2_cache_hint = %hint {isCTAOnly = true} : !llvm.ptr<3>, !llvm.ptr
      "test.use"(%i) : (i32) -> ()
    } {cutlass.pipelining = 5 : i32}
    // One stage is loaded when it is free.
    // CHECK: scf.for
    // CHECK-NEXT: arith.remui
    // CHECK-NOT: scf.for
    scf.for %i = %c0 to %tiles step %c1 : i32 {
      %stage = arith.remui %i, %c1 : i32
      %free = llvm.getelementptr %empty[%stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      nvvm.mbarrier.try_wait.parity %free, %c1, %time : !llvm.ptr<3>, i32, i32
      %to = llvm.getelementptr %staged[%stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %map, %full, box[%c0, %i] l2_cache_hint = %hint {isCTAOnly = true} : !llvm.ptr<3>, !llvm.ptr
      "test.use"(%i) : (i32) -> ()
    } {cutlass.pipelining = 1 : i32}
    cuda.return
  }

  // What is left as it was loses its mark, and a warning says why; where nothing is asked for, there is nothing to say.
  // CHECK-LABEL: cuda.kernel @left(
  // SAID: warning: prefetch_stages is ignored: nothing in the loop is loaded by TMA
  // SAID: warning: prefetch_stages is ignored: every turn loads to the same place
  // SAID: warning: prefetch_stages is ignored: nothing before the loads waits until their stage is free
  // SAID: warning: prefetch_stages is ignored: before the loads it waits on the barriers that these complete
  // SAID: warning: prefetch_stages is ignored: what the loads take or stand in has llvm.load in it
  // SAID: warning: prefetch_stages is ignored: what else is done follows from how a stage was acquired
  // SAID: warning: prefetch_stages is ignored: nothing in the loop uses what is loaded
  cuda.kernel @left(%tiles: i32, %map: !llvm.ptr, %staged: !llvm.ptr<3>, %full: !llvm.ptr<3>, %empty: !llvm.ptr<3>) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %hint = arith.constant 0 : i64
    %time = arith.constant 10000000 : i32
    // CHECK: scf.for
    // CHECK-NEXT: "test.use"
    scf.for %i = %c0 to %tiles step %c1 : i32 {
      "test.use"(%i) : (i32) -> ()
    } {cutlass.pipelining = 0 : i32}
    // CHECK: scf.for
    // CHECK-NEXT: "test.use"
    scf.for %i = %c0 to %tiles step %c1 : i32 {
      "test.use"(%i) : (i32) -> ()
    } {cutlass.pipelining = 2 : i32}
    // CHECK: scf.for
    // CHECK-NEXT: llvm.getelementptr
    // CHECK-NEXT: nvvm.mbarrier.try_wait.parity
    // CHECK-NEXT: nvvm.cp.async.bulk.tensor
    // CHECK-NEXT: "test.use"
    scf.for %i = %c0 to %tiles step %c1 : i32 {
      %free = llvm.getelementptr %empty[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      nvvm.mbarrier.try_wait.parity %free, %c1, %time : !llvm.ptr<3>, i32, i32
      nvvm.cp.async.bulk.tensor.shared.cluster.global %staged, %map, %full, box[%c0, %i] l2_cache_hint = %hint {isCTAOnly = true} : !llvm.ptr<3>, !llvm.ptr
      "test.use"(%i) : (i32) -> ()
    } {cutlass.pipelining = 2 : i32}
    // A wait that comes after the loads is for what they bring.
    // CHECK: scf.for
    // CHECK-NEXT: llvm.getelementptr
    // CHECK-NEXT: nvvm.cp.async.bulk.tensor
    // CHECK-NEXT: nvvm.mbarrier.try_wait.parity
    // CHECK-NEXT: "test.use"
    scf.for %i = %c0 to %tiles step %c1 : i32 {
      %to = llvm.getelementptr %staged[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %map, %full, box[%c0, %i] l2_cache_hint = %hint {isCTAOnly = true} : !llvm.ptr<3>, !llvm.ptr
      nvvm.mbarrier.try_wait.parity %full, %c1, %time : !llvm.ptr<3>, i32, i32
      "test.use"(%i) : (i32) -> ()
    } {cutlass.pipelining = 2 : i32}
    // One that comes before, on their own barriers, is for what was loaded in an earlier turn.
    // CHECK: scf.for
    // CHECK-NEXT: llvm.getelementptr
    // CHECK-NEXT: nvvm.mbarrier.try_wait.parity
    // CHECK-NEXT: "test.use"
    // CHECK-NEXT: llvm.getelementptr
    // CHECK-NEXT: nvvm.cp.async.bulk.tensor
    scf.for %i = %c0 to %tiles step %c1 : i32 {
      %ready = llvm.getelementptr %full[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      nvvm.mbarrier.try_wait.parity %ready, %c1, %time : !llvm.ptr<3>, i32, i32
      "test.use"(%i) : (i32) -> ()
      %to = llvm.getelementptr %staged[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %map, %full, box[%c0, %i] l2_cache_hint = %hint {isCTAOnly = true} : !llvm.ptr<3>, !llvm.ptr
    } {cutlass.pipelining = 2 : i32}
    // Where to load from next is in what was loaded.
    // CHECK: scf.for
    // CHECK-NEXT: llvm.getelementptr
    // CHECK-NEXT: nvvm.mbarrier.try_wait.parity
    // CHECK-NEXT: llvm.getelementptr
    // CHECK-NEXT: nvvm.cp.async.bulk.tensor
    // CHECK-NEXT: llvm.load
    %last = scf.for %i = %c0 to %tiles step %c1 iter_args(%row = %c0) -> (i32) : i32 {
      %free = llvm.getelementptr %empty[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      nvvm.mbarrier.try_wait.parity %free, %c1, %time : !llvm.ptr<3>, i32, i32
      %to = llvm.getelementptr %staged[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %map, %full, box[%c0, %row] l2_cache_hint = %hint {isCTAOnly = true} : !llvm.ptr<3>, !llvm.ptr
      %found = llvm.load %to : !llvm.ptr<3> -> i32
      scf.yield %found : i32
    } {cutlass.pipelining = 2 : i32}
    // CHECK: scf.for
    // CHECK-NEXT: llvm.getelementptr
    // CHECK-NEXT: nvvm.mbarrier.wait.parity
    // CHECK-NEXT: llvm.getelementptr
    // CHECK-NEXT: nvvm.cp.async.bulk.tensor
    // CHECK-NEXT: "test.use"
    scf.for %i = %c0 to %tiles step %c1 : i32 {
      %free = llvm.getelementptr %empty[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      %was = nvvm.mbarrier.wait.parity %free, %c1 {kind = #nvvm.mbar_wait<try>} : !llvm.ptr<3>, i32 -> i1
      %to = llvm.getelementptr %staged[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %map, %full, box[%c0, %i] l2_cache_hint = %hint {isCTAOnly = true} : !llvm.ptr<3>, !llvm.ptr
      "test.use"(%was) : (i1) -> ()
    } {cutlass.pipelining = 2 : i32}
    // CHECK: scf.for
    // CHECK-NEXT: llvm.getelementptr
    // CHECK-NEXT: nvvm.mbarrier.try_wait.parity
    // CHECK-NEXT: llvm.getelementptr
    // CHECK-NEXT: nvvm.cp.async.bulk.tensor
    scf.for %i = %c0 to %tiles step %c1 : i32 {
      %free = llvm.getelementptr %empty[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      nvvm.mbarrier.try_wait.parity %free, %c1, %time : !llvm.ptr<3>, i32, i32
      %to = llvm.getelementptr %staged[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %map, %full, box[%c0, %i] l2_cache_hint = %hint {isCTAOnly = true} : !llvm.ptr<3>, !llvm.ptr
    } {cutlass.pipelining = 2 : i32}
    // CHECK-NOT: cutlass.pipelining
    cuda.return
  }
}
