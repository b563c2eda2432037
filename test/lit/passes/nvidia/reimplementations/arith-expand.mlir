// RUN: cutecc opt %s --pipeline='arith-expand' | filecheck %s

// Rounding up adds one where the division is inexact and the signs agree.
// CHECK-LABEL: func.func @ceildiv
// CHECK: arith.constant 0 : i32
// CHECK: arith.constant 1 : i32
// CHECK: arith.divsi
// CHECK: arith.muli
// CHECK: arith.cmpi ne
// CHECK: arith.cmpi slt
// CHECK: arith.cmpi slt
// CHECK: arith.cmpi eq
// CHECK: arith.andi
// CHECK: arith.addi
// CHECK: arith.select
func.func @ceildiv(%a: i32, %b: i32) -> i32 {
  %0 = arith.ceildivsi %a, %b : i32
  return %0 : i32
}

// CHECK-LABEL: func.func @extrema
// CHECK: arith.cmpi slt
// CHECK-NEXT: arith.select
// CHECK-NEXT: arith.cmpf ugt
// CHECK-NEXT: arith.select
// CHECK-NEXT: arith.cmpf uno
// CHECK-NEXT: arith.select
func.func @extrema(%a: i32, %b: i32, %x: f32, %y: f32) -> (i32, f32) {
  %0 = arith.minsi %a, %b : i32
  %1 = arith.maximumf %x, %y : f32
  return %0, %1 : i32, f32
}

// What folds is not expanded; plain divisions stay.
// CHECK-LABEL: func.func @left_alone
// CHECK-NOT: arith.select
// CHECK: arith.divsi
// CHECK-NEXT: return
func.func @left_alone(%a: i32, %b: i32) -> (i32, i32) {
  %0 = arith.maxsi %a, %a : i32
  %1 = arith.divsi %a, %b : i32
  return %0, %1 : i32, i32
}
