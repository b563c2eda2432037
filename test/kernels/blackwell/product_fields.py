"""Sums of two products for Blackwell data-centre GPUs, with signs and rows that are known when the kernel runs.

Exercises the fields of products: factors that count as negative, lanes of tensor memory that stay as they are, and
sums that are replaced or added to; with the narrowest product, of bf16 tiles without a swizzle.
"""

# cutecc: entry = "product_fields"
# cutecc: target = "sm_100a"
# cutecc: args.a = "bf16[?M{div=128}=128, 16] align=16"
# cutecc: args.b = "bf16[?N{div=8}=72, 16] align=16"
# cutecc: args.d = "bf16[?M{div=128}, 16] align=16"
# cutecc: args.e = "bf16[?N{div=8}, 16] align=16"
# cutecc: args.skipped = "u32[4]"
# cutecc: args.signs = "i32[3]"
# cutecc: args.c = "f32[?M, ?N] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: tolerance = 1e-5
# cutecc: bytes = "2 * 32 * (M + N) + 4 * M * N"
# cutecc: flops = "2 * M * N * 32"

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, tcgen05

TILE_M, TILE_N, TILE_K = TILE = 128, 8, 16  # the narrowest product
COLUMNS = 32  # the least there is
THREADS = 128


@cute.kernel
def product_kernel(
    tma_a: cute.CopyAtom,
    a: cute.Tensor,
    tma_b: cute.CopyAtom,
    b: cute.Tensor,
    tma_d: cute.CopyAtom,
    d: cute.Tensor,
    tma_e: cute.CopyAtom,
    e: cute.Tensor,
    skipped: cute.Tensor,
    signs: cute.Tensor,
    c: cute.Tensor,
    tiled_mma: cute.TiledMma,
    m_layout: cute.ComposedLayout,
    n_layout: cute.ComposedLayout,
):
    thread, _, _ = cute.arch.thread_idx()
    block_m, block_n, _ = cute.arch.block_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())

    allocator = cutlass.utils.SmemAllocator()
    loaded, multiplied = (allocator.allocate_array(cutlass.Int64) for _ in range(2))
    tmem_address = allocator.allocate_array(cutlass.Int32)
    staged_a, staged_b, staged_d, staged_e = (
        allocator.allocate_tensor(cutlass.BFloat16, layout.outer, 128, swizzle=layout.inner)
        for layout in (m_layout, n_layout, m_layout, n_layout)
    )
    if warp == 0:
        cute.arch.alloc_tmem(COLUMNS, tmem_address)
        cute.arch.relinquish_tmem_alloc_permit()
    if thread == 0:
        cute.arch.mbarrier_init(loaded, 1)
        cute.arch.mbarrier_init(multiplied, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    tmem = cute.arch.retrieve_tmem_ptr(cutlass.Float32, 16, tmem_address)

    mma_slice = tiled_mma.get_slice(0)
    tile_c = mma_slice.partition_C(cute.local_tile(c, TILE[:2], (block_m, block_n)))
    sums = cute.make_tensor(tmem, tiled_mma.make_fragment_C(tile_c.shape).layout)
    alone = cute.make_layout(1)
    if warp == 0:
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(loaded, 2 * (TILE_M + TILE_N) * TILE_K * 2)
        tile_a, tile_d = (
            mma_slice.partition_A(cute.local_tile(whole, (TILE_M, TILE_K), (block_m, 0))) for whole in (a, d)
        )
        tile_b, tile_e = (
            mma_slice.partition_B(cute.local_tile(whole, (TILE_N, TILE_K), (block_n, 0))) for whole in (b, e)
        )
        for tma, tile, staged in (
            (tma_a, tile_a, staged_a),
            (tma_b, tile_b, staged_b),
            (tma_d, tile_d, staged_d),
            (tma_e, tile_e, staged_e),
        ):
            to, source = cpasync.tma_partition(
                tma, 0, alone, cute.group_modes(staged, 0, 3), cute.group_modes(tile, 0, 3)
            )
            cute.copy(tma, source, to, tma_bar_ptr=loaded)
        cute.arch.mbarrier_wait(loaded, 0)

        tiled_mma.set(tcgen05.Field.NEGATE_A, signs[0] < 0)
        tiled_mma.set(tcgen05.Field.NEGATE_B, signs[1] < 0)
        tiled_mma.set(tcgen05.Field.ACCUMULATE, False)
        multiply(tiled_mma, sums, staged_a, staged_b)
        tiled_mma.set(tcgen05.Field.NEGATE_A, False)
        tiled_mma.set(tcgen05.Field.NEGATE_B, signs[2] < 0)
        tiled_mma.set(tcgen05.Field.ACCUMULATE, True)
        lanes = tuple(cutlass.Int32(skipped[i]) for i in range(4))
        tiled_mma.set(tcgen05.Field.DISABLE_OUTPUT_LANE, lanes)
        multiply(tiled_mma, sums, staged_d, staged_e)
        with cute.arch.elect_one():
            tcgen05.commit(multiplied)

    cute.arch.mbarrier_wait(multiplied, 0)
    load = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x8), cutlass.Float32)
    tiled_load = tcgen05.make_tmem_copy(load, sums)
    load_slice = tiled_load.get_slice(thread)
    target = load_slice.partition_D(tile_c)
    loaded_sums = cute.make_rmem_tensor(target.shape, cutlass.Float32)
    cute.copy(tiled_load, load_slice.partition_S(sums), loaded_sums)
    cute.arch.fence_view_async_tmem_load()
    cute.autovec_copy(loaded_sums, target)

    cute.arch.sync_threads()
    if warp == 0:
        cute.arch.dealloc_tmem(tmem, COLUMNS)


