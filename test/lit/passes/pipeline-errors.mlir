// RUN: not cutecc opt %s --pipeline='no-such-pass' 2>&1 | filecheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: no pass is called 'no-such-pass'
// UNKNOWN-NEXT: hint: cutecc passes lists them all

// RUN: not cutecc opt %s --pipeline='cse{speed=3}' 2>&1 | filecheck %s --check-prefix=OPTION
// OPTION: error: pass cse does not take the options '{speed=3}'

// RUN: not cutecc opt %s --pipeline='cse{' 2>&1 | filecheck %s --check-prefix=BRACE
// BRACE: error: {{.*}}'}' is missing

// RUN: not cutecc opt %s --pipeline='gpu.module(cse' 2>&1 | filecheck %s --check-prefix=PARENTHESIS
// PARENTHESIS: error: {{.*}}')' is missing

// RUN: not cutecc opt %s --pipeline='cuda-compute-target' 2>&1 | filecheck %s --check-prefix=ANCHOR
// ANCHOR: error: pass cuda-compute-target does not run on a module

// RUN: not cutecc opt %s --pipeline='cuda-to-binary{dump-cubin-path=/tmp/x}' 2>&1 | filecheck %s --check-prefix=PATH
// PATH: error: pass cuda-to-binary: option 'dump-cubin-path' names a path

// RUN: not cutecc opt %s --pipeline=missing.pipeline 2>&1 | filecheck %s --check-prefix=FILE
// FILE: error: pipeline file missing.pipeline does not exist
func.func @f() {
  return
}
