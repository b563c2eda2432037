// RUN: cutecc opt %s --pipeline=number-fragments,cse --allow-unregistered-dialect | filecheck %s

// Two fragments of one type in registers stay two: what is written to one is not in the other. Two descriptors of one
// tensor in shared memory are the same.
!mma = !cute.tiled_mma<!cute_nvgpu.sm80.mma<16x8x16, elem_type = (f16, f16, f32) >, atom_layout_MNK = <"(1,1,1):(0,0,0)">, permutation_MNK = <"[_;_;_]">>
!tile = !cute.memref<f32, gmem, align<16>, "((2,2),1,1):((1,128),0,0)">
!sums = !cute.memref<f32, rmem, align<16>, "((2,2),1,1):((1,2),0,0)">
!wgmma = !cute.tiled_mma<!cute_nvgpu.sm90.mma<64x8x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss>, atom_layout_MNK = <"(1,1,1):(0,0,0)">, permutation_MNK = <"[_;_;_]">>
!shared = !cute.memref<f16, smem, align<128>, S<1,4,3>, "((64,16),1,1):((16,1),0,0)">
!matrices = !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,1):(0,0,0)">
gpu.module @kernels {
  // CHECK-LABEL: cuda.kernel @two(
  // CHECK: %[[ONE:.*]] = cute.mma.make_fragment C{{.*}}fragment = 0 : i32
  // CHECK: %[[TWO:.*]] = cute.mma.make_fragment C{{.*}}fragment = 1 : i32
  // CHECK: %[[MATRICES:.*]] = cute.mma.make_fragment A
  // CHECK-NOT: fragment =
  // CHECK-NOT: cute.mma.make_fragment
  // CHECK: "test.use"(%[[ONE]], %[[TWO]], %[[MATRICES]], %[[MATRICES]])
  cuda.kernel @two(%mma: !mma, %tile: !tile, %wgmma: !wgmma, %shared: !shared) {
    %one = cute.mma.make_fragment C (%mma, %tile) : (!mma, !tile) -> !sums
    %two = cute.mma.make_fragment C (%mma, %tile) : (!mma, !tile) -> !sums
    %a = cute.mma.make_fragment A (%wgmma, %shared) : (!wgmma, !shared) -> !matrices
    %b = cute.mma.make_fragment A (%wgmma, %shared) : (!wgmma, !shared) -> !matrices
    "test.use"(%one, %two, %a, %b) : (!sums, !sums, !matrices, !matrices) -> ()
    return
  }
}
