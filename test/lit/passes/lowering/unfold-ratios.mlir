// RUN: cutecc opt %s --pipeline=unfold-layouts,unfold-tensors | filecheck %s

// Two elements of 4 bits have one coordinate in bytes: a step of 1/2 rounds towards 0, as the wheel's code does.
gpu.module @kernels {
  // CHECK-LABEL: cuda.kernel @fp4
  cuda.kernel @fp4(%row: i32, %out: !llvm.ptr<1>) {
    // CHECK: %[[TWO:.*]] = arith.constant 2 : i32
    // CHECK: %[[BYTE:.*]] = arith.divsi %arg0, %[[TWO]] : i32
    // CHECK: llvm.store %[[BYTE]], %arg1
    %tensor = cute.static : !cute.coord_tensor<"(0,0)", "(8,4):(1/2@0,1@1)">
    %at = cute.make_coord(%row) : (i32) -> !cute.coord<"(?,_)">
    %rows = cute.slice(%tensor, %at) : !cute.coord_tensor<"(0,0)", "(8,4):(1/2@0,1@1)">, !cute.coord<"(?,_)">
    %begin = cute.get_iter(%rows) : !cute.coord_tensor<"(?,0)", "(4):(1@1)">
    %coordinate = cute.deref_arith_tuple_iter(%begin) : !cute.arith_tuple_iter<"(?,0)">
    %first, %second = cute.get_leaves(%coordinate) : !cute.int_tuple<"(?,0)">
    %number = cute.get_scalars(%first) : !cute.int_tuple<"?">
    llvm.store %number, %out : i32, !llvm.ptr<1>
    return
  }
}

// The numbers of a layout, with those of a part of a step, and the mode that it leads along.
// CHECK-LABEL: func.func @numbers
// CHECK-DAG: %[[SIZE:.*]] = arith.constant 4 : i32
// CHECK-DAG: %[[NUMERATOR:.*]] = arith.constant 3 : i32
// CHECK-DAG: %[[DENOMINATOR:.*]] = arith.constant 7 : i32
// CHECK-DAG: %[[MODE:.*]] = arith.constant 5 : i32
// CHECK: return %[[SIZE]], %[[NUMERATOR]], %[[DENOMINATOR]], %[[MODE]]
func.func @numbers(%layout: !cute.layout<"4:3/7@5">) -> (i32, i32, i32, i32) {
  %0:4 = cute.get_scalars(%layout) : !cute.layout<"4:3/7@5">
  return %0#0, %0#1, %0#2, %0#3 : i32, i32, i32, i32
}
