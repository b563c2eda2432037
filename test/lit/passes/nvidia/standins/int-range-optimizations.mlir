// RUN: cutecc opt %s --pipeline='int-range-optimizations' | filecheck %s

// The remainder of a value in [0, 15] by 16 is that value; by 15 it is not.
// CHECK-LABEL: func.func @remainders
// CHECK: arith.andi
// CHECK-NEXT: arith.remsi {{.*}}%c15
// CHECK-NEXT: return
func.func @remainders(%a: i32) -> (i32, i32) {
  %c15 = arith.constant 15 : i32
  %c16 = arith.constant 16 : i32
  %0 = arith.andi %a, %c15 : i32
  %1 = arith.remsi %0, %c16 : i32
  %2 = arith.remsi %0, %c15 : i32
  return %1, %2 : i32, i32
}

// A comparison that always holds becomes a constant; one that may fail stays.
// CHECK-LABEL: func.func @comparisons
// CHECK: %true = arith.constant true
// CHECK: arith.cmpi
// CHECK-NEXT: return %true
func.func @comparisons(%a: i32) -> (i1, i1) {
  %c15 = arith.constant 15 : i32
  %c16 = arith.constant 16 : i32
  %0 = arith.andi %a, %c15 : i32
  %1 = arith.cmpi slt, %0, %c16 : i32
  %2 = arith.cmpi slt, %0, %c15 : i32
  return %1, %2 : i1, i1
}

// The leaves of a coordinate share one range.
// CHECK-LABEL: func.func @through_a_coordinate
// CHECK: cute.get_scalars
// CHECK-NOT: arith.remsi
// CHECK: return
func.func @through_a_coordinate(%a: i32) -> i32 {
  %c15 = arith.constant 15 : i32
  %c16 = arith.constant 16 : i32
  %0 = arith.andi %a, %c15 : i32
  %1 = cute.make_coord(%0, %0) : (i32, i32) -> !cute.coord<"(?,?)">
  %2:2 = cute.get_scalars(%1) <{only_dynamic}> : !cute.coord<"(?,?)">
  %3 = arith.remsi %2#1, %c16 : i32
  return %3 : i32
}
