// RUN: cutecc opt %s --pipeline='canonicalize,cse' | filecheck %s

// CHECK-LABEL: func.func @twice
// CHECK: %[[SUM:.*]] = arith.addi %arg0, %arg0 : i32
// CHECK-NEXT: return %[[SUM]], %[[SUM]] : i32, i32
func.func @twice(%arg0: i32) -> (i32, i32) {
  %0 = arith.addi %arg0, %arg0 : i32
  %1 = arith.addi %arg0, %arg0 : i32
  return %0, %1 : i32, i32
}
