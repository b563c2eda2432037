// A pass runs on each operation that it is nested in, by name or by every way in which pipelines are said.

// RUN: cutecc opt %s --load %S/Inputs/on_functions.py --pipeline='gpu.module(gpu.func(test-name-functions))' -o /dev/null 2>&1 | filecheck %s --check-prefix=NESTED
// RUN: cutecc opt %s --load %S/Inputs/on_functions.py --pass-pipeline='builtin.module(gpu.module(gpu.func(test-name-functions)))' -o /dev/null 2>&1 | filecheck %s --check-prefix=NESTED
// NESTED:     remark: gpu.func first
// NESTED-NOT: func.func
// NESTED:     remark: gpu.func second
// NESTED-NOT: remark

// RUN: cutecc opt %s --load %S/Inputs/on_functions.py --test-name-functions -o /dev/null 2>&1 | filecheck %s --check-prefix=EVERYWHERE
// EVERYWHERE: remark: gpu.func first
// EVERYWHERE: remark: func.func declared
// EVERYWHERE: remark: gpu.func second
// EVERYWHERE: remark: func.func host

// RUN: cutecc opt %s --load %S/Inputs/on_functions.py --pipeline='gpu.module(cuda.kernel(test-name-functions))' -o /dev/null 2>&1 | filecheck %s --check-prefix=NONE --allow-empty
// NONE-NOT: remark

// Python passes and the wheel's, below one anchor.
// RUN: cutecc opt %s --load %S/Inputs/on_functions.py --pipeline='gpu.module(test-erase-declarations,gpu.func(canonicalize))' | filecheck %s --check-prefix=BOTH
// BOTH-NOT: @declared
// BOTH-NOT: arith.constant
// BOTH:     func.func private @host

// RUN: not cutecc opt %s --load %S/Inputs/on_functions.py --pipeline='func.func(test-erase-declarations)' 2>&1 | filecheck %s --check-prefix=WRONG
// WRONG: error: pass test-erase-declarations does not run on func.func
// WRONG: note: it runs on gpu.module

// RUN: not cutecc opt %s --load %S/Inputs/on_functions.py --pipeline='gpu.module(test-erase-declarations{outside=true})' 2>&1 | filecheck %s --check-prefix=OUTSIDE
// OUTSIDE: on-functions.mlir:[[# @LINE + 18]]:1: error: pass test-erase-declarations erases func.func outside of the operations that it runs on
// OUTSIDE: hint: have it run on what holds all that it changes

// RUN: cutecc passes test-name-functions --load %S/Inputs/on_functions.py | filecheck %s --check-prefix=DESCRIBED
// DESCRIBED: runs on: cuda.kernel, func.func, gpu.func

gpu.module @one {
  gpu.func @first() kernel {
    %unused = arith.constant 1 : i32
    gpu.return
  }
  func.func private @declared()
}
gpu.module @two {
  gpu.func @second() kernel {
    gpu.return
  }
}
func.func private @host()
