"""GEMM for Blackwell data-centre GPUs: clusters of four blocks, each of which loads for those in its row and column.

Exercises TMA multicast along both sides of a cluster, half of a tile from each block, and the pipeline class whose
commits arrive in all blocks that load what a product has read.
"""

# cutecc: entry = "gemm_multicast"
# cutecc: target = "sm_100a"
# cutecc: args.a = "f16[?M{div=256}=256, ?K{div=8}=200] align=16"
# cutecc: args.b = "f16[?N{div=128}=128, ?K{div=8}] align=16"
# cutecc: args.c = "f32[?M{div=256}, ?N{div=128}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: tolerance = 1e-4
# cutecc: bytes = "2 * (M * K + N * K) + 4 * M * N"
# cutecc: flops = "2 * M * N * K"

import cutlass
from cutlass import cute, pipeline
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, tcgen05
from cutlass.utils import sm100

TILE_M, TILE_N, TILE_K = TILE = 128, 64, 64
CLUSTER_M, CLUSTER_N = CLUSTER = 2, 2
STAGES = 2
THREADS = 128


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
    block_m, block_n, _ = cute.arch.block_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    rank = cute.arch.make_warp_uniform(cute.arch.block_idx_in_cluster())
    rank_m, rank_n = rank % CLUSTER_M, rank // CLUSTER_M

    # A stage is empty when every block that it is shared with has multiplied: the row, the column, and one is in both.
    cluster = cute.make_layout((1, *CLUSTER, 1))
    allocator = cutlass.utils.SmemAllocator()
    loads = pipeline.PipelineTmaUmma.create(
        num_stages=STAGES,
        producer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread),
        consumer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, CLUSTER_M + CLUSTER_N - 1),
        tx_count=(TILE_M + TILE_N) * TILE_K * 2,
        barrier_storage=allocator.allocate_array(cutlass.Int64, 2 * STAGES),
        cta_layout_vmnk=cluster,
        defer_sync=True,
    )
    multiplied = allocator.allocate_array(cutlass.Int64)
    tmem_address = allocator.allocate_array(cutlass.Int32)
    staged_a = allocator.allocate_tensor(cutlass.Float16, a_layout.outer, 1024, swizzle=a_layout.inner)
    staged_b = allocator.allocate_tensor(cutlass.Float16, b_layout.outer, 1024, swizzle=b_layout.inner)
    if thread == 0:
        cute.arch.mbarrier_init(multiplied, 1)
    if warp == 0:
        cute.arch.alloc_tmem(TILE_N, tmem_address)
        cute.arch.relinquish_tmem_alloc_permit()
    pipeline.pipeline_init_arrive(cluster)
    pipeline.pipeline_init_wait(cluster)
    cute.arch.sync_threads()
    tmem = cute.arch.retrieve_tmem_ptr(cutlass.Float32, 16, tmem_address)

    mma_slice = tiled_mma.get_slice(0)
    tiles_a = mma_slice.partition_A(cute.local_tile(a, (TILE_M, TILE_K), (block_m, None)))
    tiles_b = mma_slice.partition_B(cute.local_tile(b, (TILE_N, TILE_K), (block_n, None)))
    tile_c = mma_slice.partition_C(cute.local_tile(c, TILE[:2], (block_m, block_n)))
    fragment_a, fragment_b = tiled_mma.make_fragment_A(staged_a), tiled_mma.make_fragment_B(staged_b)
    sums = cute.make_tensor(tmem, tiled_mma.make_fragment_C(tile_c.shape).layout)
    steps = cute.size(tiles_a, mode=[3])

    if warp == 0:
        # Of a this block loads a share for its row of the cluster, of b one for its column.
        across, down = cute.make_layout(CLUSTER_N), cute.make_layout(CLUSTER_M)
        to_a, from_a = cpasync.tma_partition(
            tma_a, rank_n, across, cute.group_modes(staged_a, 0, 3), cute.group_modes(tiles_a, 0, 3)
        )
        to_b, from_b = cpasync.tma_partition(
            tma_b, rank_m, down, cute.group_modes(staged_b, 0, 3), cute.group_modes(tiles_b, 0, 3)
        )
        place = (0, rank_m, rank_n, 0)
        row = cpasync.create_tma_multicast_mask(cluster, place, mcast_mode=2)
        column = cpasync.create_tma_multicast_mask(cluster, place, mcast_mode=1)
        filled = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, STAGES)
        for step in range(steps):
            loads.producer_acquire(filled)
            full = loads.producer_get_barrier(filled)
            cute.copy(tma_a, from_a[None, step], to_a[None, filled.index], tma_bar_ptr=full, mcast_mask=row)
            cute.copy(tma_b, from_b[None, step], to_b[None, filled.index], tma_bar_ptr=full, mcast_mask=column)
            filled.advance()
        # Stay until the others' last commits are in.
        loads.producer_tail(filled)
    if warp == 1:
        read = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, STAGES)
        for step in range(steps):
            loads.consumer_wait(read)
            for k in cutlass.range_constexpr(cute.size(fragment_a, mode=[2])):
                tiled_mma.set(tcgen05.Field.ACCUMULATE, step > 0 if k == 0 else True)
                slice_a, slice_b = fragment_a[None, None, k, read.index], fragment_b[None, None, k, read.index]
                cute.gemm(tiled_mma, sums, slice_a, slice_b, sums)
            loads.consumer_release(read)
            read.advance()
        with cute.arch.elect_one():
            tcgen05.commit(multiplied)

    cute.arch.mbarrier_wait(multiplied, 0)
    load = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x64), cutlass.Float32)
    tiled_load = tcgen05.make_tmem_copy(load, sums)
    load_slice = tiled_load.get_slice(thread)
    target = load_slice.partition_D(tile_c)
    loaded = cute.make_rmem_tensor(target.shape, cutlass.Float32)
    cute.copy(tiled_load, load_slice.partition_S(sums), loaded)
    cute.arch.fence_view_async_tmem_load()
    cute.autovec_copy(loaded, target)

    cute.arch.sync_threads()
    if warp == 0:
        cute.arch.dealloc_tmem(tmem, TILE_N)


