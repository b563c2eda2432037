// RUN: cutecc opt %s --pipeline='gpu.module(optimize-llvm-for-backend)' | filecheck %s

// CHECK-LABEL: llvm.func @left_alone
// CHECK: llvm.add
// CHECK-NEXT: llvm.return
gpu.module @kernels {
  llvm.func @left_alone(%a: i32) -> i32 {
    %0 = llvm.add %a, %a : i32
    llvm.return %0 : i32
  }
}
