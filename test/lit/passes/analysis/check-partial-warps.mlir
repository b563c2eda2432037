// RUN: cutecc opt %s --pipeline=check-partial-warps --verify-diagnostics | filecheck %s

// CHECK-LABEL: cuda.kernel @known
// CHECK: nvvm.shfl.sync
gpu.module @kernels {
  cuda.kernel @known(%n: i32) attributes {nvvm.reqntid = array<i32: 80, 1, 1>} {
    %all = arith.constant -1 : i32
    %half = arith.constant 65535 : i32
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c16 = arith.constant 16 : i32
    %c31 = arith.constant 31 : i32
    %c32 = arith.constant 32 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    // All are here; the last warp has 16 threads.
    %0 = nvvm.shfl.sync bfly %all, %tid, %c1, %c31 : i32 -> i32
    // Whole warps, or as many as are named.
    %first = arith.cmpi ult, %tid, %c32 : i32
    scf.if %first {
      %1 = nvvm.shfl.sync bfly %all, %tid, %c1, %c31 : i32 -> i32
    }
    %some = arith.cmpi ult, %tid, %c16 : i32
    scf.if %some {
      %2 = nvvm.shfl.sync bfly %half, %tid, %c1, %c31 : i32 -> i32
      // expected-warning-re @below {{a shuffle of all lanes of its warp inside a branch (line {{[0-9]+}}) whose condition differs between threads of a warp, so that 16 of 32 come there: move it out of the branch, or name those that come, if the call takes a mask: mask=0x0000ffff}}
      %3 = nvvm.shfl.sync bfly %all, %tid, %c1, %c31 : i32 -> i32
      // expected-warning @below {{a shuffle, as warp_idx() and make_warp_uniform() are, of all lanes}}
      %4 = cute_nvgpu.arch.make_warp_uniform(%tid) : i32
      // expected-warning @below {{call it before the branch, and use its result there}}
      %5 = nvvm.elect.sync -> i1
      // expected-warning @below {{sync_warp() of all lanes of its warp}}
      nvvm.bar.warp.sync %all : i32
    } else {
      // expected-warning @below {{a shuffle of the lanes of 0x0000ffff inside a branch}}
      %6 = nvvm.shfl.sync bfly %half, %tid, %c1, %c31 : i32 -> i32
    }
    // One elected thread.
    %elected = nvvm.elect.sync -> i1
    scf.if %elected {
      // expected-warning @below {{so that 1 of 32 come there}}
      %7 = nvvm.vote.sync any %all, %some -> i1
    }
    // As many rounds for all: 80 to 240 by 80 is two for each, whoever begins where.
    %c80 = arith.constant 80 : i32
    %c160 = arith.constant 160 : i32
    scf.for %i = %tid to %c160 step %c80 : i32 {
      %8 = nvvm.shfl.sync bfly %all, %i, %c1, %c31 : i32 -> i32
    }
    %c100 = arith.constant 100 : i32
    scf.for %i = %tid to %c100 step %c80 : i32 {
      // expected-warning-re @below {{a shuffle of all lanes of its warp inside a loop that threads leave at different times (line {{[0-9]+}}) whose condition differs between threads of a warp, so that not all come there: make all lanes take as many rounds}}
      %9 = nvvm.shfl.sync bfly %all, %i, %c1, %c31 : i32 -> i32
    }
    cuda.return
  }

  // What is in memory decides.
  cuda.kernel @data(%p: !llvm.ptr<1>, %n: i32) {
    %all = arith.constant -1 : i32
    %half = arith.constant 65535 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %address = llvm.getelementptr %p[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %own = llvm.load %address : !llvm.ptr<1> -> i32
    %mine = arith.cmpi slt, %own, %n : i32
    scf.if %mine {
      // expected-warning @below {{a reduction by redux of all lanes of its warp}}
      %0 = nvvm.redux.sync max %own, %all : i32 -> i32
      // Those named may be those that come.
      %1 = nvvm.redux.sync max %own, %half : i32 -> i32
      %2 = nvvm.redux.sync max %own, %n : i32 -> i32
    }
    %same = llvm.load %p : !llvm.ptr<1> -> i32
    %ours = arith.cmpi slt, %same, %n : i32
    scf.if %ours {
      %3 = nvvm.redux.sync max %own, %all : i32 -> i32
    }
    cuda.return
  }

  // What butterflies over all of a warp have made is the same in it; over half of it, it is not.
  cuda.kernel @reduced(%p: !llvm.ptr<1>, %n: i32) {
    %all = arith.constant -1 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c4 = arith.constant 4 : i32
    %c8 = arith.constant 8 : i32
    %c16 = arith.constant 16 : i32
    %c31 = arith.constant 31 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %address = llvm.getelementptr %p[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %own = llvm.load %address : !llvm.ptr<1> -> i32
    %0 = nvvm.shfl.sync bfly %all, %own, %c8, %c31 : i32 -> i32
    %1 = arith.addi %own, %0 : i32
    %2 = nvvm.shfl.sync bfly %all, %1, %c4, %c31 : i32 -> i32
    %3 = arith.addi %1, %2 : i32
    %4 = nvvm.shfl.sync bfly %all, %3, %c2, %c31 : i32 -> i32
    %5 = arith.addi %4, %3 : i32
    %6 = nvvm.shfl.sync bfly %all, %5, %c1, %c31 : i32 -> i32
    %7 = arith.addi %5, %6 : i32
    %half = arith.cmpi slt, %7, %n : i32
    scf.if %half {
      // expected-warning @below {{sync_warp() of all lanes of its warp}}
      nvvm.bar.warp.sync %all : i32
    }
    %8 = nvvm.shfl.sync bfly %all, %7, %c16, %c31 : i32 -> i32
    %9 = arith.addi %7, %8 : i32
    %whole = arith.cmpi slt, %9, %n : i32
    scf.if %whole {
      nvvm.bar.warp.sync %all : i32
    }
    cuda.return
  }
}
