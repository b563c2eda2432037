"""GEMM on bf16 data for Blackwell data-centre GPUs: clusters of two pairs of blocks, which share the columns of b.

Exercises products of pairs with TMA multicast from pair to pair, and the pipeline classes for that: one of loads, and
one of sums in tensor memory, between warps that multiply in one block and warps that write in two.
"""

# cutecc: entry = "gemm_2cta_multicast"
# cutecc: target = "sm_100a"
# cutecc: args.a = "bf16[?M{div=512}=512, ?K{div=8}=136] align=16"
# cutecc: args.b = "bf16[?N{div=128}=128, ?K{div=8}] align=16"
# cutecc: args.c = "bf16[?M{div=512}, ?N{div=128}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: tolerance = 8e-3
# cutecc: bytes = "2 * (M * K + N * K + M * N)"
# cutecc: flops = "2 * M * N * K"

import cutlass
from cutlass import cute, pipeline
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, tcgen05
from cutlass.utils import sm100

TILE_M, TILE_N, TILE_K = TILE = 256, 64, 64  # of a pair
PAIR, PAIRS = 2, 2
TURNS = 2  # tiles of a pair, in neighbouring columns
STAGES = 2
COLUMNS = 64  # of tensor memory, in both blocks: each keeps its own rows of the tile
WRITERS = 4  # the first warps
MULTIPLIER, LOADER = WRITERS, WRITERS + 1
THREADS = 32 * (WRITERS + 2)


@cute.kernel
def gemm_kernel(
    tma_a: cute.CopyAtom,
    a: cute.Tensor,
    tma_b: cute.CopyAtom,
    b: cute.Tensor,
    c: cute.Tensor,
    tiled_mma: cute.TiledMma,
    a_layout: cute.ComposedLayout,
    b_layout: cute.ComposedLayout,
):
    thread, _, _ = cute.arch.thread_idx()
    block_m, columns, _ = cute.arch.block_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    rank = cute.arch.make_warp_uniform(cute.arch.block_idx_in_cluster())
    rank_in_pair, pair = rank % PAIR, rank // PAIR
    pair_m = block_m // PAIR

    # A stage is empty when both pairs have multiplied, for b arrives in both. Sums are taken when the writers of both
    # blocks of a pair have them.
    cluster = cute.make_layout((PAIR, PAIRS, 1, 1))
    thread_group = pipeline.Agent.Thread
    allocator = cutlass.utils.SmemAllocator()
    loads = pipeline.PipelineTmaUmma.create(
        num_stages=STAGES,
        producer_group=pipeline.CooperativeGroup(thread_group),
        consumer_group=pipeline.CooperativeGroup(thread_group, PAIRS),
        tx_count=(TILE_M + TILE_N) * TILE_K * 2,
        barrier_storage=allocator.allocate_array(cutlass.Int64, 2 * STAGES),
        cta_layout_vmnk=cluster,
        mcast_mode_mn=(0, 1),
        defer_sync=True,
    )
    results = pipeline.PipelineUmmaAsync.create(
        num_stages=1,
        producer_group=pipeline.CooperativeGroup(thread_group),
        consumer_group=pipeline.CooperativeGroup(thread_group, PAIR * WRITERS * 32),
        barrier_storage=allocator.allocate_array(cutlass.Int64, 2),
        cta_layout_vmnk=cluster,
        defer_sync=True,
    )
    tmem_address = allocator.allocate_array(cutlass.Int32)
    staged_a = allocator.allocate_tensor(cutlass.BFloat16, a_layout.outer, 1024, swizzle=a_layout.inner)
    staged_b = allocator.allocate_tensor(cutlass.BFloat16, b_layout.outer, 1024, swizzle=b_layout.inner)
    pipeline.pipeline_init_arrive(cluster)
    pipeline.pipeline_init_wait(cluster)
    if warp == 0:
        cute.arch.alloc_tmem(COLUMNS, tmem_address, is_two_cta=True)
        cute.arch.relinquish_tmem_alloc_permit(is_two_cta=True)
    cute.arch.sync_threads()
    tmem = cute.arch.retrieve_tmem_ptr(cutlass.Float32, 16, tmem_address)

    # What this block has of the pair's tiles.
    mma_slice = tiled_mma.get_slice(rank_in_pair)
    tiles_a = mma_slice.partition_A(cute.local_tile(a, (TILE_M, TILE_K), (pair_m, None)))
    tiles_b = mma_slice.partition_B(cute.local_tile(b, (TILE_N, TILE_K), (None, None)))
    tiles_c = mma_slice.partition_C(cute.local_tile(c, (TILE_M, TILE_N), (pair_m, None)))
    sums = cute.make_tensor(tmem, tiled_mma.make_fragment_C(tiled_mma.partition_shape_C(TILE[:2])).layout)
    steps = cute.size(tiles_a, mode=[3])

    if warp == LOADER:
        # Of b a block loads its pair's share of what both pairs need.
        to_a, from_a = cpasync.tma_partition(
            tma_a, 0, cute.make_layout(1), cute.group_modes(staged_a, 0, 3), cute.group_modes(tiles_a, 0, 3)
        )
        to_b, from_b = cpasync.tma_partition(
            tma_b, pair, cute.make_layout(PAIRS), cute.group_modes(staged_b, 0, 3), cute.group_modes(tiles_b, 0, 3)
        )
        sharing = cpasync.create_tma_multicast_mask(cluster, (rank_in_pair, pair, 0, 0), mcast_mode=1)
        filled = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, STAGES)
        for turn in range(TURNS):
            tile_n = columns * TURNS + turn
            for step in range(steps):
                loads.producer_acquire(filled)
                full = loads.producer_get_barrier(filled)
                cute.copy(tma_a, from_a[None, step], to_a[None, filled.index], tma_bar_ptr=full)
                source_b, target_b = from_b[None, tile_n, step], to_b[None, filled.index]
                cute.copy(tma_b, source_b, target_b, tma_bar_ptr=full, mcast_mask=sharing)
                filled.advance()
        loads.producer_tail(filled)
    if warp == MULTIPLIER and rank_in_pair == 0:
        fragment_a, fragment_b = tiled_mma.make_fragment_A(staged_a), tiled_mma.make_fragment_B(staged_b)
        read = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, STAGES)
        made = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, 1)
        for _ in range(TURNS):
            results.producer_acquire(made)
            for step in range(steps):
                loads.consumer_wait(read)
                for k in cutlass.range_constexpr(cute.size(fragment_a, mode=[2])):
                    tiled_mma.set(tcgen05.Field.ACCUMULATE, step > 0 if k == 0 else True)
                    slice_a, slice_b = fragment_a[None, None, k, read.index], fragment_b[None, None, k, read.index]
                    cute.gemm(tiled_mma, sums, slice_a, slice_b, sums)
                loads.consumer_release(read)
                read.advance()
            results.producer_commit(made)
            made.advance()
        results.producer_tail(made)
    if warp < WRITERS:
        load = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x64), cutlass.Float32)
        tiled_load = tcgen05.make_tmem_copy(load, sums)
        load_slice = tiled_load.get_slice(thread)
        taken = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, 1)
        for turn in range(TURNS):
            target = load_slice.partition_D(tiles_c[None, None, None, columns * TURNS + turn])
            loaded = cute.make_rmem_tensor(target.shape, cutlass.Float32)
            results.consumer_wait(taken)
            cute.copy(tiled_load, load_slice.partition_S(sums), loaded)
            cute.arch.fence_view_async_tmem_load()
            results.consumer_release(taken)
            taken.advance()
            rounded = cute.make_rmem_tensor(target.shape, cutlass.BFloat16)
            rounded.store(loaded.load().to(cutlass.BFloat16))
            cute.autovec_copy(rounded, target)

    # Both have read, and nothing arrives any more.
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    if warp == 0:
        cute.arch.dealloc_tmem(tmem, COLUMNS, is_two_cta=True)


