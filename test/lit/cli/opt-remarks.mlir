// What passes say goes to standard error, with the line it is about; with --verify-diagnostics it is what is expected.

// RUN: cutecc opt %s --load=%S/Inputs/count_arguments.py --pipeline=count-arguments > %t.out 2> %t.err
// RUN: filecheck %s --input-file=%t.err
// RUN: filecheck %s --check-prefix=OUT --input-file=%t.out

// CHECK: opt-remarks.mlir:[[# @LINE + 6]]:1: remark: 2 arguments
// CHECK-NEXT: func.func @two(%a: i32, %b: i32) {
// CHECK-NEXT: ^
// OUT-NOT: remark
// OUT: func.func @two
// expected-remark @below {{2 arguments}}
func.func @two(%a: i32, %b: i32) {
  return
}

// CHECK: opt-remarks.mlir:[[# @LINE + 5]]:1: remark: 0 arguments
// CHECK: opt-remarks.mlir:[[# @LINE + 4]]:1: warning: nothing to work with
// CHECK: note: in this module
// expected-remark @+2 {{0 arguments}}
// expected-warning @+1 {{nothing to work with}}
func.func @none() {
  return
}
// expected-note @unknown {{in this module}}

// RUN: cutecc opt %s --load=%S/Inputs/count_arguments.py --pipeline=count-arguments --verify-diagnostics 2>&1 | filecheck %s --check-prefix=VERIFIED
// VERIFIED-NOT: error
// VERIFIED: module {

// RUN: not cutecc opt %s --load=%S/Inputs/count_arguments.py --pipeline='count-arguments{most=1}' 2>&1 | filecheck %s --check-prefix=TOO-MANY
// TOO-MANY: opt-remarks.mlir:[[# @LINE - 19]]:1: error: 2 arguments are too many
// TOO-MANY: note: 1 are allowed
