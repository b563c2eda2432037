// RUN: not cutecc opt %s --pipeline='gpu.module(lir.func(lir-pipeline-to-nvvm))' 2>&1 | filecheck %s

// The amount of memory has to be known.
// CHECK: cutecc does not know what the wheel's hidden pass 'lir-pipeline-to-nvvm' makes of 'lir.allocate_buffer (!cute.memref<f32, smem, "(4,?):(1,4)">)'
gpu.module @kernels {
  lir.func public @dynamic() attributes {cc_attr = #core.compute_capability<arch = sm_100>, cute.kernel, gpu.kernel} {
    %0 = lir.allocate_buffer() : !cute.memref<f32, smem, "(4,?):(1,4)">
    lir.return
  }
}
