// RUN: cutecc opt %s --pipeline=unroll-register-loops --allow-unregistered-dialect | filecheck %s

// An index into an array of registers that follows from the counter of a loop has to be known in the end. Where the
// user says nothing about the loop, it is asked to be unrolled.
// CHECK: #[[FULL:.*]] = #llvm.loop_annotation<unroll = #[[UNROLL:.*]]>
gpu.module @kernels {
  // CHECK-LABEL: cuda.kernel @counted(
  // CHECK: scf.for
  // CHECK: } {loop_annotation = #[[FULL]]}
  cuda.kernel @counted(%from: !llvm.ptr<1>) {
    %size = arith.constant 16 : i32
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %array = llvm.alloca %size x f32 : (i32) -> !llvm.ptr
    scf.for %i = %zero to %size step %one : i32 {
      %double = arith.addi %i, %i : i32
      %at = llvm.getelementptr %array[%double] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %value = llvm.load %at : !llvm.ptr -> f32
      "test.use"(%value) : (f32) -> ()
    }
    cuda.return
  }

  // What memory is indexed is no matter, nor an array at an index that the loop does not decide.
  // CHECK-LABEL: cuda.kernel @elsewhere(
  // CHECK: scf.for
  // CHECK: }
  // CHECK-NOT: loop_annotation
  // CHECK: return
  cuda.kernel @elsewhere(%from: !llvm.ptr<1>, %fixed: i32) {
    %size = arith.constant 16 : i32
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %array = llvm.alloca %size x f32 : (i32) -> !llvm.ptr
    scf.for %i = %zero to %size step %one : i32 {
      %at = llvm.getelementptr %from[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      %value = llvm.load %at : !llvm.ptr<1> -> f32
      %to = llvm.getelementptr %array[%fixed] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      llvm.store %value, %to : f32, !llvm.ptr
    }
    cuda.return
  }

  // The user's hint stays, and so does a loop of whose turns the number is not known, or too large.
  // CHECK-LABEL: cuda.kernel @left(
  // CHECK: scf.for
  // CHECK: } {loop_annotation = #[[OWN:.*]]}
  // CHECK: scf.for
  // CHECK-NOT: loop_annotation
  // CHECK: return
  cuda.kernel @left(%turns: i32) {
    %size = arith.constant 16 : i32
    %many = arith.constant 100000 : i32
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %array = llvm.alloca %size x f32 : (i32) -> !llvm.ptr
    scf.for %i = %zero to %size step %one : i32 {
      %at = llvm.getelementptr %array[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %value = llvm.load %at : !llvm.ptr -> f32
      "test.use"(%value) : (f32) -> ()
    } {loop_annotation = #llvm.loop_annotation<unroll = <disable = true>>}
    scf.for %i = %zero to %turns step %one : i32 {
      %at = llvm.getelementptr %array[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %value = llvm.load %at : !llvm.ptr -> f32
      "test.use"(%value) : (f32) -> ()
    }
    scf.for %i = %zero to %many step %one : i32 {
      %at = llvm.getelementptr %array[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %value = llvm.load %at : !llvm.ptr -> f32
      "test.use"(%value) : (f32) -> ()
    }
    cuda.return
  }

  // A loop is as long as all its turns and those of the loops inside: 8 × 8 turns are unrolled, 64 times as many are not,
  // and ptxas is to leave that loop as well. What it indexes stays in memory then, so that nothing is won by unrolling
  // another loop over the same array alone.
  // CHECK-LABEL: cuda.kernel @nest(
  // CHECK: scf.for %[[FILL:.*]] =
  // CHECK: "test.fill"
  // CHECK-NEXT: llvm.store
  // CHECK-NEXT: }{{$}}
  // CHECK: scf.for %[[K:.*]] =
  // CHECK: scf.for %[[I:.*]] =
  // CHECK: scf.for %[[J:.*]] =
  // CHECK: } {loop_annotation = #[[FULL]]}
  // CHECK: } {loop_annotation = #[[FULL]]}
  // CHECK: } {loop_annotation = #[[OWN]]}
  cuda.kernel @nest() {
    %deep = arith.constant 64 : i32
    %eight = arith.constant 8 : i32
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %sums = llvm.alloca %deep x f32 : (i32) -> !llvm.ptr
    %slice = llvm.alloca %deep x f32 : (i32) -> !llvm.ptr
    scf.for %k = %zero to %deep step %one : i32 {
      %into = llvm.getelementptr %slice[%k] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %value = "test.fill"() : () -> f32
      llvm.store %value, %into : f32, !llvm.ptr
    }
    scf.for %k = %zero to %deep step %one : i32 {
      %from = llvm.getelementptr %slice[%k] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %factor = llvm.load %from : !llvm.ptr -> f32
      scf.for %i = %zero to %eight step %one : i32 {
        %row = arith.muli %i, %eight : i32
        scf.for %j = %zero to %eight step %one : i32 {
          %number = arith.addi %row, %j : i32
          %at = llvm.getelementptr %sums[%number] : (!llvm.ptr, i32) -> !llvm.ptr, f32
          %sum = llvm.load %at : !llvm.ptr -> f32
          %more = arith.addf %sum, %factor : f32
          llvm.store %more, %at : f32, !llvm.ptr
        }
      }
    }
    cuda.return
  }

  // ptxas may unroll a short loop that stays around unrolled ones.
  // CHECK-LABEL: cuda.kernel @short_nest(
  // CHECK: } {loop_annotation = #[[FULL]]}
  // CHECK-NEXT: }{{$}}
  cuda.kernel @short_nest() {
    %many = arith.constant 4096 : i32
    %eight = arith.constant 8 : i32
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %window = llvm.alloca %eight x f32 : (i32) -> !llvm.ptr
    scf.for %k = %zero to %many step %one : i32 {
      scf.for %i = %zero to %eight step %one : i32 {
        %into = llvm.getelementptr %window[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
        %value = "test.next"() : () -> f32
        llvm.store %value, %into : f32, !llvm.ptr
      }
    }
    cuda.return
  }

  // A hint that asks for too much: of 100,000 turns of 5 operations, 6,250 are one.
  // CHECK-LABEL: cuda.kernel @asked(
  // CHECK: } {loop_annotation = #[[SOME:.*]]}
  cuda.kernel @asked() {
    %many = arith.constant 100000 : i32
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    scf.for %i = %zero to %many step %one : i32 {
      "test.use"(%i) : (i32) -> ()
      "test.use"(%i) : (i32) -> ()
      "test.use"(%i) : (i32) -> ()
    } {loop_annotation = #llvm.loop_annotation<unroll = <disable = false, full = true>>}
    cuda.return
  }
}
