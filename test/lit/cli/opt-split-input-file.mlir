// Each module is read in a context of its own; one that fails does not stop the rest, and line numbers are the file's.

// RUN: not cutecc opt %s --split-input-file --pipeline=cse > %t.out 2> %t.err
// RUN: filecheck %s --input-file=%t.out
// RUN: filecheck %s --check-prefix=ERR --input-file=%t.err

// CHECK-LABEL: func.func @f
// CHECK: arith.addi
// CHECK-NOT: arith.addi
// CHECK: }
// CHECK-NEXT: }
// CHECK-NEXT: {{^}}// -----{{$}}
func.func @f(%a: i32) -> (i32, i32) {
  %0 = arith.addi %a, %a : i32
  %1 = arith.addi %a, %a : i32
  return %0, %1 : i32, i32
}

// -----

// CHECK: module {
// CHECK-NEXT: func.func @f()
func.func @f() {
  return
}

// -----

// ERR: opt-split-input-file.mlir:[[# @LINE + 3]]:23: error: use of undeclared SSA value name
// ERR-NEXT: %0 = arith.addi %a, %missing : i32
func.func @g(%a: i32) {
  %0 = arith.addi %a, %missing : i32
  return
}

// -----

// CHECK: // -----
// CHECK: // -----
// CHECK-NEXT: module {
// CHECK-NEXT: func.func @last
func.func @last() {
  return
}
// ERR-NOT: error
