"""GEMM on bf16 data for Blackwell data-centre GPUs: two blocks, on neighbouring multiprocessors, multiply as one.

Exercises products of pairs of blocks, each of which has half of the rows of both factors; TMA that reports to the first
block of a pair; tensor memory allocated by both; and commits that arrive in both.
"""

# cutecc: entry = "gemm_2cta"
# cutecc: target = "sm_100a"
# cutecc: args.a = "bf16[?M{div=256}=256, ?K{div=8}=136] align=16"
# cutecc: args.b = "bf16[?N{div=64}=128, ?K{div=8}] align=16"
# cutecc: args.c = "bf16[?M{div=256}, ?N{div=64}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: tolerance = 8e-3
# cutecc: bytes = "2 * (M * K + N * K + M * N)"
# cutecc: flops = "2 * M * N * K"

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, tcgen05
from cutlass.utils import sm100

TILE_M, TILE_N, TILE_K = TILE = 256, 64, 64  # of a pair
PAIR = 2
STAGES = 2
COLUMNS = 64  # of tensor memory, in both blocks: each keeps its own rows of the tile
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
    rank, pair_m, tile_n = cute.arch.block_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())

    allocator = cutlass.utils.SmemAllocator()
    full = allocator.allocate_array(cutlass.Int64, STAGES)
    empty = allocator.allocate_array(cutlass.Int64, STAGES)
    multiplied = allocator.allocate_array(cutlass.Int64)
    tmem_address = allocator.allocate_array(cutlass.Int32)
    staged_a = allocator.allocate_tensor(cutlass.BFloat16, a_layout.outer, 1024, swizzle=a_layout.inner)
    staged_b = allocator.allocate_tensor(cutlass.BFloat16, b_layout.outer, 1024, swizzle=b_layout.inner)
    if thread == 0:
        for stage in cutlass.range_constexpr(STAGES):
            cute.arch.mbarrier_init(full + stage, 1)
            cute.arch.mbarrier_init(empty + stage, 1)
        cute.arch.mbarrier_init(multiplied, 1)
        cute.arch.mbarrier_init_fence()
    # The peer has to run before both allocate, and its barriers have to be there before anything arrives at them.
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    if warp == 0:
        cute.arch.alloc_tmem(COLUMNS, tmem_address, is_two_cta=True)
        cute.arch.relinquish_tmem_alloc_permit(is_two_cta=True)
    cute.arch.sync_threads()
    tmem = cute.arch.retrieve_tmem_ptr(cutlass.Float32, 16, tmem_address)

    # What this block has of the pair's tiles.
    mma_slice = tiled_mma.get_slice(rank)
    tiles_a = mma_slice.partition_A(cute.local_tile(a, (TILE_M, TILE_K), (pair_m, None)))
    tiles_b = mma_slice.partition_B(cute.local_tile(b, (TILE_N, TILE_K), (tile_n, None)))
    tile_c = mma_slice.partition_C(cute.local_tile(c, (TILE_M, TILE_N), (pair_m, tile_n)))
    fragment_a, fragment_b = tiled_mma.make_fragment_A(staged_a), tiled_mma.make_fragment_B(staged_b)
    sums = cute.make_tensor(tmem, tiled_mma.make_fragment_C(tile_c.shape).layout)
    alone = cute.make_layout(1)
    to_a, from_a = cpasync.tma_partition(
        tma_a, 0, alone, cute.group_modes(staged_a, 0, 3), cute.group_modes(tiles_a, 0, 3)
    )
    to_b, from_b = cpasync.tma_partition(
        tma_b, 0, alone, cute.group_modes(staged_b, 0, 3), cute.group_modes(tiles_b, 0, 3)
    )
    steps = cute.size(tiles_a, mode=[3])

    if warp == 0:
        # Both blocks load. The bytes count at the first one's barrier.
        for step in range(steps):
            stage, phase = step % STAGES, step // STAGES % 2
            cute.arch.mbarrier_wait(empty + stage, phase ^ 1)
            if rank == 0:
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive_and_expect_tx(full + stage, (TILE_M + TILE_N) * TILE_K * 2)
            cute.copy(tma_a, from_a[None, step], to_a[None, stage], tma_bar_ptr=full + stage)
            cute.copy(tma_b, from_b[None, step], to_b[None, stage], tma_bar_ptr=full + stage)
    if warp == 1 and rank == 0:
        # The first block multiplies for both, and tells both.
        both = cutlass.Int16((1 << PAIR) - 1)
        for step in range(steps):
            stage, phase = step % STAGES, step // STAGES % 2
            cute.arch.mbarrier_wait(full + stage, phase)
            for k in cutlass.range_constexpr(cute.size(fragment_a, mode=[2])):
                tiled_mma.set(tcgen05.Field.ACCUMULATE, step > 0 if k == 0 else True)
                cute.gemm(tiled_mma, sums, fragment_a[None, None, k, stage], fragment_b[None, None, k, stage], sums)
            with cute.arch.elect_one():
                tcgen05.commit(empty + stage, both, tcgen05.CtaGroup.TWO)
        with cute.arch.elect_one():
            tcgen05.commit(multiplied, both, tcgen05.CtaGroup.TWO)

    cute.arch.mbarrier_wait(multiplied, 0)
    load = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x64), cutlass.Float32)
    tiled_load = tcgen05.make_tmem_copy(load, sums)
    load_slice = tiled_load.get_slice(thread)
    target = load_slice.partition_D(tile_c)
    loaded = cute.make_rmem_tensor(target.shape, cutlass.Float32)
    cute.copy(tiled_load, load_slice.partition_S(sums), loaded)
    cute.arch.fence_view_async_tmem_load()
    rounded = cute.make_rmem_tensor(target.shape, cutlass.BFloat16)
    rounded.store(loaded.load().to(cutlass.BFloat16))
    cute.autovec_copy(rounded, target)

    # Both have read, and nothing arrives any more.
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    if warp == 0:
        cute.arch.dealloc_tmem(tmem, COLUMNS, is_two_cta=True)


@cute.jit
def gemm_2cta(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """c = a @ b.T for (M, K), (N, K) and (M, N) tensors; 256 divides M and 64 divides N."""
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
    load = cpasync.CopyBulkTensorTileG2SOp(group)
    tma_a, a_tma = cute.nvgpu.make_tiled_tma_atom_A(load, a, a_layout, TILE, tiled_mma)
    tma_b, b_tma = cute.nvgpu.make_tiled_tma_atom_B(load, b, b_layout, TILE, tiled_mma)
    gemm_kernel(tma_a, a_tma, tma_b, b_tma, c, tiled_mma, a_layout, b_layout).launch(
        grid=[PAIR, c.shape[0] // TILE_M, c.shape[1] // TILE_N], block=[THREADS, 1, 1], cluster=[PAIR, 1, 1]
    )


def reference(a, b, c):
    """The expected `c`."""
    return (a.astype("float32") @ b.astype("float32").T).astype(a.dtype)
