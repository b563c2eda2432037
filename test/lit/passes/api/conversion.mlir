// RUN: cutecc opt %s --load %S/Inputs/doubling.py --pipeline='test-widen' --verify-each | filecheck %s

// Types change through functions, branches and structured control flow, without a cast.
// CHECK-LABEL: func.func @through(
// CHECK-SAME: %[[A:.*]]: i64, %[[C:.*]]: i1) -> i64
func.func @through(%a: i32, %c: i1) -> i32 {
  // CHECK-NOT: unrealized_conversion_cast
  // CHECK: %[[SUM:.*]] = arith.addi %[[A]], %[[A]] : i64
  %0 = arith.addi %a, %a : i32
  // CHECK: scf.if %[[C]] -> (i64)
  %1 = scf.if %c -> (i32) {
    // CHECK: %[[MORE:.*]] = arith.addi %[[SUM]], %[[A]] : i64
    %2 = arith.addi %0, %a : i32
    // CHECK: scf.yield %[[MORE]] : i64
    scf.yield %2 : i32
  } else {
    scf.yield %0 : i32
  }
  // CHECK: cf.br ^[[LOOP:.*]](%{{.*}} : i64)
  cf.br ^loop(%1 : i32)
// CHECK: ^[[LOOP]](%[[X:.*]]: i64)
^loop(%x: i32):
  // CHECK: %[[Y:.*]] = arith.addi %[[X]], %[[X]] : i64
  %y = arith.addi %x, %x : i32
  // CHECK: cf.cond_br %[[C]], ^[[LOOP]](%[[Y]] : i64)
  cf.cond_br %c, ^loop(%y : i32), ^end
^end:
  // CHECK: return %[[X]] : i64
  return %x : i32
}

// An operation that nothing converts gets casts around it.
// CHECK-LABEL: func.func @edge(
// CHECK-SAME: %[[A:.*]]: i64)
// CHECK: %[[NARROW:.*]] = builtin.unrealized_conversion_cast %[[A]] : i64 to i32
// CHECK: %[[DIFFERENCE:.*]] = arith.subi %[[NARROW]], %[[NARROW]] : i32
// CHECK: %[[WIDE:.*]] = builtin.unrealized_conversion_cast %[[DIFFERENCE]] : i32 to i64
// CHECK: arith.addi %[[WIDE]], %[[A]] : i64
func.func @edge(%a: i32) -> i32 {
  %0 = arith.subi %a, %a : i32
  %1 = arith.addi %0, %a : i32
  return %1 : i32
}