@cute.jit
def multiply(tiled_mma, sums, staged_m, staged_n):
    """One product, with the fields as they are set."""
    m, n = tiled_mma.make_fragment_A(staged_m), tiled_mma.make_fragment_B(staged_n)
    cute.gemm(tiled_mma, sums, m[None, None, 0], n[None, None, 0], sums)


@cute.jit
def product_fields(
    a: cute.Tensor,
    b: cute.Tensor,
    d: cute.Tensor,
    e: cute.Tensor,
    skipped: cute.Tensor,
    signs: cute.Tensor,
    c: cute.Tensor,
):
    """c = ±a @ ±b.T + d @ ±e.T, where the second product counts only for rows whose bit in `skipped` is 0.

    A sign of below 0 stands for minus. `a` and `d` are of (M, 16), `b` and `e` of (N, 16), and `c` is of (M, N); 128
    divides M and 8 divides N. Row m of all tiles has bit m % 32 of word m // 32.
    """
    majors = OperandMajorMode.K, OperandMajorMode.K
    op = tcgen05.MmaF16BF16Op(
        cutlass.BFloat16, cutlass.Float32, TILE, tcgen05.CtaGroup.ONE, tcgen05.OperandSource.SMEM, *majors
    )
    tiled_mma = cute.make_tiled_mma(op)
    atom = tcgen05.make_smem_layout_atom(tcgen05.SmemLayoutAtomKind.K_INTER, cutlass.BFloat16)
    m_layout = tcgen05.tile_to_mma_shape(atom, tiled_mma.partition_shape_A((TILE_M, TILE_K)))
    n_layout = tcgen05.tile_to_mma_shape(atom, tiled_mma.partition_shape_B((TILE_N, TILE_K)))
    load = cpasync.CopyBulkTensorTileG2SOp()
    tma_a, a_tma = cute.nvgpu.make_tiled_tma_atom_A(load, a, m_layout, TILE, tiled_mma)
    tma_b, b_tma = cute.nvgpu.make_tiled_tma_atom_B(load, b, n_layout, TILE, tiled_mma)
    tma_d, d_tma = cute.nvgpu.make_tiled_tma_atom_A(load, d, m_layout, TILE, tiled_mma)
    tma_e, e_tma = cute.nvgpu.make_tiled_tma_atom_B(load, e, n_layout, TILE, tiled_mma)
    product_kernel(
        tma_a, a_tma, tma_b, b_tma, tma_d, d_tma, tma_e, e_tma, skipped, signs, c, tiled_mma, m_layout, n_layout
    ).launch(grid=[c.shape[0] // TILE_M, c.shape[1] // TILE_N, 1], block=[THREADS, 1, 1])


def reference(a, b, d, e, skipped, signs, c):
    """The expected `c`."""
    import numpy as np

    a, b, d, e = (each.astype("float32") for each in (a, b, d, e))
    minus = np.where(signs < 0, -1, 1).astype("float32")
    rows = np.arange(len(a)) % 128
    counts = skipped[rows // 32] >> (rows % 32).astype("uint32") & 1 == 0
    return minus[0] * minus[1] * (a @ b.T) + np.where(counts[:, None], minus[2] * (d @ e.T), 0)
