"""GEMM on 8-bit floats (e4m3) for Hopper with a scale and a bf16 result: one warp loads, two warpgroups multiply.

Exercises fp8 wgmma, the two ends of a TMA pipeline as objects, and shared memory used again as another type.
"""

# cutecc: entry = "gemm_fp8"
# cutecc: target = "sm_90a"
# cutecc: args.a = "f8E4M3FN[?M=80, ?K{div=16}=400] align=16"
# cutecc: args.b = "f8E4M3FN[?N{div=8}=56, ?K{div=16}] align=16"
# cutecc: args.c = "bf16[?M, ?N{div=8}] align=16"
# cutecc: args.scale = "f32=0.25"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: ulp = 1
# cutecc: tolerance = 1e-3
# cutecc: bytes = "M * K + N * K + 2 * M * N"
# cutecc: flops = "2 * M * N * K"

import cutlass
from cutlass import cute, pipeline
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, warp, warpgroup

WARPGROUP = 128  # threads
CONSUMERS = 2  # warpgroups; one more warp loads
TILE_M, TILE_N, TILE_K = 128, 128, 128  # 128 numbers along K are 128 bytes, one row of the widest swizzle
STAGES = 3  # so few that two blocks fit on a multiprocessor: one stores while the other multiplies
GROUP = 16  # rows of tiles that neighbouring blocks share, for reuse in the L2 cache
STORE_BARRIER = 1


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
    scale: cutlass.Float32,
):
    """Compute one tile of c; `a`, `b` and `c` are coordinate tensors, as TMA takes them."""
    thread, _, _ = cute.arch.thread_idx()
    warp_index = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    tile = tile_of_block(c)

    allocator = cutlass.utils.SmemAllocator()
    producer, consumer = pipeline.PipelineTmaAsync.create(
        num_stages=STAGES,
        producer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread),
        consumer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, CONSUMERS * 4),  # a thread of each warp
        tx_count=(TILE_M + TILE_N) * TILE_K,
        barrier_storage=allocator.allocate_array(cutlass.Int64, 2 * STAGES),
    ).make_participants()
    staged_a = allocator.allocate_tensor(cutlass.Float8E4M3FN, a_layout.outer, 1024, swizzle=a_layout.inner)
    staged_b = allocator.allocate_tensor(cutlass.Float8E4M3FN, b_layout.outer, 1024, swizzle=b_layout.inner)

    # Slices of this block's rows of a and of b: (tile, TILE_K, step along K).
    slices_a = cute.local_tile(a, (TILE_M, TILE_K), (tile[0], None))
    slices_b = cute.local_tile(b, (TILE_N, TILE_K), (tile[1], None))
    steps = cute.size(slices_a, mode=[2])

    if warp_index == CONSUMERS * 4:
        produce(producer, tma_a, slices_a, staged_a, tma_b, slices_b, staged_b, steps)
    else:
        sums = consume(consumer, tiled_mma, staged_a, staged_b, steps, thread)
        # All loads have landed and all products are done: the memory of a's stages is free for c.
        cute.arch.barrier(barrier_id=STORE_BARRIER, number_of_threads=CONSUMERS * WARPGROUP)
        memory_c = cute.recast_ptr(staged_a.iterator, c_layout.inner, dtype=cutlass.BFloat16)
        staged_c = cute.make_tensor(memory_c, c_layout.outer)
        store(tiled_mma, sums, scale, staged_c, tma_c, c, tile, thread, warp_index)


@cute.jit
def tile_of_block(c: cute.Tensor):
    """The (m, n) of the tile that this block computes: down GROUP tiles, then one to the right, and so on."""
    tiles_m, tiles_n = cute.ceil_div(c.shape[0], TILE_M), cute.ceil_div(c.shape[1], TILE_N)
    block, _, _ = cute.arch.block_idx()
    first_m = block // (GROUP * tiles_n) * GROUP
    rows = cutlass.min(tiles_m - first_m, GROUP)
    in_group = block - first_m * tiles_n
    return first_m + in_group % rows, in_group // rows


@cute.jit
def produce(producer, tma_a, slices_a, staged_a, tma_b, slices_b, staged_b, steps):
    """Fetch every slice of a and b; one warp runs this."""
    alone = cute.make_layout(1)
    to_a, from_a = cpasync.tma_partition(
        tma_a, 0, alone, cute.group_modes(staged_a, 0, 2), cute.group_modes(slices_a, 0, 2)
    )
    to_b, from_b = cpasync.tma_partition(
        tma_b, 0, alone, cute.group_modes(staged_b, 0, 2), cute.group_modes(slices_b, 0, 2)
    )
    for step in cutlass.range(steps, unroll=1):
        empty = producer.acquire_and_advance()
        cute.copy(tma_a, from_a[None, step], to_a[None, empty.index], tma_bar_ptr=empty.barrier)
        cute.copy(tma_b, from_b[None, step], to_b[None, empty.index], tma_bar_ptr=empty.barrier)
        empty.commit()


