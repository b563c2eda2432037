// RUN: cutecc opt %s --pipeline='legalize-llvm-types' | filecheck %s

// CHECK-LABEL: func.func @left_alone
// CHECK: arith.addi
// CHECK-NEXT: return
func.func @left_alone(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32
  return %0 : i32
}
