// RUN: cutecc opt %s --pipeline=llvm-to-binary --emit=ptx | filecheck %s

// What a kernel says of its blocks and registers is in the PTX, which is of the version and for the chip of the module.
// CHECK: .version 8.8
// CHECK: .target sm_90a
// CHECK: .visible .entry kernel(
// CHECK: .reqntid 128, 1, 1
// CHECK: .minnctapersm 2
// CHECK: .maxnreg 96

// A function that is no kernel is no entry.
// CHECK: .visible .func {{.*}}device(
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  llvm.func @kernel() attributes {
    gpu.kernel, nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>, nvvm.minctasm = 2 : i32, nvvm.maxnreg = 96 : i32
  } {
    llvm.return
  }
  llvm.func @device(%value: i32) -> i32 attributes {no_inline} {
    llvm.return %value : i32
  }
}
