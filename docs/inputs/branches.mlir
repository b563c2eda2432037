gpu.module @kernels {
  cuda.kernel @branches(%c: i1, %a: i32, %b: i32, %p: !llvm.ptr<1>) {
    %r = scf.if %c -> i32 {
      %0 = arith.muli %a, %b : i32
      scf.yield %0 : i32
    } else {
      scf.yield %a : i32
    }
    llvm.store %r, %p : i32, !llvm.ptr<1>
    scf.if %c {
      %0 = arith.muli %a, %b : i32
      llvm.store %0, %p : i32, !llvm.ptr<1>
    }
    return
  }
}
