// RUN: cutecc opt %s --pipeline=check-divergent-barriers --verify-diagnostics | filecheck %s

// Tensors that are written to come out of branches and loops, as the DSL hands them on.

!flags = !cute.memref<i32, smem, "4:1">
!flag = !cute.ptr<i32, smem>
!layout = !cute.layout<"4:1">
!own = !cute.memref<i32, rmem, align<32>, "4:1">
!first = !cute.coord<"0">

// CHECK-LABEL: cuda.kernel @branches
// CHECK: nvvm.barrier
gpu.module @kernels {
  cuda.kernel @branches(%flags: !flags, %others: !flags, %n: i32) {
    %c0 = arith.constant 0 : i32
    %at = cute.make_coord() : () -> !first
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %decides = arith.cmpi eq, %tid, %c0 : i32

    // Thread 0 decides, and both sides yield the tensor of before.
    %written = scf.if %decides -> (!flags) {
      cute.memref.store(%flags, %at, %n) : (!flags, !first, i32) -> ()
      scf.yield %flags : !flags
    } else {
      scf.yield %flags : !flags
    }
    nvvm.barrier
    %flag = cute.memref.load(%written, %at) : (!flags, !first) -> i32
    %holds = arith.cmpi eq, %flag, %n : i32
    scf.if %holds {
      nvvm.barrier
    }

    // The same, of a view that is made again on either side, in a branch in a branch.
    %pointer = cute.get_iter(%flags) : !flags
    %again:2 = scf.if %decides -> (!flags, !flag) {
      %inner = scf.if %decides -> (!flags) {
        %l = cute.get_layout(%flags) : !flags
        %i = cute.get_iter(%flags) : !flags
        %v = cute.make_view(%i, %l) : !flags
        scf.yield %v : !flags
      } else {
        scf.yield %flags : !flags
      }
      %i2 = cute.get_iter(%inner) : !flags
      scf.yield %inner, %i2 : !flags, !flag
    } else {
      %i = cute.get_iter(%flags) : !flags
      %l = cute.get_layout(%flags) : !flags
      %v = cute.make_view(%i, %l) : !flags
      %j = cute.get_iter(%v) : !flags
      scf.yield %v, %j : !flags, !flag
    }
    %lay = cute.get_layout(%flags) : !flags
    %view = cute.make_view(%again#1, %lay) : !flags
    %flag2 = cute.memref.load(%again#0, %at) : (!flags, !first) -> i32
    %flag3 = cute.memref.load(%view, %at) : (!flags, !first) -> i32
    %both = arith.addi %flag2, %flag3 : i32
    %holds2 = arith.cmpi eq, %both, %n : i32
    scf.if %holds2 {
      nvvm.barrier
    }

    // Threads that took either side have either tensor.
    %either = scf.if %decides -> (!flags) {
      scf.yield %flags : !flags
    } else {
      scf.yield %others : !flags
    }
    %flag4 = cute.memref.load(%either, %at) : (!flags, !first) -> i32
    %holds4 = arith.cmpi eq, %flag4, %n : i32
    scf.if %holds4 {
      // expected-warning @below {{whose condition differs between threads of a warp}}
      nvvm.barrier
    }

    // What is loaded on either side is not the same for having the same text.
    %loaded = scf.if %decides -> (i32) {
      %value = cute.memref.load(%flags, %at) : (!flags, !first) -> i32
      cute.memref.store(%flags, %at, %n) : (!flags, !first, i32) -> ()
      scf.yield %value : i32
    } else {
      %value = cute.memref.load(%flags, %at) : (!flags, !first) -> i32
      scf.yield %value : i32
    }
    %holds5 = arith.cmpi eq, %loaded, %n : i32
    scf.if %holds5 {
      // expected-warning @below {{whose condition differs between threads of a warp}}
      nvvm.barrier
    }

    // All agree on the condition.
    %agreed = arith.cmpi eq, %n, %c0 : i32
    %one = scf.if %agreed -> (!flags) {
      scf.yield %flags : !flags
    } else {
      scf.yield %others : !flags
    }
    %flag6 = cute.memref.load(%one, %at) : (!flags, !first) -> i32
    %holds6 = arith.cmpi eq, %flag6, %n : i32
    scf.if %holds6 {
      nvvm.barrier
    }
    cuda.return
  }

  cuda.kernel @loops(%flags: !flags, %others: !flags, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %at = cute.make_coord() : () -> !first
    %tid = nvvm.read.ptx.sreg.tid.x : i32

    // However many rounds a thread takes.
    %filled = scf.for %i = %c0 to %tid step %c1 iter_args(%t = %flags) -> (!flags) : i32 {
      cute.memref.store(%t, %at, %i) : (!flags, !first, i32) -> ()
      %is_odd = arith.cmpi eq, %i, %c1 : i32
      %next = scf.if %is_odd -> (!flags) {
        scf.yield %t : !flags
      } else {
        scf.yield %flags : !flags
      }
      scf.yield %next : !flags
    }
    %flag = cute.memref.load(%filled, %at) : (!flags, !first) -> i32
    %holds = arith.cmpi eq, %flag, %n : i32
    scf.if %holds {
      nvvm.barrier
    }

    %waited:2 = scf.while (%t = %flags, %k = %c0) : (!flags, i32) -> (!flags, i32) {
      %goes_on = arith.cmpi slt, %k, %tid : i32
      scf.condition(%goes_on) %t, %k : !flags, i32
    } do {
    ^bb0(%t: !flags, %k: i32):
      cute.memref.store(%t, %at, %k) : (!flags, !first, i32) -> ()
      %more = arith.addi %k, %c1 : i32
      scf.yield %t, %more : !flags, i32
    }
    %flag2 = cute.memref.load(%waited#0, %at) : (!flags, !first) -> i32
    %holds2 = arith.cmpi eq, %flag2, %n : i32
    scf.if %holds2 {
      nvvm.barrier
    }
    // The count of rounds differs.
    %holds3 = arith.cmpi eq, %waited#1, %n : i32
    scf.if %holds3 {
      // expected-warning @below {{whose condition differs between threads of a warp}}
      nvvm.barrier
    }

    // After an odd number of rounds they have changed places.
    %swapped:2 = scf.for %i = %c0 to %tid step %c1 iter_args(%a = %flags, %b = %others) -> (!flags, !flags) : i32 {
      scf.yield %b, %a : !flags, !flags
    }
    %flag4 = cute.memref.load(%swapped#0, %at) : (!flags, !first) -> i32
    %holds4 = arith.cmpi eq, %flag4, %n : i32
    scf.if %holds4 {
      // expected-warning @below {{whose condition differs between threads of a warp}}
      nvvm.barrier
    }
    cuda.return
  }

  // Each thread has registers of its own: who stores decides what is in them.
  cuda.kernel @registers(%n: i32) {
    %c0 = arith.constant 0 : i32
    %at = cute.make_coord() : () -> !first
    %layout = cute.make_layout() : !layout
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %decides = arith.cmpi eq, %tid, %c0 : i32
    %own = cute.memref.alloca(%layout) : !own
    cute.memref.store(%own, %at, %n) : (!own, !first, i32) -> ()
    %written = scf.if %decides -> (!own) {
      cute.memref.store(%own, %at, %c0) : (!own, !first, i32) -> ()
      scf.yield %own : !own
    } else {
      scf.yield %own : !own
    }
    %value = cute.memref.load(%written, %at) : (!own, !first) -> i32
    %holds = arith.cmpi eq, %value, %n : i32
    scf.if %holds {
      // expected-warning @below {{whose condition differs between threads of a warp}}
      nvvm.barrier
    }
    cuda.return
  }

  // The numbers of a named barrier, which a loop hands on.
  cuda.kernel @carried_numbers(%n: i32) attributes {nvvm.reqntid = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c64 = arith.constant 64 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %first = arith.cmpi ult, %tid, %c64 : i32
    scf.if %first {
      %done:3 = scf.while (%k = %c0, %id = %c1, %threads = %c64) : (i32, i32, i32) -> (i32, i32, i32) {
        %goes_on = arith.cmpi slt, %k, %n : i32
        scf.condition(%goes_on) %k, %id, %threads : i32, i32, i32
      } do {
      ^bb0(%k: i32, %id: i32, %threads: i32):
        nvvm.barrier id = %id number_of_threads = %threads
        %more = arith.addi %k, %c1 : i32
        scf.yield %more, %id, %threads : i32, i32, i32
      }
    }
    cuda.return
  }

  // A search as schedulers of tiles have it: what a warp's lanes find together is the same in each warp.
  cuda.kernel @lanes_search(%sizes: !flags, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c31 = arith.constant 31 : i32
    %all = arith.constant -1 : i32
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %at = cute.make_coord(%lane) : (i32) -> !cute.coord<"?">
    %size = cute.memref.load(%sizes, %at) : (!flags, !cute.coord<"?">) -> i32
    %before = arith.cmpi sle, %size, %n : i32
    %votes = nvvm.vote.sync ballot %all, %before -> i32
    %count = math.ctpop %votes : i32
    %is_one = arith.cmpi slt, %count, %n : i32

    // Of the same condition, this side has the size of all, the other one each lane's own.
    %found = scf.if %is_one -> (i32) {
      %shared = nvvm.shfl.sync idx %all, %size, %count, %c31 : i32 -> i32
      scf.yield %shared : i32
    } else {
      scf.yield %size : i32
    }
    scf.if %is_one {
      %holds = arith.cmpi eq, %found, %n : i32
      scf.if %holds {
        nvvm.barrier
      }
    } else {
      %holds = arith.cmpi eq, %found, %n : i32
      scf.if %holds {
        // expected-warning @below {{whose condition differs between threads of a warp}}
        nvvm.barrier
      }
    }

    // By the threads' numbers, each warp finds something else.
    %below = arith.cmpi slt, %tid, %n : i32
    %others = nvvm.vote.sync ballot %all, %below -> i32
    %differs = arith.cmpi eq, %others, %n : i32
    scf.if %differs {
      // expected-warning @below {{whose condition differs between warps}}
      nvvm.barrier
    }

    // The lane that is asked is what was found in the round before.
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%from = %c0) -> (i32) : i32 {
      %next = nvvm.shfl.sync idx %all, %size, %from, %c31 : i32 -> i32
      scf.yield %next : i32
    }
    %ends = arith.cmpi eq, %last, %n : i32
    scf.if %ends {
      nvvm.barrier
    }
    cuda.return
  }
}
