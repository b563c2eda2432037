"""GEMM on 4-bit floats with a power of two for every 32 along K (MXFP4), a pair of blocks a tile of 256 x 128.

Exercises block-scaled products and copies into tensor memory of `cta_group::2`, TMA loads that arrive at the barrier of
the pair's first block, and tensor memory that two blocks allocate together.
"""

# cutecc: entry = "gemm_mxfp4"
# cutecc: target = "sm_100a"
# cutecc: args.a = "f4E2M1FN[?M{div=256}=256, ?K{div=256}=512] align=16"
# cutecc: args.b = "f4E2M1FN[?N{div=128}=128, ?K{div=256}] align=16"
# cutecc: args.scales_a = "f8E8M0FNU[?ChunksM{div=2}=2, ?ChunksK{div=2}=4, 512] align=16"
# cutecc: args.scales_b = "f8E8M0FNU[?ChunksN=1, ?ChunksK{div=2}, 512] align=16"
# cutecc: args.c = "f32[?M, ?N{div=128}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: tolerance = 1e-4
# cutecc: bytes = "(M + N) * K * 17 // 32 + 4 * M * N"
# cutecc: flops = "2 * M * N * K"

import cutlass
from cutlass import cute, pipeline
from cutlass.cute.nvgpu import cpasync, tcgen05
from cutlass.utils import blockscaled_layout, sm100

ELEMENT, SCALE = cutlass.Float4E2M1FN, cutlass.Float8E8M0FNU
PAIR = tcgen05.CtaGroup.TWO
BLOCKS = 2  # of a pair
TILE = (256, 128, 256)  # along M, N and K, of a pair
VECTOR = 32  # elements that share a scale
COLUMNS = 256  # of tensor memory: those of the sums, and some for the scales
STAGES = 2
THREADS = 128
LOADS, MULTIPLIES = 0, 1  # warps


