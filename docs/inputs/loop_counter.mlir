gpu.module @kernels {
  cuda.kernel @count(%p: !llvm.ptr<1>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c3 = arith.constant 3 : i32
    scf.for %i = %c0 to %n step %c1 : i32 {
      %0 = arith.divsi %i, %c3 : i32
      %1 = arith.remsi %i, %c3 : i32
      llvm.store %0, %p : i32, !llvm.ptr<1>
      llvm.store %1, %p : i32, !llvm.ptr<1>
    }
    return
  }
}