@cute.jit
def gemm_multicast(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """c = a @ b.T for (M, K), (N, K) and (M, N) tensors; 256 divides M and 128 divides N."""
    op = tcgen05.MmaF16BF16Op(
        cutlass.Float16,
        cutlass.Float32,
        (TILE_M, TILE_N, 16),
        tcgen05.CtaGroup.ONE,
        tcgen05.OperandSource.SMEM,
        OperandMajorMode.K,
        OperandMajorMode.K,
    )
    tiled_mma = cute.make_tiled_mma(op)
    a_layout = sm100.make_smem_layout_a(tiled_mma, TILE, cutlass.Float16, STAGES)
    b_layout = sm100.make_smem_layout_b(tiled_mma, TILE, cutlass.Float16, STAGES)
    load = cpasync.CopyBulkTensorTileG2SMulticastOp(tcgen05.CtaGroup.ONE)
    cluster = (1, *CLUSTER, 1)
    tma_a, a_tma = cute.nvgpu.make_tiled_tma_atom_A(load, a, a_layout, TILE, tiled_mma, cluster)
    tma_b, b_tma = cute.nvgpu.make_tiled_tma_atom_B(load, b, b_layout, TILE, tiled_mma, cluster)
    gemm_kernel(tma_a, a_tma, tma_b, b_tma, c, tiled_mma, a_layout, b_layout).launch(
        grid=[c.shape[0] // TILE_M, c.shape[1] // TILE_N, 1], block=[THREADS, 1, 1], cluster=[*CLUSTER, 1]
    )


def reference(a, b, c):
    """The expected `c`."""
    return a.astype("float32") @ b.astype("float32").T
