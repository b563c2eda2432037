// RUN: cutecc opt %s --load %S/Inputs/doubling.py --pipeline='test-double-to-add' --verify-each --mlir-print-debuginfo | filecheck %s

// CHECK-LABEL: func.func @chain
// CHECK-SAME: %[[A:.*]]: i32
func.func @chain(%a: i32, %c: i1) -> i32 {
  // The constant has no users any more, and goes.
  // CHECK-NOT: arith.constant 2
  // CHECK: %[[ONE:.*]] = arith.addi %[[A]], %[[A]] : i32 loc(#[[FIRST:.*]])
  %c2 = arith.constant 2 : i32
  %0 = arith.muli %a, %c2 : i32
  // CHECK: scf.if
  // CHECK: arith.addi %[[ONE]], %[[ONE]]
  %1 = scf.if %c -> (i32) {
    %2 = arith.muli %0, %c2 : i32
    scf.yield %2 : i32
  } else {
    scf.yield %0 : i32
  }
  return %1 : i32
}

// A multiplication by three stays, with its constant.
// CHECK-LABEL: func.func @three
// CHECK: arith.constant 3
// CHECK: arith.muli
func.func @three(%a: i32) -> i32 {
  %c3 = arith.constant 3 : i32
  %0 = arith.muli %a, %c3 : i32
  return %0 : i32
}

// What is built has the location of what it stands for.
// CHECK: #[[FIRST]] = loc("{{.*}}rewriting.mlir":10:8)
