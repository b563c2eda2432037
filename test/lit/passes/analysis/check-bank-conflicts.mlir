// Accesses of shared memory that take more wavefronts than their bytes need.

// RUN: cutecc opt %s --split-input-file --pipeline=check-bank-conflicts --verify-diagnostics

// The column of a tile lies in one bank; padding and swizzles spread it.
gpu.module @columns {
  llvm.mlir.global external @memory() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
  cuda.kernel @kernel() attributes {nvvm.reqntid = array<i32: 32, 1, 1>} {
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %c33 = arith.constant 33 : i32
    %shared = llvm.mlir.addressof @memory : !llvm.ptr<3>
    %lane = nvvm.read.ptx.sreg.tid.x : i32
    %plain = arith.muli %lane, %c32 : i32
    %a = llvm.getelementptr %shared[%plain] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    // expected-remark @below {{a load of 32 bits a thread takes 32 wavefronts a request, 1 would do: threads are 128 bytes apart}}
    %0 = llvm.load %a {alignment = 4 : i64} : !llvm.ptr<3> -> f32
    %padded = arith.muli %lane, %c33 : i32
    %b = llvm.getelementptr %shared[%padded] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    llvm.store %0, %b {alignment = 4 : i64} : f32, !llvm.ptr<3>
    %swizzled = arith.xori %plain, %lane : i32
    %c = llvm.getelementptr %shared[%swizzled] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    llvm.store %0, %c {alignment = 4 : i64} : f32, !llvm.ptr<3>
    // All threads at one word share it.
    %1 = llvm.load %shared {alignment = 4 : i64} : !llvm.ptr<3> -> f32
    return
  }
}

// -----

