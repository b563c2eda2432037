// Passes in the order they are written, nested ones with their anchor, options in braces.

// RUN: cutecc opt %s --pipeline='canonicalize,cse' | filecheck %s --check-prefix=BOTH
// RUN: cutecc opt %s --pipeline='builtin.module(canonicalize,cse)' | filecheck %s --check-prefix=BOTH
// RUN: cutecc opt %s --pipeline='func.func(cse)' | filecheck %s --check-prefix=CSE
// RUN: cutecc opt %s --pipeline='canonicalize{max-iterations=0}' | filecheck %s --check-prefix=NONE
// RUN: cutecc opt %s | filecheck %s --check-prefix=NONE

// BOTH-LABEL: func.func @f
// BOTH-NEXT:  arith.muli
// BOTH-NEXT:  return

// CSE-LABEL: func.func @f
// CSE:       arith.constant 0 : i32
// CSE:       arith.addi
// CSE-COUNT-1: arith.muli
// CSE-NOT:   arith.muli

// NONE-LABEL: func.func @f
// NONE:       arith.addi
// NONE-COUNT-2: arith.muli
func.func @f(%arg0: i32) -> (i32, i32) {
  %c0 = arith.constant 0 : i32
  %0 = arith.addi %arg0, %c0 : i32
  %1 = arith.muli %0, %0 : i32
  %2 = arith.muli %0, %0 : i32
  return %1, %2 : i32, i32
}