@cute.kernel
def gemm_kernel(
    tma_a: cute.CopyAtom,
    a: cute.Tensor,
    tma_b: cute.CopyAtom,
    b: cute.Tensor,
    tma_sfa: cute.CopyAtom,
    scales_a: cute.Tensor,
    tma_sfb: cute.CopyAtom,
    scales_b: cute.Tensor,
    c: cute.Tensor,
    tiled_mma: cute.TiledMma,
    single_mma: cute.TiledMma,
    pair_layout: cute.Layout,
    a_layout: cute.ComposedLayout,
    b_layout: cute.ComposedLayout,
    sfa_layout: cute.Layout,
    sfb_layout: cute.Layout,
):
    thread, _, _ = cute.arch.thread_idx()
    block_m, block_n, _ = cute.arch.block_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    rank = cute.arch.make_warp_uniform(cute.arch.block_idx_in_cluster())
    block_m = block_m // BLOCKS

    allocator = cutlass.utils.SmemAllocator()
    staged_a = allocator.allocate_tensor(ELEMENT, a_layout.outer, byte_alignment=1024, swizzle=a_layout.inner)
    staged_b = allocator.allocate_tensor(ELEMENT, b_layout.outer, byte_alignment=1024, swizzle=b_layout.inner)
    staged_sfa = allocator.allocate_tensor(SCALE, sfa_layout, byte_alignment=128)
    staged_sfb = allocator.allocate_tensor(SCALE, sfb_layout, byte_alignment=128)
    one, all_threads = (pipeline.CooperativeGroup(pipeline.Agent.Thread, count) for count in (1, BLOCKS * THREADS))
    producer, consumer = pipeline.PipelineTmaUmma.create(
        num_stages=STAGES,
        producer_group=one,
        consumer_group=one,
        # Each block loads its rows of A, its half of B, and all scales of B.
        tx_count=(TILE[0] + TILE[1]) * TILE[2] // 2 + (TILE[0] + BLOCKS * TILE[1]) * TILE[2] // VECTOR,
        barrier_storage=allocator.allocate_array(cutlass.Int64, 2 * STAGES),
        cta_layout_vmnk=pair_layout,
    ).make_participants()
    multiplier, storer = pipeline.PipelineUmmaAsync.create(
        num_stages=1,
        producer_group=one,
        consumer_group=all_threads,
        barrier_storage=allocator.allocate_array(cutlass.Int64, 2),
        cta_layout_vmnk=pair_layout,
    ).make_participants()
    tensor_memory = cutlass.utils.TmemAllocator(
        allocator.allocate_array(cutlass.Int32, 1),
        barrier_for_retrieve=pipeline.NamedBarrier(1, THREADS),
        is_two_cta=True,
        two_cta_tmem_dealloc_mbar_ptr=allocator.allocate_array(cutlass.Int64, 1),
    )
    tensor_memory.allocate(COLUMNS)
    tensor_memory.wait_for_alloc()
    tmem = tensor_memory.retrieve_ptr(cutlass.Float32)

    # Operands as the MMA sees them, ((atom), m or n, k[, step]); behind the sums, tensor memory holds the scales.
    mma_slice = tiled_mma.get_slice(rank)
    tiles_a = mma_slice.partition_A(cute.local_tile(a, (TILE[0], TILE[2]), (block_m, None)))
    tiles_b = mma_slice.partition_B(cute.local_tile(b, (TILE[1], TILE[2]), (block_n, None)))
    tiles_sfa = mma_slice.partition_A(cute.local_tile(scales_a, (TILE[0], TILE[2]), (block_m, None)))
    tiles_sfb = single_mma.get_slice(0).partition_B(cute.local_tile(scales_b, (TILE[1], TILE[2]), (block_n, None)))
    tile_c = mma_slice.partition_C(cute.local_tile(c, (TILE[0], TILE[1]), (block_m, block_n)))
    fragment_a = tiled_mma.make_fragment_A(staged_a)
    fragment_b = tiled_mma.make_fragment_B(staged_b)
    sums_layout = tiled_mma.make_fragment_C(tiled_mma.partition_shape_C((TILE[0], TILE[1]))).layout
    sums = cute.make_tensor(tmem, sums_layout)
    column_sfa = tcgen05.find_tmem_tensor_col_offset(sums)
    one_stage = cute.slice_(sfa_layout, (None, None, None, 0))
    in_tmem = blockscaled_layout.make_tmem_layout_sfa(tiled_mma, TILE, VECTOR, one_stage)
    fragment_sfa = cute.make_tensor(cute.recast_ptr(tmem + column_sfa, dtype=SCALE), in_tmem)
    column_sfb = column_sfa + tcgen05.find_tmem_tensor_col_offset(fragment_sfa)
    one_stage = cute.slice_(sfb_layout, (None, None, None, 0))
    in_tmem = blockscaled_layout.make_tmem_layout_sfb(tiled_mma, TILE, VECTOR, one_stage)
    fragment_sfb = cute.make_tensor(cute.recast_ptr(tmem + column_sfb, dtype=SCALE), in_tmem)

    to_a, from_a = partition(tma_a, staged_a, tiles_a)
    to_b, from_b = partition(tma_b, staged_b, tiles_b)
    to_sfa, from_sfa = map(cute.filter_zeros, partition(tma_sfa, staged_sfa, tiles_sfa))
    to_sfb, from_sfb = map(cute.filter_zeros, partition(tma_sfb, staged_sfb, tiles_sfb))
    spread_sfa, shared_sfa, spread_to_sfa = spreading(staged_sfa, fragment_sfa)
    spread_sfb, shared_sfb, spread_to_sfb = spreading(staged_sfb, fragment_sfb)

    steps = cute.size(tiles_a, mode=[3])
    if warp == LOADS:
        for step in range(steps):
            stage = producer.acquire_and_advance()
            cute.copy(tma_a, from_a[None, step], to_a[None, stage.index], tma_bar_ptr=stage.barrier)
            cute.copy(tma_b, from_b[None, step], to_b[None, stage.index], tma_bar_ptr=stage.barrier)
            cute.copy(tma_sfa, from_sfa[None, step], to_sfa[None, stage.index], tma_bar_ptr=stage.barrier)
            cute.copy(tma_sfb, from_sfb[None, step], to_sfb[None, stage.index], tma_bar_ptr=stage.barrier)
        producer.tail()
    # The first block multiplies for both.
    if warp == MULTIPLIES and rank == 0:
        result = multiplier.acquire_and_advance()
        tiled_mma.set(tcgen05.Field.ACCUMULATE, False)
        for _ in range(steps):
            stage = consumer.wait_and_advance()
            # Copies and products of one thread stay in order.
            cute.copy(spread_sfa, shared_sfa[None, None, None, None, stage.index], spread_to_sfa)
            cute.copy(spread_sfb, shared_sfb[None, None, None, None, stage.index], spread_to_sfb)
            for k in cutlass.range_constexpr(cute.size(fragment_a, mode=[2])):
                cute.gemm(
                    tiled_mma,
                    sums,
                    [fragment_a[None, None, k, stage.index], fragment_sfa[None, None, k]],
                    [fragment_b[None, None, k, stage.index], fragment_sfb[None, None, k]],
                    sums,
                )
                # The very first product overwrites whatever tensor memory held.
                tiled_mma.set(tcgen05.Field.ACCUMULATE, True)
            stage.release()
        result.commit()

    # Each warp reads its 32 lanes of tensor memory: one row of the tile a thread.
    result = storer.wait_and_advance()
    load = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x64, tcgen05.Pack.NONE), cutlass.Float32)
    tiled_load = tcgen05.make_tmem_copy(load, sums)
    load_slice = tiled_load.get_slice(thread)
    target = load_slice.partition_D(tile_c)
    fragment_c = cute.make_rmem_tensor(target.shape, cutlass.Float32)
    cute.copy(tiled_load, load_slice.partition_S(sums), fragment_c)
    cute.arch.fence_view_async_tmem_load()
    result.release()
    cute.autovec_copy(fragment_c, target)
    tensor_memory.relinquish_alloc_permit()
    cute.arch.sync_threads()
    tensor_memory.free(tmem)


