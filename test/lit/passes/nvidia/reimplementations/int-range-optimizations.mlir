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

// Constants of every encoding: vectors with equal and with different elements, wide and negative numbers.
// CHECK-LABEL: func.func @encodings
// CHECK-DAG: %[[SUM:.*]] = arith.constant dense<6> : vector<4xi32>
// CHECK-DAG: %[[WIDE:.*]] = arith.constant 170141183460469231731687303715884105722 : i128
// CHECK: arith.addi {{.*}} overflow<nsw, nuw> : vector<4xi32>
// CHECK: return %[[SUM]], %{{.*}}, %[[WIDE]]
func.func @encodings() -> (vector<4xi32>, vector<4xi32>, i128) {
  %three = arith.constant dense<3> : vector<4xi32>
  %four = arith.constant dense<[1, 2, -3, 4]> : vector<4xi32>
  %0 = arith.addi %three, %three : vector<4xi32>
  %1 = arith.addi %four, %three overflow<nsw, nuw> : vector<4xi32>
  %minus = arith.constant -5 : i128
  %largest = arith.constant 170141183460469231731687303715884105727 : i128
  %2 = arith.addi %minus, %largest : i128
  return %0, %1, %2 : vector<4xi32>, vector<4xi32>, i128
}

// A region that a constant selects decides the result.
// CHECK-LABEL: func.func @selected
// CHECK: %[[SEVEN:.*]] = arith.constant 7 : i32
// CHECK: return %[[SEVEN]]
func.func @selected(%a: i32) -> i32 {
  %selector = arith.constant 1 : index
  %0 = scf.index_switch %selector -> i32
  case 1 {
    %seven = arith.constant 7 : i32
    scf.yield %seven : i32
  }
  default {
    scf.yield %a : i32
  }
  return %0 : i32
}
