"""GEMM of chosen rows for Blackwell data-centre GPUs: TMA gathers them, four at a time, from anywhere in a matrix.

Exercises tensor copies whose rows come from a tensor of indices, into a swizzled stage that products read.
"""

# cutecc: entry = "gather4_gemm"
# cutecc: target = "sm_100a"
# cutecc: args.a = "f16[?R=150, ?K{div=8}=136] align=16"
# cutecc: args.rows = "i32[?M{div=128}=256]"
# cutecc: args.b = "f16[?N{div=64}=64, ?K{div=8}] align=16"
# cutecc: args.c = "f32[?M{div=128}, ?N{div=64}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: tolerance = 1e-4
# cutecc: bytes = "2 * (M * K + N * K) + 4 * M * N + 4 * M"
# cutecc: flops = "2 * M * N * K"

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, tcgen05
from cutlass.utils import sm100

TILE_M, TILE_N, TILE_K = TILE = 128, 64, 64
THREADS = 128


@cute.kernel
def gemm_kernel(
    tma_a: cute.CopyAtom,
    a: cute.Tensor,
    rows: cute.Tensor,
    tma_b: cute.CopyAtom,
    b: cute.Tensor,
    c: cute.Tensor,
    tiled_mma: cute.TiledMma,
    a_layout: cute.ComposedLayout,
    gathered_layout: cute.ComposedLayout,
    b_layout: cute.ComposedLayout,
):
    thread, _, _ = cute.arch.thread_idx()
    block_m, block_n, _ = cute.arch.block_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())

    allocator = cutlass.utils.SmemAllocator()
    loaded, multiplied = (allocator.allocate_array(cutlass.Int64) for _ in range(2))
    tmem_address = allocator.allocate_array(cutlass.Int32)
    staged_a = allocator.allocate_tensor(cutlass.Float16, a_layout.outer, 1024, swizzle=a_layout.inner)
    staged_b = allocator.allocate_tensor(cutlass.Float16, b_layout.outer, 1024, swizzle=b_layout.inner)
    if warp == 0:
        cute.arch.alloc_tmem(TILE_N, tmem_address)
        cute.arch.relinquish_tmem_alloc_permit()
    if thread == 0:
        cute.arch.mbarrier_init(loaded, 1)
        cute.arch.mbarrier_init(multiplied, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    tmem = cute.arch.retrieve_tmem_ptr(cutlass.Float32, 16, tmem_address)

    mma_slice = tiled_mma.get_slice(0)
    tiles_b = mma_slice.partition_B(cute.local_tile(b, (TILE_N, TILE_K), (block_n, None)))
    tile_c = mma_slice.partition_C(cute.local_tile(c, TILE[:2], (block_m, block_n)))
    fragment_a, fragment_b = tiled_mma.make_fragment_A(staged_a), tiled_mma.make_fragment_B(staged_b)
    sums = cute.make_tensor(tmem, tiled_mma.make_fragment_C(tile_c.shape).layout)
    # The stage as rows and columns: the same elements at the same places. A row of `rows` has one index in all columns.
    gathered = cute.make_tensor(staged_a.iterator, gathered_layout.outer)
    tiles_a, tiles_of_rows = (cute.local_tile(each, (TILE_M, TILE_K), (block_m, None)) for each in (a, rows))
    alone = cute.make_layout(1)
    to_a, from_a, from_rows = cpasync.tma_partition(
        tma_a,
        0,
        alone,
        cute.group_modes(gathered, 0, 2),
        [cute.group_modes(tiles_a, 0, 2), cute.group_modes(tiles_of_rows, 0, 2)],
    )
    to_b, from_b = cpasync.tma_partition(
        tma_b, 0, alone, cute.group_modes(staged_b, 0, 3), cute.group_modes(tiles_b, 0, 3)
    )

    phase = cutlass.Int32(0)
    for step in range(cute.size(tiles_b, mode=[3])):
        if warp == 0:
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(loaded, (TILE_M + TILE_N) * TILE_K * 2)
            cute.copy(tma_a, [from_a[None, step], from_rows[None, step]], to_a, tma_bar_ptr=loaded)
            cute.copy(tma_b, from_b[None, step], to_b[None, 0], tma_bar_ptr=loaded)
            cute.arch.mbarrier_wait(loaded, phase)
            for k in cutlass.range_constexpr(cute.size(fragment_a, mode=[2])):
                tiled_mma.set(tcgen05.Field.ACCUMULATE, step > 0 if k == 0 else True)
                cute.gemm(tiled_mma, sums, fragment_a[None, None, k, 0], fragment_b[None, None, k, 0], sums)
            with cute.arch.elect_one():
                tcgen05.commit(multiplied)
        cute.arch.mbarrier_wait(multiplied, phase)
        # A warp that came late could miss two steps, and wait for ever.
        cute.arch.sync_threads()
        phase ^= 1

    load = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x64), cutlass.Float32)
    tiled_load = tcgen05.make_tmem_copy(load, sums)
    load_slice = tiled_load.get_slice(thread)
    target = load_slice.partition_D(tile_c)
    loaded_sums = cute.make_rmem_tensor(target.shape, cutlass.Float32)
    cute.copy(tiled_load, load_slice.partition_S(sums), loaded_sums)
    cute.arch.fence_view_async_tmem_load()
    cute.autovec_copy(loaded_sums, target)

    cute.arch.sync_threads()
    if warp == 0:
        cute.arch.dealloc_tmem(tmem, TILE_N)


@cute.jit
def gather4_gemm(a: cute.Tensor, rows: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """c = a[rows] @ b.T for (R, K), (M), (N, K) and (M, N) tensors; 128 divides M and 64 divides N."""
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
    a_layout = sm100.make_smem_layout_a(tiled_mma, TILE, cutlass.Float16, 1)
    b_layout = sm100.make_smem_layout_b(tiled_mma, TILE, cutlass.Float16, 1)
    atom = tcgen05.make_smem_layout_atom(tcgen05.SmemLayoutAtomKind.K_SW128, cutlass.Float16)
    gathered_layout = cute.tile_to_shape(atom, (TILE_M, TILE_K), order=(0, 1))
    # Indices as a matrix that is as wide as a.
    wide_rows = cute.make_tensor(rows.iterator, cute.make_layout((rows.shape[0], a.shape[1]), stride=(1, 0)))
    gather, load = cpasync.CopyBulkTensor2DGather4G2SOp(), cpasync.CopyBulkTensorTileG2SOp()
    tma_a, a_tma = cpasync.make_tiled_tma_atom(
        gather, a, gathered_layout, (TILE_M, TILE_K), gmem_coord_tensor=wide_rows
    )
    tma_b, b_tma = cute.nvgpu.make_tiled_tma_atom_B(load, b, b_layout, TILE, tiled_mma)
    gemm_kernel(tma_a, a_tma, wide_rows, tma_b, b_tma, c, tiled_mma, a_layout, gathered_layout, b_layout).launch(
        grid=[c.shape[0] // TILE_M, c.shape[1] // TILE_N, 1], block=[THREADS, 1, 1]
    )


def reference(a, rows, b, c):
    """The expected `c`; rows that there are not count as zeros."""
    import numpy as np

    there = (rows >= 0) & (rows < len(a))
    chosen = np.where(there[:, None], a.astype("float32")[np.where(there, rows, 0)], 0)
    return chosen @ b.astype("float32").T
