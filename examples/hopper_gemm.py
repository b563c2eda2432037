"""The shortest whole GEMM for Hopper: one warpgroup a block, TMA in, wgmma, TMA out.

Exercises TMA descriptors, a ring of swizzled shared-memory stages under mbarriers, wgmma fed from shared memory, and an
epilogue of stmatrix and a TMA store. `gemm.py` is the fast one: it has a producer warp and larger tiles.
"""

# cutecc: entry = "hopper_gemm"
# cutecc: target = "sm_90a"
# cutecc: args.a = "f16[?M=1000, ?K{div=8}=520] align=16"
# cutecc: args.b = "f16[?N{div=8}=1032, ?K{div=8}] align=16"
# cutecc: args.c = "f16[?M, ?N{div=8}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: tolerance = 2e-3
# cutecc: bytes = "2 * (M * K + N * K + M * N)"
# cutecc: flops = "2 * M * N * K"

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, warp, warpgroup

THREADS = 128  # one warpgroup
TILE_M, TILE_N, TILE_K = 64, 128, 64  # 64 halves of K are 128 bytes, one row of the widest swizzle
STAGES = 4
STAGE_BYTES = (TILE_M + TILE_N) * TILE_K * 2


@cute.kernel
def gemm_kernel(
    tma_a: cute.CopyAtom,
    a: cute.Tensor,
    tma_b: cute.CopyAtom,
    b: cute.Tensor,
    tma_c: cute.CopyAtom,
    c: cute.Tensor,
    tiled_mma: cute.TiledMma,
    a_layout: cute.ComposedLayout,
    b_layout: cute.ComposedLayout,
    c_layout: cute.ComposedLayout,
):
    """Compute one tile of c; `a`, `b` and `c` are coordinate tensors, as TMA takes them."""
    thread, _, _ = cute.arch.thread_idx()
    block_m, block_n, _ = cute.arch.block_idx()
    warp_index = cute.arch.make_warp_uniform(cute.arch.warp_idx())

    # A stage is full once TMA has written all its bytes.
    allocator = cutlass.utils.SmemAllocator()
    full = allocator.allocate_array(cutlass.Int64, STAGES)
    staged_a = allocator.allocate_tensor(cutlass.Float16, a_layout.outer, 1024, swizzle=a_layout.inner)
    staged_b = allocator.allocate_tensor(cutlass.Float16, b_layout.outer, 1024, swizzle=b_layout.inner)
    staged_c = allocator.allocate_tensor(cutlass.Float16, c_layout.outer, 1024, swizzle=c_layout.inner)
    if thread == 0:
        for stage in cutlass.range_constexpr(STAGES):
            cute.arch.mbarrier_init(full + stage, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()

    # This block's rows of a and of b, in slices along K, and where in shared memory a slice of them goes.
    tiles_a = cute.local_tile(a, (TILE_M, TILE_K), (block_m, None))
    tiles_b = cute.local_tile(b, (TILE_N, TILE_K), (block_n, None))
    slices = cute.size(tiles_a, mode=[2])
    alone = cute.make_layout(1)
    to_a, from_a = cpasync.tma_partition(
        tma_a, 0, alone, cute.group_modes(staged_a, 0, 2), cute.group_modes(tiles_a, 0, 2)
    )
    to_b, from_b = cpasync.tma_partition(
        tma_b, 0, alone, cute.group_modes(staged_b, 0, 2), cute.group_modes(tiles_b, 0, 2)
    )

    # What wgmma reads, as descriptors of shared memory, and this thread's part of the sums.
    mma = tiled_mma.get_slice(0)
    operand_a = tiled_mma.make_fragment_A(mma.partition_A(staged_a))
    operand_b = tiled_mma.make_fragment_B(mma.partition_B(staged_b))
    sums = cute.make_rmem_tensor(tiled_mma.partition_shape_C((TILE_M, TILE_N)), cutlass.Float32)
    sums.fill(0)
    tiled_mma.set(warpgroup.Field.ACCUMULATE, True)

    if warp_index == 0:
        for ahead in cutlass.range_constexpr(STAGES - 1):
            if ahead < slices:
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive_and_expect_tx(full + ahead, STAGE_BYTES)
                cute.copy(tma_a, from_a[None, ahead], to_a[None, ahead], tma_bar_ptr=full + ahead)
                cute.copy(tma_b, from_b[None, ahead], to_b[None, ahead], tma_bar_ptr=full + ahead)

    for step in range(slices):
        stage = step % STAGES
        cute.arch.mbarrier_wait(full + stage, step // STAGES % 2)
        warpgroup.fence()
        for k in cutlass.range_constexpr(cute.size(operand_a, mode=[2])):
            cute.gemm(tiled_mma, sums, operand_a[None, None, k, stage], operand_b[None, None, k, stage], sums)
        warpgroup.commit_group()
        # One group stays in flight. Once every warp is here, nobody reads the stage of the step before any more.
        warpgroup.wait_group(1)
        cute.arch.sync_threads()
        ahead = step + STAGES - 1
        if warp_index == 0 and ahead < slices:
            refilled = ahead % STAGES
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(full + refilled, STAGE_BYTES)
            cute.copy(tma_a, from_a[None, ahead], to_a[None, refilled], tma_bar_ptr=full + refilled)
            cute.copy(tma_b, from_b[None, ahead], to_b[None, refilled], tma_bar_ptr=full + refilled)
    warpgroup.wait_group(0)

    # Round, gather the tile in shared memory, and let TMA write it, clipped at the edges of c.
    rounded = cute.make_fragment_like(sums, cutlass.Float16)
    rounded.store(sums.load().to(cutlass.Float16))
    matrices = cute.make_copy_atom(warp.StMatrix8x8x16bOp(False, 4), cutlass.Float16)
    tiled_copy = cute.make_tiled_copy_C(matrices, tiled_mma)
    cute.copy(tiled_copy, tiled_copy.retile(rounded), tiled_copy.get_slice(thread).partition_D(staged_c))
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    if warp_index == 0:
        tile_c = cute.local_tile(c, (TILE_M, TILE_N), (block_m, block_n))
        from_c, to_c = cpasync.tma_partition(
            tma_c, 0, alone, cute.group_modes(staged_c, 0, 2), cute.group_modes(tile_c, 0, 2)
        )
        cute.copy(tma_c, from_c, to_c)
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0, read=True)


@cute.jit
def hopper_gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """c = a @ b.T for (M, K), (N, K) and (M, N) tensors of contiguous rows; sums are kept in f32."""
    operation = warpgroup.MmaF16BF16Op(
        cutlass.Float16,
        cutlass.Float32,
        (TILE_M, TILE_N, 16),
        warpgroup.OperandSource.SMEM,
        OperandMajorMode.K,
        OperandMajorMode.K,
    )
    tiled_mma = cute.make_tiled_mma(operation)

    # Every tile in shared memory repeats an atom of 8 rows of 128 bytes, swizzled against bank conflicts.
    atom = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW128, cutlass.Float16)
    a_layout = cute.tile_to_shape(atom, (TILE_M, TILE_K, STAGES), order=(0, 1, 2))
    b_layout = cute.tile_to_shape(atom, (TILE_N, TILE_K, STAGES), order=(0, 1, 2))
    c_layout = cute.tile_to_shape(atom, (TILE_M, TILE_N), order=(0, 1))

    load, store = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileS2GOp()
    a_stage = cute.slice_(a_layout, (None, None, 0))
    b_stage = cute.slice_(b_layout, (None, None, 0))
    tma_a, a_tma = cpasync.make_tiled_tma_atom(load, a, a_stage, (TILE_M, TILE_K))
    tma_b, b_tma = cpasync.make_tiled_tma_atom(load, b, b_stage, (TILE_N, TILE_K))
    tma_c, c_tma = cpasync.make_tiled_tma_atom(store, c, c_layout, (TILE_M, TILE_N))

    gemm_kernel(tma_a, a_tma, tma_b, b_tma, tma_c, c_tma, tiled_mma, a_layout, b_layout, c_layout).launch(
        grid=[cute.ceil_div(c.shape[0], TILE_M), cute.ceil_div(c.shape[1], TILE_N), 1],
        block=[THREADS, 1, 1],
    )


def reference(a, b, c):
    """The expected `c`."""
    return (a.astype("float32") @ b.astype("float32").T).astype("float16")


# cutecc: peers = ["torch_matmul"]
def torch_matmul(a, b, c):
    """The same with `torch.matmul`, which calls cuBLAS."""
    import torch

    torch.matmul(a, b.T, out=c)