@cute.jit
def consume(consumer, tiled_mma, staged_a, staged_b, steps, thread):
    """Multiply every slice as it arrives; returns this thread's sums."""
    operands = tiled_mma.get_slice(cute.arch.make_warp_uniform(thread // WARPGROUP) * WARPGROUP)
    fragment_a = tiled_mma.make_fragment_A(operands.partition_A(staged_a))
    fragment_b = tiled_mma.make_fragment_B(operands.partition_B(staged_b))
    sums = cute.make_rmem_tensor(tiled_mma.partition_shape_C((TILE_M, TILE_N)), cutlass.Float32)
    sums.fill(0)
    tiled_mma.set(warpgroup.Field.ACCUMULATE, True)
    for _ in cutlass.range(steps, unroll=1):
        full = consumer.wait_and_advance()
        warpgroup.fence()
        for k in cutlass.range_constexpr(cute.size(fragment_a, mode=[2])):
            slice_a, slice_b = fragment_a[None, None, k, full.index], fragment_b[None, None, k, full.index]
            cute.gemm(tiled_mma, sums, slice_a, slice_b, sums)
        warpgroup.commit_group()
        # The other warpgroup, and the other block, keep the tensor cores busy meanwhile.
        warpgroup.wait_group(0)
        full.release()
    return sums


@cute.jit
def store(tiled_mma, sums, scale, staged_c, tma_c, c, tile, thread, warp_index):
    """Scale and round the sums, gather them in shared memory, and write the tile, clipped at c's edges."""
    rounded = cute.make_fragment_like(sums, cutlass.BFloat16)
    rounded.store((sums.load() * scale).to(cutlass.BFloat16))
    matrices = cute.make_copy_atom(warp.StMatrix8x8x16bOp(False, 4), cutlass.BFloat16)
    tiled_copy = cute.make_tiled_copy_C(matrices, tiled_mma)
    cute.copy(tiled_copy, tiled_copy.retile(rounded), tiled_copy.get_slice(thread).partition_D(staged_c))
    # Ordinary writes become visible to TMA by the fence, and those of all threads by the barrier.
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.barrier(barrier_id=STORE_BARRIER, number_of_threads=CONSUMERS * WARPGROUP)
    if warp_index == 0:
        tile_c = cute.local_tile(c, (TILE_M, TILE_N), tile)
        from_c, to_c = cpasync.tma_partition(
            tma_c, 0, cute.make_layout(1), cute.group_modes(staged_c, 0, 2), cute.group_modes(tile_c, 0, 2)
        )
        cute.copy(tma_c, from_c, to_c)
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0, read=True)


@cute.jit
def gemm_fp8(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, scale: cutlass.Float32):
    """c = scale * (a @ b.T) for (M, K), (N, K) and (M, N) tensors of contiguous rows; sums are kept in f32."""
    operation = warpgroup.MmaF8Op(
        cutlass.Float8E4M3FN,
        cutlass.Float8E4M3FN,
        cutlass.Float32,
        (64, TILE_N, 32),
        warpgroup.OperandSource.SMEM,
        OperandMajorMode.K,
        OperandMajorMode.K,
    )
    tiled_mma = cute.make_tiled_mma(operation, (CONSUMERS, 1, 1))

    # Every tile in shared memory repeats an atom of 8 rows x 128 bytes, swizzled against bank conflicts.
    narrow = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW128, cutlass.Float8E4M3FN)
    wide = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW128, cutlass.BFloat16)
    a_layout = cute.tile_to_shape(narrow, (TILE_M, TILE_K, STAGES), order=(0, 1, 2))
    b_layout = cute.tile_to_shape(narrow, (TILE_N, TILE_K, STAGES), order=(0, 1, 2))
    c_layout = cute.tile_to_shape(wide, (TILE_M, TILE_N), order=(0, 1))

    load, keep = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileS2GOp()
    a_stage, b_stage = cute.slice_(a_layout, (None, None, 0)), cute.slice_(b_layout, (None, None, 0))
    tma_a, a_tma = cpasync.make_tiled_tma_atom(load, a, a_stage, (TILE_M, TILE_K))
    tma_b, b_tma = cpasync.make_tiled_tma_atom(load, b, b_stage, (TILE_N, TILE_K))
    tma_c, c_tma = cpasync.make_tiled_tma_atom(keep, c, c_layout, (TILE_M, TILE_N))

    tiles_m, tiles_n = cute.ceil_div(c.shape[0], TILE_M), cute.ceil_div(c.shape[1], TILE_N)
    gemm_kernel(tma_a, a_tma, tma_b, b_tma, tma_c, c_tma, tiled_mma, a_layout, b_layout, c_layout, scale).launch(
        grid=[tiles_m * tiles_n, 1, 1],
        block=[CONSUMERS * WARPGROUP + 32, 1, 1],
    )


def reference(a, b, c, scale):
    """The expected `c`, which numpy has no type for.

    Of sums of 8-bit products, tensor cores keep fewer bits than f32 has: over 8,192 of them, single elements
    differ by more than bf16 rounds.
    """
    import numpy as np

    return np.float32(scale) * (a.astype("float32") @ b.astype("float32").T)