@cute.jit
def gemm_2cta_multicast(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """c = a @ b.T for (M, K), (N, K) and (M, N) tensors; 512 divides M and 128 divides N."""
    group = tcgen05.CtaGroup.TWO
    op = tcgen05.MmaF16BF16Op(
        cutlass.BFloat16,
        cutlass.Float32,
        (TILE_M, TILE_N, 16),
        group,
        tcgen05.OperandSource.SMEM,
        OperandMajorMode.K,
        OperandMajorMode.K,
    )
    tiled_mma = cute.make_tiled_mma(op)
    a_layout = sm100.make_smem_layout_a(tiled_mma, TILE, cutlass.BFloat16, STAGES)
    b_layout = sm100.make_smem_layout_b(tiled_mma, TILE, cutlass.BFloat16, STAGES)
    load, multicast = cpasync.CopyBulkTensorTileG2SOp(group), cpasync.CopyBulkTensorTileG2SMulticastOp(group)
    tma_a, a_tma = cute.nvgpu.make_tiled_tma_atom_A(load, a, a_layout, TILE, tiled_mma)
    tma_b, b_tma = cute.nvgpu.make_tiled_tma_atom_B(multicast, b, b_layout, TILE, tiled_mma, (PAIR, PAIRS, 1, 1))
    gemm_kernel(tma_a, a_tma, tma_b, b_tma, c, tiled_mma, a_layout, b_layout).launch(
        grid=[c.shape[0] // TILE_M * PAIR, c.shape[1] // (TILE_N * TURNS), 1],
        block=[THREADS, 1, 1],
        cluster=[PAIR * PAIRS, 1, 1],
    )


def reference(a, b, c):
    """The expected `c`."""
    return (a.astype("float32") @ b.astype("float32").T).astype(a.dtype)
