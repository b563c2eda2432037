// RUN: cutecc opt %s --load %S/Inputs/doubling.py --split-input-file --verify-diagnostics --pipeline='test-double-to-add{loud=true},test-reject-division,test-widen{strict=true}'

func.func @double(%a: i32) -> i32 {
  // expected-note @below {{the constant}}
  %c2 = arith.constant 2 : i32
  // expected-remark @below {{an addition does}}
  %0 = arith.muli %a, %c2 : i32
  return %0 : i32
}

// -----

func.func @divide(%a: i32) -> i32 {
  // expected-warning @below {{a slow division}}
  %0 = arith.divui %a, %a : i32
  // expected-error @below {{a division}}
  // expected-note @below {{divisions are slow}}
  %1 = arith.divsi %0, %a : i32
  return %1 : i32
}

// -----

func.func @subtract(%a: i32) -> i32 {
  // expected-error @below {{nothing converts arith.subi}}
  %0 = arith.subi %a, %a : i32
  return %0 : i32
}
