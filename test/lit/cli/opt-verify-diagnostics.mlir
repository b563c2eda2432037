// Errors of the parser, the verifier and a pass, each expected by a comment.

// RUN: cutecc opt %s --split-input-file --verify-diagnostics --pipeline=convert-cute-to-core | filecheck %s

func.func @undeclared(%a: i32) {
  // expected-error @below {{use of undeclared SSA value name}}
  %0 = arith.addi %a, %missing : i32
  return
}

// -----

// expected-note @below {{see existing symbol definition here}}
func.func @twice() { return }
func.func @twice() { return } // expected-error-re {{redefinition of symbol named '{{[a-z]+}}'}}

// -----

func.func @mismatch() -> i32 {
  %0 = arith.constant 1.0 : f32
  // expected-error @+1 {{type of return operand 0 ('f32') doesn't match function result type ('i32')}}
  return %0 : f32
}

// -----

func.func @not_lowered(%shape: !cute.shape<"(?,4)">) {
  // expected-error-re @below {{failed to legalize operation 'cute.{{[a-z_]*}}' that was explicitly marked illegal}}
  %0 = cute.make_identity_tensor(%shape) : !cute.coord_tensor<"(0,0)", "(?,4):(1@0,1@1)">
  return
}

// -----

// Nothing is expected here, and the module is printed.
// CHECK-NOT: @{{undeclared|twice|mismatch|not_lowered}}
// CHECK: func.func @fine()
func.func @fine() { return }
