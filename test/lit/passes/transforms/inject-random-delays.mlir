// RUN: cutecc opt %s --pipeline='inject-random-delays{most=500}' --split-input-file --verify-diagnostics | filecheck %s
// RUN: cutecc opt %s --pipeline='inject-random-delays{most=500 repeatable}' --split-input-file | filecheck %s --check-prefix=REPEATABLE
// RUN: cutecc opt %s --pipeline='inject-random-delays{seed=1}' --split-input-file | filecheck %s --check-prefix=SEED
// RUN: not cutecc opt %s --pipeline='inject-random-delays{most=0}' --split-input-file 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not cutecc opt %s --pipeline='inject-random-delays{most=1000001}' --split-input-file 2>&1 | filecheck %s --check-prefix=LONG

// NONE: error: {{.*}}most is 1 to 1000000 nanoseconds, not 0
// LONG: error: {{.*}}most is 1 to 1000000 nanoseconds, not 1000001

gpu.module @kernels {
  // A number for the warp and its block; then a delay at the start, before the barrier and after it. Half of the
  // numbers drawn are negative, and become no delay.
  // CHECK-LABEL: gpu.func @barrier(
  // CHECK: %[[Z:.*]] = nvvm.read.ptx.sreg.tid.z : i32
  // CHECK: %[[WIDTH:.*]] = nvvm.read.ptx.sreg.ntid.x : i32
  // CHECK-NEXT: %[[ROWS:.*]] = arith.muli %{{.*}}, %[[WIDTH]] : i32
  // CHECK-NEXT: %[[X:.*]] = nvvm.read.ptx.sreg.tid.x : i32
  // CHECK-NEXT: %[[THREAD:.*]] = arith.addi %[[ROWS]], %[[X]] : i32
  // CHECK-NEXT: %[[FIVE:.*]] = arith.constant 5 : i32
  // CHECK-NEXT: arith.shrui %[[THREAD]], %[[FIVE]] : i32
  // CHECK-NEXT: nvvm.read.ptx.sreg.ctaid.x
  // CHECK-NEXT: nvvm.read.ptx.sreg.ctaid.y
  // CHECK-NEXT: nvvm.read.ptx.sreg.ctaid.z
  // CHECK: arith.addi
  // CHECK-NEXT: arith.addi
  // CHECK-NEXT: %[[WARP:.*]] = arith.addi %{{.*}}, %{{.*}} : i32
  // CHECK-NEXT: %[[PLACE:.*]] = arith.constant 1752639628 : i32
  // CHECK-NEXT: %[[OWN:.*]] = arith.addi %[[WARP]], %[[PLACE]] : i32
  // CHECK-NEXT: %[[CLOCK:.*]] = nvvm.read.ptx.sreg.clock : i32
  // CHECK-NEXT: arith.xori %[[OWN]], %[[CLOCK]] : i32
  // CHECK: nvvm.nanosleep
  // CHECK-NEXT: %[[PLACE:.*]] = arith.constant
  // CHECK-NEXT: %[[OWN:.*]] = arith.addi %[[WARP]], %[[PLACE]] : i32
  // CHECK: %[[DRAWN:.*]] = arith.shrsi
  // CHECK: %[[ZERO:.*]] = arith.constant 0 : i32
  // CHECK-NEXT: %[[STEP:.*]] = arith.maxsi %[[DRAWN]], %[[ZERO]] : i32
  // CHECK-NEXT: %[[END:.*]] = arith.constant 501 : i32
  // CHECK-NEXT: %[[PRODUCT:.*]] = arith.muli %[[STEP]], %[[END]] : i32
  // CHECK-NEXT: %[[BITS:.*]] = arith.constant 11 : i32
  // CHECK-NEXT: %[[LENGTH:.*]] = arith.shrui %[[PRODUCT]], %[[BITS]] : i32
  // CHECK-NEXT: nvvm.nanosleep %[[LENGTH]]
  // CHECK-NEXT: nvvm.barrier
  // CHECK: nvvm.nanosleep
  // CHECK-NEXT: gpu.return

  // Without the clock.
  // REPEATABLE-LABEL: gpu.func @barrier(
  // REPEATABLE-NOT: clock
  // REPEATABLE-COUNT-3: nvvm.nanosleep
  // REPEATABLE-NOT: clock

  // The seed makes the places' numbers others.
  // CHECK-LABEL: gpu.func @places(
  // CHECK: arith.constant -243369674 : i32
  // SEED-LABEL: gpu.func @places(
  // SEED-NOT: -243369674
  // SEED: gpu.return

  // expected-remark @below {{delays warps by up to 500 ns at the start}}
  gpu.func @barrier() kernel {
    // expected-remark @below {{delays warps by up to 500 ns before and after nvvm.barrier}}
    nvvm.barrier
    gpu.return
  }

  // expected-remark @below {{delays warps by up to 500 ns at the start}}
  gpu.func @places() kernel {
    // expected-remark @below {{delays warps by up to 500 ns before and after nvvm.barrier}}
    nvvm.barrier
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // Several barriers are initialised behind one delay.
  // CHECK-LABEL: gpu.func @mbarriers(
  // CHECK: nvvm.nanosleep
  // CHECK: nvvm.nanosleep
  // CHECK-NEXT: nvvm.mbarrier.init
  // CHECK-NEXT: nvvm.mbarrier.init
  // CHECK-NEXT: nvvm.fence.mbarrier.init
  // CHECK-NOT: nvvm.mbarrier.arrive
  // CHECK: nvvm.nanosleep
  // CHECK-NEXT: nvvm.mbarrier.arrive.expect_tx
  // CHECK-NOT: nvvm.mbarrier.try_wait
  // CHECK: nvvm.nanosleep
  // CHECK-NEXT: nvvm.mbarrier.try_wait.parity
  // CHECK-NOT: nvvm.mbarrier.arrive
  // CHECK: nvvm.nanosleep
  // CHECK-NOT: nvvm.mbarrier.arrive
  // CHECK: nvvm.nanosleep
  // CHECK-NEXT: nvvm.mbarrier.arrive
  // CHECK-NEXT: gpu.return
  // expected-remark @below {{at the start}}
  gpu.func @mbarriers(%first: !llvm.ptr<3>, %second: !llvm.ptr<3>, %count: i32) kernel {
    // expected-remark @below {{before nvvm.mbarrier.init}}
    nvvm.mbarrier.init %first, %count : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %second, %count : !llvm.ptr<3>, i32
    nvvm.fence.mbarrier.init
    // expected-remark @below {{before nvvm.mbarrier.arrive.expect_tx}}
    %0 = nvvm.mbarrier.arrive.expect_tx %first, %count : !llvm.ptr<3>, i32 -> i64
    // expected-remark @below {{before and after nvvm.mbarrier.try_wait.parity}}
    nvvm.mbarrier.try_wait.parity %first, %count, %count : !llvm.ptr<3>, i32, i32
    // expected-remark @below {{before nvvm.mbarrier.arrive}}
    %1 = nvvm.mbarrier.arrive %second : !llvm.ptr<3> -> i64
    gpu.return
  }

  // Not those with a barrier between.
  // CHECK-LABEL: gpu.func @one_by_one(
  // CHECK: nvvm.nanosleep
  // CHECK: nvvm.nanosleep
  // CHECK-NEXT: nvvm.mbarrier.init
  // CHECK: nvvm.nanosleep
  // CHECK-NEXT: nvvm.barrier
  // CHECK: nvvm.nanosleep
  // CHECK: nvvm.nanosleep
  // CHECK-NEXT: nvvm.mbarrier.init
  // CHECK-NEXT: gpu.return
  // expected-remark @below {{at the start}}
  gpu.func @one_by_one(%first: !llvm.ptr<3>, %second: !llvm.ptr<3>, %count: i32) kernel {
    // expected-remark @below {{before nvvm.mbarrier.init}}
    nvvm.mbarrier.init %first, %count : !llvm.ptr<3>, i32
    // expected-remark @below {{before and after nvvm.barrier}}
    nvvm.barrier
    // expected-remark @below {{before nvvm.mbarrier.init}}
    nvvm.mbarrier.init %second, %count : !llvm.ptr<3>, i32
    gpu.return
  }

  // Blocks of a cluster, and launches.
  // CHECK-LABEL: gpu.func @others(
  // CHECK: nvvm.nanosleep
  // CHECK: nvvm.nanosleep
  // CHECK-NEXT: nvvm.cluster.arrive
  // CHECK: nvvm.nanosleep
  // CHECK-NEXT: nvvm.cluster.wait
  // CHECK: nvvm.nanosleep
  // CHECK-NEXT: llvm.inline_asm {{.*}}"griddepcontrol.launch_dependents;"
  // CHECK: nvvm.nanosleep
  // CHECK-NEXT: gpu.return
  // expected-remark @below {{at the start}}
  gpu.func @others() kernel {
    // expected-remark @below {{before nvvm.cluster.arrive}}
    nvvm.cluster.arrive
    // expected-remark @below {{before and after nvvm.cluster.wait}}
    nvvm.cluster.wait
    // expected-remark @below {{after griddepcontrol}}
    llvm.inline_asm has_side_effects "griddepcontrol.launch_dependents;", "~{memory}" : () -> ()
    gpu.return
  }

  // A flag is set behind a delay; what has no order is no flag.
  // CHECK-LABEL: gpu.func @flag(
  // CHECK: nvvm.nanosleep
  // CHECK-NEXT: nvvm.atomicrmw
  // CHECK: nvvm.nanosleep
  // CHECK-NEXT: nvvm.atomicrmw
  // CHECK-NEXT: gpu.return
  // expected-remark @below {{at the start}}
  gpu.func @flag(%counter: !llvm.ptr<1>, %one: i32) kernel {
    %0 = nvvm.atomicrmw add %counter, %one : !llvm.ptr<1>, i32
    // expected-remark @below {{before nvvm.atomicrmw}}
    %1 = nvvm.atomicrmw add %counter, %one {memOrder = #nvvm.mem_order<release>} : !llvm.ptr<1>, i32
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // What a thread waits for alone, and what a warp does together: nothing to delay.
  // CHECK-LABEL: gpu.func @alone(
  // CHECK-NOT: nvvm.nanosleep
  // CHECK: gpu.return
  // expected-remark @below {{delays no warps, for they wait for no others}}
  gpu.func @alone() kernel {
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group 0
    nvvm.cp.async.bulk.commit.group
    nvvm.cp.async.bulk.wait_group 0 {read}
    nvvm.wgmma.fence.aligned
    nvvm.wgmma.commit.group.sync.aligned
    nvvm.wgmma.wait.group.sync.aligned 0
    %0 = nvvm.elect.sync -> i1
    llvm.inline_asm has_side_effects "fence.proxy.alias;", "~{memory}" : () -> ()
    gpu.return
  }
}

// The host has no warps.
// CHECK-LABEL: func.func @host(
// CHECK-NEXT: llvm.inline_asm
// CHECK-NEXT: return
func.func @host() {
  llvm.inline_asm has_side_effects "griddepcontrol.wait;", "~{memory}" : () -> ()
  return
}
