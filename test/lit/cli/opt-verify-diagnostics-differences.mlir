// What differs from the expectations is an error, in the same words as mlir-opt's, and the exit status is 1.

// RUN: not cutecc opt %s --split-input-file --verify-diagnostics 2>&1 | filecheck %s

// CHECK: differences.mlir:[[# @LINE + 2]]:51: error: unexpected error: use of undeclared SSA value name
// CHECK-NEXT: %0 = arith.addi %arg0, %missing : i32
func.func @f(%arg0: i32) { %0 = arith.addi %arg0, %missing : i32 return }

// -----

// CHECK: differences.mlir:[[# @LINE + 1]]:4: error: expected remark "never" was not produced
// expected-remark {{never}}
func.func @f() { return }

// -----

// CHECK: differences.mlir:[[# @LINE + 2]]:4: error: 'error' diagnostic emitted when expecting a 'warning'
// CHECK: differences.mlir:[[# @LINE + 1]]:4: error: expected warning "undeclared" was not produced
// expected-warning @below {{undeclared}}
func.func @f(%arg0: i32) { %0 = arith.addi %arg0, %missing : i32 return }

// -----

// CHECK: differences.mlir:[[# @LINE + 1]]:4: error: invalid regex: found start of regex with no end '}}'
// expected-error-re {{a {{b}}
func.func @f() { return }