def partition(tma, staged, tiles):
    """What TMA copies to and from: (tile, stage) of shared memory, (tile, step) of coordinates."""
    whole = cute.make_layout(1)
    return cpasync.tma_partition(tma, 0, whole, cute.group_modes(staged, 0, 3), cute.group_modes(tiles, 0, 3))


def spreading(staged, fragment):
    """The copy of scales to each warp's lanes of tensor memory, and what it copies from and to."""
    atom = cute.make_copy_atom(tcgen05.Cp4x32x128bOp(PAIR), SCALE)
    compact = cute.filter_zeros(fragment)
    spread = tcgen05.make_s2t_copy(atom, compact)
    part = spread.get_slice(0)
    shared = tcgen05.get_s2t_smem_desc_tensor(spread, part.partition_S(cute.filter_zeros(staged)))
    return spread, shared, part.partition_D(compact)


@cute.jit
def gemm_mxfp4(a: cute.Tensor, b: cute.Tensor, scales_a: cute.Tensor, scales_b: cute.Tensor, c: cute.Tensor):
    """c = (a scaled) @ (b scaled).T for (M, K), (N, K) and (M, N) tensors; 256 divides M and K, 128 divides N.

    Scales come by chunks of 128 rows times 4: scale k of row m is number m % 32 * 16 + m // 32 * 4 + k of its chunk.
    """
    tiled_mma = cute.make_tiled_mma(tcgen05.MmaMXF4Op((*TILE[:2], 64), PAIR, tcgen05.OperandSource.SMEM))
    # As a block that multiplies alone would take the scales of B: all of them.
    single = tcgen05.MmaMXF4Op((TILE[0] // BLOCKS, TILE[1], 64), tcgen05.CtaGroup.ONE, tcgen05.OperandSource.SMEM)
    single_mma = cute.make_tiled_mma(single)
    pair_layout = cute.tiled_divide(cute.make_layout((BLOCKS, 1, 1)), (tiled_mma.thr_id.shape,))
    a_layout = sm100.make_smem_layout_a(tiled_mma, TILE, ELEMENT, STAGES)
    b_layout = sm100.make_smem_layout_b(tiled_mma, TILE, ELEMENT, STAGES)
    sfa_layout = blockscaled_layout.make_smem_layout_sfa(tiled_mma, TILE, VECTOR, STAGES)
    sfb_layout = blockscaled_layout.make_smem_layout_sfb(tiled_mma, TILE, VECTOR, STAGES)
    by_row_a = blockscaled_layout.tile_atom_to_shape_SF((*a.shape, 1), VECTOR)
    by_row_b = blockscaled_layout.tile_atom_to_shape_SF((*b.shape, 1), VECTOR)
    scales_a = cute.make_tensor(scales_a.iterator, cute.select(by_row_a, mode=[0, 1]))
    scales_b = cute.make_tensor(scales_b.iterator, cute.select(by_row_b, mode=[0, 1]))

    load, first = cpasync.CopyBulkTensorTileG2SOp(PAIR), (None, None, None, 0)
    shape, word = pair_layout.shape, {"internal_type": cutlass.Int16}  # TMA moves scales by twos
    gemm_kernel(
        *cute.nvgpu.make_tiled_tma_atom_A(load, a, cute.slice_(a_layout, first), TILE, tiled_mma, shape),
        *cute.nvgpu.make_tiled_tma_atom_B(load, b, cute.slice_(b_layout, first), TILE, tiled_mma, shape),
        *cute.nvgpu.make_tiled_tma_atom_A(
            load, scales_a, cute.slice_(sfa_layout, first), TILE, tiled_mma, shape, **word
        ),
        *cute.nvgpu.make_tiled_tma_atom_B(
            load, scales_b, cute.slice_(sfb_layout, first), TILE, single_mma, shape, **word
        ),
        c,
        tiled_mma,
        single_mma,
        pair_layout,
        a_layout,
        b_layout,
        sfa_layout,
        sfb_layout,
    ).launch(
        grid=[c.shape[0] // TILE[0] * BLOCKS, c.shape[1] // TILE[1], 1],
        block=[THREADS, 1, 1],
        cluster=[BLOCKS, 1, 1],
    )


def reference(a, b, scales_a, scales_b, c):
    """The expected `c`; all but `c` have to convert to f32."""

    def scaled(matrix, scales):
        chunks, across, _ = scales.shape
        by_row = scales.astype("float32").reshape(chunks, across, 32, 4, 4).transpose(0, 3, 2, 1, 4)
        return matrix.astype("float32") * by_row.reshape(chunks * 128, across * 4).repeat(VECTOR, axis=1)

    return scaled(a, scales_a) @ scaled(b, scales_b).T
