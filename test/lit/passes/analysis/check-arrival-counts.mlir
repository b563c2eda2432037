// An mbarrier that counts two arrivals, at which one thread arrives, and that both warps wait for.
// RUN: cutecc opt %s --pipeline=check-arrival-counts --output %t 2>&1 | filecheck %s

// CHECK: :[[# @LINE + 12]]:{{[0-9]+}}: warning: the mbarrier counts 2 arrivals, and 1 come in a phase, so that no phase is ever complete: mbarrier_init(…, 1), or have 2 arrive
gpu.module @kernels {
  llvm.mlir.global external @shared() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<16 x i8>
  cuda.kernel @kernel() attributes {nvvm.reqntid = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %ticks = arith.constant 10000000 : i32
    %full = llvm.mlir.addressof @shared : !llvm.ptr<3>
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %first = arith.cmpi eq, %thread, %c0 : i32
    scf.if %first {
      nvvm.mbarrier.init %full, %two : !llvm.ptr<3>, i32
    }
    nvvm.barrier
    scf.if %first {
      %token = nvvm.mbarrier.arrive %full, %c1 : !llvm.ptr<3> -> i64
    }
    nvvm.mbarrier.try_wait.parity %full, %c0, %ticks : !llvm.ptr<3>, i32, i32
    return
  }
}
