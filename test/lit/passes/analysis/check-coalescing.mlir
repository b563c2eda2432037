// Accesses of global memory that touch more sectors than their bytes need, by the addresses of all threads of a warp.

// RUN: cutecc opt %s --split-input-file --pipeline=check-coalescing --verify-diagnostics
// RUN: cutecc opt %s --split-input-file --pipeline='check-coalescing{all=true}' --output /dev/null 2>&1 | filecheck %s --check-prefix=ALL

// Side by side: nothing to say, and with `all` what it takes.
// ALL: remark: a load of 32 bits a thread takes 4 sectors a request, as few as possible
// ALL: remark: a store of 128 bits a thread takes 16 sectors a request, as few as possible
// ALL: remark: the addresses of 2 of 2 accesses of global memory are known
gpu.module @side_by_side {
  cuda.kernel @kernel(%x: !llvm.ptr<1>, %v: vector<4xf32>) attributes {nvvm.reqntid = array<i32: 64, 1, 1>} {
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %address = llvm.getelementptr %x[%thread] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %value = llvm.load %address {alignment = 4 : i64} : !llvm.ptr<1> -> f32
    %wide = llvm.getelementptr %x[%thread] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xf32>
    llvm.store %v, %wide {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
    return
  }
}

// -----

// Constant strides, an offset that moves threads across sectors, and backwards.
gpu.module @strides {
  cuda.kernel @kernel(%x: !llvm.ptr<1>) attributes {nvvm.reqntid = array<i32: 64, 1, 1>} {
    %c1 = arith.constant 1 : i32
    %c3 = arith.constant 3 : i32
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %third = arith.muli %thread, %c3 : i32
    %a = llvm.getelementptr %x[%third] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    // expected-remark @below {{a load of 32 bits a thread takes 12 sectors a request, 4 would do: threads are 12 bytes apart}}
    %0 = llvm.load %a {alignment = 4 : i64} : !llvm.ptr<1> -> f32
    %next = arith.addi %thread, %c1 : i32
    %b = llvm.getelementptr %x[%next] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    // expected-remark @below {{takes 5 sectors a request, 4 would do: side by side, but 4 bytes into a sector}}
    llvm.store %0, %b {alignment = 4 : i64} : f32, !llvm.ptr<1>
    // What is less aligned than it is wide is accessed in pieces.
    %c = llvm.getelementptr %x[%thread] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<2xf32>
    // expected-remark @below {{a load of 32 bits a thread takes 8 sectors a request, 4 would do: threads are 8 bytes apart}}
    %2 = llvm.load %c {alignment = 4 : i64} : !llvm.ptr<1> -> vector<2xf32>
    return
  }
}

// -----

// A stride of the launch: the remark says what it was taken for. A stride that all threads share does not matter.
!tensor = !llvm.struct<(ptr<1>, struct<(struct<(i32, i32)>, i64)>)>
gpu.module @dynamic {
  cuda.kernel @kernel(%x: !tensor) attributes {nvvm.reqntid = array<i32: 32, 4, 1>} {
    %lane = nvvm.read.ptx.sreg.tid.x : i32
    %row = nvvm.read.ptx.sreg.tid.y : i32
    %pointer = llvm.extractvalue %x[0] : !tensor
    %stride = llvm.extractvalue %x[1, 1] : !tensor
    %wide_lane = arith.extsi %lane : i32 to i64
    %wide_row = arith.extsi %row : i32 to i64
    %down = arith.muli %wide_row, %stride : i64
    %across = arith.addi %down, %wide_lane : i64
    %a = llvm.getelementptr %pointer[%across] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %0 = llvm.load %a {alignment = 4 : i64} : !llvm.ptr<1> -> f32
    %column = arith.muli %wide_lane, %stride : i64
    %b = llvm.getelementptr %pointer[%column] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    // expected-remark @below {{takes 32 sectors a request, 4 would do: threads are 32768 bytes apart, with a dynamic stride of argument 0 = 8192}}
    llvm.store %0, %b {alignment = 4 : i64} : f32, !llvm.ptr<1>
    return
  }
}

// -----

// Threads that a predicate turns off access nothing; what only a launch decides counts as on.
gpu.module @predicates {
  cuda.kernel @kernel(%x: !llvm.ptr<1>, %n: i32) attributes {nvvm.reqntid = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c8 = arith.constant 8 : i32
    %v = arith.constant 1.0 : f32
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %scaled = arith.muli %thread, %c8 : i32
    %a = llvm.getelementptr %x[%scaled] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %few = arith.cmpi slt, %thread, %c8 : i32
    scf.if %few {
      // expected-remark @below {{takes 8 sectors a request, 1 would do: threads are 32 bytes apart}}
      llvm.store %v, %a {alignment = 4 : i64} : f32, !llvm.ptr<1>
    }
    %none = arith.cmpi slt, %n, %c0 : i32
    scf.if %none {
      // expected-remark @below {{takes 32 sectors a request, 4 would do: threads are 32 bytes apart}}
      llvm.store %v, %a {alignment = 4 : i64} : f32, !llvm.ptr<1>
    }
    return
  }
}

// -----

// Loops: the address moves from turn to turn, and here its place in a sector with it.
gpu.module @loops {
  cuda.kernel @kernel(%x: !llvm.ptr<1>) attributes {nvvm.reqntid = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %v = arith.constant 1.0 : f32
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    scf.for %i = %c0 to %c2 step %c1 : i32 {
      %at = arith.addi %thread, %i : i32
      %a = llvm.getelementptr %x[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      // expected-remark @below {{takes 4.5 sectors a request, 4 would do: side by side, but 4 bytes into a sector}}
      llvm.store %v, %a {alignment = 4 : i64} : f32, !llvm.ptr<1>
    }
    return
  }
}

// -----

// An address that is in memory is not known, which is said.
gpu.module @indirect {
  // expected-remark @below {{the addresses of 1 of 2 accesses of global memory are known}}
  cuda.kernel @kernel(%x: !llvm.ptr<1>) attributes {nvvm.reqntid = array<i32: 32, 1, 1>} {
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %a = llvm.getelementptr %x[%thread] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %index = llvm.load %a {alignment = 4 : i64} : !llvm.ptr<1> -> i32
    %b = llvm.getelementptr %x[%index] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %index, %b {alignment = 4 : i64} : i32, !llvm.ptr<1>
    return
  }
}

// -----

// A form without structured control flow is not looked into.
gpu.module @blocks {
  // expected-remark @below {{the addresses of 0 of 1 accesses of global memory are known}}
  cuda.kernel @kernel(%x: !llvm.ptr<1>) attributes {nvvm.reqntid = array<i32: 32, 1, 1>} {
    %v = arith.constant 1.0 : f32
    cf.br ^next
  ^next:
    llvm.store %v, %x {alignment = 4 : i64} : f32, !llvm.ptr<1>
    return
  }
}
