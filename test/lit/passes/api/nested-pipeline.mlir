// RUN: cutecc opt %s --load %S/Inputs/doubling.py --pipeline=test-clean 2>&1 | filecheck %s

// What a pass inside a pass says is heard, and the wheel's passes clean up.
// CHECK: remark: an addition does
// CHECK: %[[SUM:.*]] = arith.addi
// CHECK-NOT: arith
// CHECK: return %[[SUM]], %[[SUM]]
func.func @twice(%a: i32) -> (i32, i32) {
  %c2 = arith.constant 2 : i32
  %0 = arith.muli %a, %c2 : i32
  %1 = arith.muli %a, %c2 : i32
  return %0, %1 : i32, i32
}
