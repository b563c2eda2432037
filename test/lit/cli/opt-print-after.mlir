// The module between passes, on standard error; a pass is named as everywhere else.

// RUN: cutecc opt %s --pipeline=cse,canonicalize,cse --print-after=cse#2 --print-before=canonicalize > %t.out 2> %t.err
// RUN: filecheck %s --check-prefix=SOME --input-file=%t.err
// SOME: // -----// IR Dump Before canonicalize //----- //
// SOME-NEXT: module {
// SOME-COUNT-2: arith.addi
// SOME: // -----// IR Dump After cse#2 //----- //
// SOME-NEXT: module {
// SOME-NOT: arith.constant
// SOME-NOT: IR Dump

// RUN: filecheck %s --check-prefix=OUT --input-file=%t.out
// OUT-NOT: IR Dump
// OUT: func.func @f

// RUN: cutecc opt %s --pipeline=cse,canonicalize,cse --print-after-all -o %t.out 2>&1 | filecheck %s --check-prefix=ALL
// ALL: // -----// IR Dump After cse#1 //----- //
// ALL: // -----// IR Dump After canonicalize //----- //
// ALL: // -----// IR Dump After cse#2 //----- //

// RUN: cutecc opt %s --pipeline=cse,canonicalize,cse --print-before-all -o %t.out 2>&1 | filecheck %s --check-prefix=BEFORE
// BEFORE: // -----// IR Dump Before cse#1 //----- //
// BEFORE-COUNT-3: arith.addi
// BEFORE: // -----// IR Dump Before canonicalize //----- //
// BEFORE: // -----// IR Dump Before cse#2 //----- //

// RUN: cutecc opt %s --pipeline=cse,canonicalize,cse --print-after-change -o %t.out 2>&1 | filecheck %s --check-prefix=CHANGE
// RUN: cutecc opt %s --pipeline=cse,canonicalize,cse --print-after-change --print-after-all -o %t.out 2>&1 | filecheck %s --check-prefix=CHANGE
// CHANGE: // -----// IR Dump After cse#1 //----- //
// CHANGE: // -----// IR Dump After canonicalize //----- //
// CHANGE-NOT: IR Dump

// RUN: cutecc opt %s --pipeline=cse --print-after=cse --mlir-print-op-generic -o %t.out 2>&1 | filecheck %s --check-prefix=GENERIC
// GENERIC: IR Dump After cse
// GENERIC-NEXT: "builtin.module"() ({

// RUN: not cutecc opt %s --pipeline=cse --print-after=canonicalize 2>&1 | filecheck %s --check-prefix=NONE
// NONE: error: no pass 'canonicalize' in the pipeline
func.func @f(%a: i32) -> (i32, i32) {
  %zero = arith.constant 0 : i32
  %0 = arith.addi %a, %zero : i32
  %1 = arith.addi %a, %a : i32
  %2 = arith.addi %a, %a : i32
  %3 = arith.muli %1, %2 : i32
  return %0, %3 : i32, i32
}
