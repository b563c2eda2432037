// RUN: cutecc opt %s --pipeline=check-divergent-barriers --verify-diagnostics --allow-unregistered-dialect | filecheck %s

// CHECK-LABEL: func.func @whole_block
// CHECK: nvvm.barrier
gpu.module @kernels {
  // Where the shape of the block is not known, what can differ counts.
  func.func @whole_block(%n: i32, %p: !llvm.ptr<1>) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %ctaid = nvvm.read.ptx.sreg.ctaid.x : i32
    // All threads of a block agree on arguments, block indices, and what they load from one address.
    %loaded = llvm.load %p : !llvm.ptr<1> -> i32
    %agreed = arith.addi %ctaid, %loaded : i32
    %uniform = arith.cmpi slt, %agreed, %n : i32
    scf.if %uniform {
      nvvm.barrier
    }
    scf.for %i = %c0 to %agreed step %c1 : i32 {
      nvvm.barrier
    }
    %lanes = arith.cmpi slt, %tid, %n : i32
    scf.if %lanes {
      // expected-warning-re @below {{a barrier inside a branch (line {{[0-9]+}}), whose condition differs between threads of a warp: move it out of the branch}}
      nvvm.barrier
    }
    // An address that differs gives a value that differs.
    %address = llvm.getelementptr %p[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %own = llvm.load %address : !llvm.ptr<1> -> i32
    scf.for %i = %c0 to %own step %c1 : i32 {
      // expected-warning-re @below {{a barrier inside a loop that threads leave at different times (line {{[0-9]+}}), whose condition differs between threads of a warp: make all threads take as many rounds}}
      nvvm.barrier
    }
    // A sum over rounds of which there are as many for all is as uniform as what is summed.
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%so_far = %c0) -> (i32) : i32 {
      %next = arith.addi %so_far, %tid : i32
      scf.yield %next : i32
    }
    %summed = arith.cmpi eq, %sum, %c0 : i32
    scf.if %summed {
      // expected-warning @below {{a barrier inside a branch}}
      nvvm.barrier
    }
    %warp = arith.floordivsi %tid, %c32 : i32
    %warps = arith.cmpi eq, %warp, %n : i32
    // Either branch has it.
    scf.if %warps {
      nvvm.barrier
    } else {
      nvvm.barrier
    }
    scf.if %warps {
      // expected-warning-re @below {{a barrier inside a branch (line {{[0-9]+}}), whose condition differs between warps}}
      nvvm.barrier
    }
    return
  }

  func.func @counted(%n: i32) {
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %c64 = arith.constant 64 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %warp = arith.floordivsi %tid, %c32 : i32
    %same = cute_nvgpu.arch.make_warp_uniform(%warp) : i32
    // A barrier of two warps, where whole warps come or stay away.
    %warps = arith.cmpi slt, %same, %n : i32
    scf.if %warps {
      nvvm.barrier id = %c1 number_of_threads = %c64
    }
    %lanes = arith.cmpi slt, %tid, %n : i32
    scf.if %lanes {
      // expected-warning-re @below {{a barrier inside a branch (line {{[0-9]+}}), whose condition differs between threads of a warp}}
      nvvm.barrier id = %c1 number_of_threads = %c64
    }
    return
  }

  func.func @cluster(%n: i32) {
    %c0 = arith.constant 0 : i32
    %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
    %ctaid = nvvm.read.ptx.sreg.ctaid.x : i32
    %first = arith.cmpi eq, %rank, %n : i32
    scf.if %first {
      // The block's own threads agree.
      nvvm.barrier
      // expected-warning-re @below {{the cluster's barrier inside a branch (line {{[0-9]+}}), whose condition differs between blocks of the cluster}}
      nvvm.cluster.arrive
      nvvm.cluster.wait
    }
    return
  }

  // It says that its blocks have 128 threads, so that it is known who comes where.
  cuda.kernel @known() attributes {nvvm.reqntid = array<i32: 128, 1, 1>} {
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c3 = arith.constant 3 : i32
    %c32 = arith.constant 32 : i32
    %c64 = arith.constant 64 : i32
    %c96 = arith.constant 96 : i32
    %c128 = arith.constant 128 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    // All of them, and none.
    %all = arith.cmpi ult, %tid, %c128 : i32
    scf.if %all {
      nvvm.barrier
    } else {
      nvvm.barrier
    }
    %half = arith.cmpi ult, %tid, %c64 : i32
    scf.if %half {
      // expected-warning @below {{whose condition differs between warps; 64 of 128 threads reach it}}
      nvvm.barrier
    }
    // Of the second warp, only some threads.
    %c40 = arith.constant 40 : i32
    %some = arith.cmpi uge, %tid, %c40 : i32
    scf.if %some {
      // expected-warning @below {{whose condition differs between threads of a warp; 88 of 128 threads reach it}}
      nvvm.barrier
    }
    scf.if %half {
      nvvm.barrier id = %c1 number_of_threads = %c64
      // expected-warning @below {{barrier 2 waits for 96 threads, and at most 64 come to it}}
      nvvm.barrier id = %c2 number_of_threads = %c96
      nvvm.barrier.arrive id = %c3 number_of_threads = %c128
    } else {
      // The others arrive.
      nvvm.barrier id = %c3 number_of_threads = %c128
    }
    return
  }

  // A loop from the thread's index: two rounds for each thread, or one for the first 72 and none for the others.
  cuda.kernel @rounds() attributes {nvvm.reqntid = array<i32: 128, 1, 1>} {
    %c72 = arith.constant 72 : i32
    %c128 = arith.constant 128 : i32
    %c256 = arith.constant 256 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    scf.for %i = %tid to %c256 step %c128 : i32 {
      nvvm.barrier
    }
    scf.for %i = %tid to %c72 step %c128 : i32 {
      // expected-warning @below {{a barrier inside a loop that threads leave at different times}}
      nvvm.barrier
    }
    return
  }

  // Nobody waits at a barrier to which threads only come by arriving.
  cuda.kernel @arrivals() attributes {nvvm.reqntid = array<i32: 128, 1, 1>} {
    %c2 = arith.constant 2 : i32
    %c64 = arith.constant 64 : i32
    %c128 = arith.constant 128 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %half = arith.cmpi ult, %tid, %c64 : i32
    scf.if %half {
      nvvm.barrier.arrive id = %c2 number_of_threads = %c128
    }
    return
  }

  // A barrier whose identifier is computed may be that of the others: ping-pong.
  cuda.kernel @computed() attributes {nvvm.reqntid = array<i32: 128, 1, 1>} {
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c64 = arith.constant 64 : i32
    %c128 = arith.constant 128 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %group = arith.divui %tid, %c64 : i32
    %own = arith.addi %group, %c1 : i32
    %half = arith.cmpi ult, %tid, %c64 : i32
    scf.if %half {
      nvvm.barrier id = %c2 number_of_threads = %c128
    }
    nvvm.barrier id = %own number_of_threads = %c128
    return
  }

  // Unsigned numbers wrap: all but the second and third warp.
  cuda.kernel @unsigned() attributes {nvvm.reqntid = array<i32: 128, 1, 1>} {
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %c64 = arith.constant 64 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %from = arith.subi %tid, %c32 : i32
    %outside = arith.cmpi uge, %from, %c64 : i32
    scf.if %outside {
      nvvm.barrier id = %c1 number_of_threads = %c64
    }
    return
  }

  // A set bit is -1 where it has a sign.
  cuda.kernel @signed() attributes {nvvm.reqntid = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c64 = arith.constant 64 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %half = arith.cmpi ult, %tid, %c64 : i32
    %number = arith.extsi %half : i1 to i32
    %negative = arith.cmpi slt, %number, %c0 : i32
    scf.if %negative {
      nvvm.barrier id = %c1 number_of_threads = %c64
    } else {
      // expected-warning @below {{whose condition differs between warps; 64 of 128 threads reach it}}
      nvvm.barrier
    }
    return
  }
}