// Vectors of 128 bits are served by quarters of a warp: four wavefronts are as few as possible.
gpu.module @vectors {
  llvm.mlir.global external @memory() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
  cuda.kernel @kernel(%v: vector<4xf32>) attributes {nvvm.reqntid = array<i32: 32, 1, 1>} {
    %c8 = arith.constant 8 : i32
    %shared = llvm.mlir.addressof @memory : !llvm.ptr<3>
    %lane = nvvm.read.ptx.sreg.tid.x : i32
    %a = llvm.getelementptr %shared[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xf32>
    llvm.store %v, %a {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
    %rows = arith.muli %lane, %c8 : i32
    %b = llvm.getelementptr %shared[%rows] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xf32>
    // expected-remark @below {{a store of 128 bits a thread takes 32 wavefronts a request, 4 would do: threads are 128 bytes apart}}
    llvm.store %v, %b {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
    // Two quarters of a warp go together when neighbours access the same.
    %c1 = arith.constant 1 : i32
    %pair = arith.shrui %lane, %c1 : i32
    %pair_rows = arith.muli %pair, %c8 : i32
    %d = llvm.getelementptr %shared[%pair_rows] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xf32>
    // expected-remark @below {{a load of 128 bits a thread takes 16 wavefronts a request, 2 would do: runs of 2 threads at the same address, 128 bytes from one run}}
    %same = llvm.load %d {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
    return
  }
}

// -----

// Matrices: rows of 16 bytes, eight at a time, each thread of the first 8, 16 or 32 giving the address of one.
gpu.module @matrices {
  llvm.mlir.global external @memory() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
  cuda.kernel @kernel() attributes {nvvm.reqntid = array<i32: 32, 1, 1>} {
    %c7 = arith.constant 7 : i32
    %c8 = arith.constant 8 : i32
    %c64 = arith.constant 64 : i32
    %shared = llvm.mlir.addressof @memory : !llvm.ptr<3>
    %lane = nvvm.read.ptx.sreg.tid.x : i32
    %row = arith.muli %lane, %c64 : i32
    %a = llvm.getelementptr %shared[%row] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f16
    // expected-remark @below {{a matrix load takes 32 wavefronts a request, 4 would do: threads are 128 bytes apart}}
    %0 = nvvm.ldmatrix %a {layout = #nvvm.mma_layout<row>, num = 4 : i32} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
    // expected-remark @below {{a matrix load takes 8 wavefronts a request, 1 would do: threads are 128 bytes apart}}
    %1 = nvvm.ldmatrix %a {layout = #nvvm.mma_layout<row>, num = 1 : i32} : (!llvm.ptr<3>) -> i32
    // Eight rows are always served alone, also where neighbours give the same one.
    %c1 = arith.constant 1 : i32
    %pair = arith.shrui %lane, %c1 : i32
    %pair_row = arith.muli %pair, %c64 : i32
    %d = llvm.getelementptr %shared[%pair_row] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f16
    // expected-remark @below {{a matrix load takes 16 wavefronts a request, 4 would do: runs of 2 threads at the same address}}
    %3 = nvvm.ldmatrix %d {layout = #nvvm.mma_layout<row>, num = 4 : i32} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
    %in_row = arith.andi %lane, %c7 : i32
    %shift = arith.muli %in_row, %c8 : i32
    %swizzled = arith.xori %row, %shift : i32
    %b = llvm.getelementptr %shared[%swizzled] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f16
    %2 = nvvm.ldmatrix %b {layout = #nvvm.mma_layout<row>, num = 4 : i32} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
    nvvm.stmatrix %b, %1, %1 {layout = #nvvm.mma_layout<row>} : !llvm.ptr<3>, i32, i32
    // expected-remark @below {{a matrix store takes 16 wavefronts a request, 2 would do: threads are 128 bytes apart}}
    nvvm.stmatrix %a, %1, %1 {layout = #nvvm.mma_layout<row>} : !llvm.ptr<3>, i32, i32
    return
  }
}

// -----

// Atomic operations on one word take turns, but for an increment whose old value nothing reads.
gpu.module @atomics {
  llvm.mlir.global external @memory() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
  cuda.kernel @kernel() attributes {nvvm.reqntid = array<i32: 32, 1, 1>} {
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %shared = llvm.mlir.addressof @memory : !llvm.ptr<3>
    %0 = nvvm.atomicrmw add %shared, %c1 : !llvm.ptr<3>, i32
    // expected-remark @below {{an atomic operation of 32 bits a thread takes 32 wavefronts a request, 1 would do: all threads access the same address}}
    %1 = nvvm.atomicrmw add %shared, %c2 : !llvm.ptr<3>, i32
    return
  }
}

// -----

// What `cp.async` writes; a base that was broadcast in each warp is known, as the elected thread is.
gpu.module @copies {
  llvm.mlir.global external @memory() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
  cuda.kernel @kernel(%x: !llvm.ptr<1>) attributes {nvvm.reqntid = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c4 = arith.constant 4 : i32
    %c16 = arith.constant 16 : i32
    %c31 = arith.constant 31 : i32
    %all = arith.constant -1 : i32
    %v = arith.constant 1.0 : f32
    %symbol = llvm.mlir.addressof @memory : !llvm.ptr<3>
    %number = llvm.ptrtoint %symbol : !llvm.ptr<3> to i32
    %base = nvvm.shfl.sync idx %all, %number, %c0, %c31 : i32 -> i32
    %shared = llvm.inttoptr %base : i32 to !llvm.ptr<3>
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %source = llvm.getelementptr %x[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xf32>
    %target = llvm.getelementptr %shared[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xf32>
    nvvm.cp.async.shared.global %target, %source, 16, cache = cg, %c16 : !llvm.ptr<3>, !llvm.ptr<1>, i32
    %far = arith.muli %lane, %c4 : i32
    %apart = llvm.getelementptr %shared[%far] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xf32>
    // expected-remark @below {{an asynchronous copy of 128 bits a thread takes 16 wavefronts a request, 4 would do: threads are 64 bytes apart}}
    nvvm.cp.async.shared.global %apart, %source, 16, cache = ca, %c16 : !llvm.ptr<3>, !llvm.ptr<1>, i32
    %elected = nvvm.elect.sync -> i1
    scf.if %elected {
      llvm.store %v, %apart {alignment = 4 : i64} : f32, !llvm.ptr<3>
    }
    return
  }
}
