// RUN: cutecc opt %s --pipeline='gpu.module(lir.func(lir-pipeline-to-nvvm))' | filecheck %s

// Nothing runs on a module without functions of the experimental API.
// CHECK-LABEL: func.func @left_alone
// CHECK: arith.addi
gpu.module @kernels {
  func.func @left_alone(%a: i32) -> i32 {
    %0 = arith.addi %a, %a : i32
    return %0 : i32
  }
}
