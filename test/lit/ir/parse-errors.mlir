// RUN: not cutecc opt %s 2>&1 | filecheck %s
// RUN: not cutecc compile %s --target sm_80 2>&1 | filecheck %s

// CHECK: parse-errors.mlir:8:26: error: use of undeclared SSA value name
// CHECK-NEXT: %0 = arith.addi %arg0, %missing : i32
// CHECK-NEXT: ^
func.func @f(%arg0: i32) {
  %0 = arith.addi %arg0, %missing : i32
  return
}
