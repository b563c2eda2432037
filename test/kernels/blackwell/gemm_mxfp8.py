"""GEMM on 8-bit floats with a power of two for every 32 along K (MXFP8), for Blackwell data-centre GPUs.

Exercises block-scaled `tcgen05.mma`, whose scales TMA brings to shared memory and `tcgen05.cp` from there to tensor
memory, and `cute.gemm` that is given them beside the factors.
"""

# cutecc: entry = "gemm_mxfp8"
# cutecc: target = "sm_100a"
# cutecc: args.a = "f8E4M3FN[?M{div=128}=128, ?K{div=128}=256] align=16"
# cutecc: args.b = "f8E4M3FN[?N{div=128}=128, ?K{div=128}] align=16"
# cutecc: args.scales_a = "f8E8M0FNU[?ChunksM=1, ?ChunksK=2, 512] align=16"
# cutecc: args.scales_b = "f8E8M0FNU[?ChunksN=1, ?ChunksK, 512] align=16"
# cutecc: args.c = "f32[?M, ?N{div=128}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: tolerance = 1e-4
# cutecc: bytes = "(M + N) * K * 33 / 32 + 4 * M * N"
# cutecc: flops = "2 * M * N * K"

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, tcgen05
from cutlass.utils import blockscaled_layout, sm100

ELEMENT, SCALE = cutlass.Float8E4M3FN, cutlass.Float8E8M0FNU
TILE = (128, 128, 128)  # along M, N and K
VECTOR = 32  # elements that share a scale
COLUMNS = 256  # of tensor memory: those of the sums, and some for the scales
THREADS = 128


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
    a_layout: cute.ComposedLayout,
    b_layout: cute.ComposedLayout,
    sfa_layout: cute.Layout,
    sfb_layout: cute.Layout,
):
    thread, _, _ = cute.arch.thread_idx()
    block_m, block_n, _ = cute.arch.block_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())

    allocator = cutlass.utils.SmemAllocator()
    barriers = allocator.allocate_array(cutlass.Int64, 2)
    loaded, multiplied = barriers, barriers + 1
    tmem_address = allocator.allocate_array(cutlass.Int32, 1)
    staged_a = allocator.allocate_tensor(ELEMENT, a_layout.outer, byte_alignment=1024, swizzle=a_layout.inner)
    staged_b = allocator.allocate_tensor(ELEMENT, b_layout.outer, byte_alignment=1024, swizzle=b_layout.inner)
    staged_sfa = allocator.allocate_tensor(SCALE, sfa_layout, byte_alignment=128)
    staged_sfb = allocator.allocate_tensor(SCALE, sfb_layout, byte_alignment=128)

    if warp == 0:
        cute.arch.alloc_tmem(COLUMNS, tmem_address)
        cute.arch.relinquish_tmem_alloc_permit()
    if thread == 0:
        cute.arch.mbarrier_init(loaded, 1)
        cute.arch.mbarrier_init(multiplied, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    tmem = cute.arch.retrieve_tmem_ptr(cutlass.Float32, 16, tmem_address)

    # Operands as the MMA sees them, ((atom), m or n, k[, step]); behind the sums, tensor memory holds the scales.
    mma_slice = tiled_mma.get_slice(0)
    tiles_a = mma_slice.partition_A(cute.local_tile(a, (TILE[0], TILE[2]), (block_m, None)))
    tiles_b = mma_slice.partition_B(cute.local_tile(b, (TILE[1], TILE[2]), (block_n, None)))
    tiles_sfa = mma_slice.partition_A(cute.local_tile(scales_a, (TILE[0], TILE[2]), (block_m, None)))
    tiles_sfb = mma_slice.partition_B(cute.local_tile(scales_b, (TILE[1], TILE[2]), (block_n, None)))
    tile_c = mma_slice.partition_C(cute.local_tile(c, (TILE[0], TILE[1]), (block_m, block_n)))
    fragment_a = tiled_mma.make_fragment_A(staged_a)
    fragment_b = tiled_mma.make_fragment_B(staged_b)
    sums_layout = tiled_mma.make_fragment_C(tiled_mma.partition_shape_C((TILE[0], TILE[1]))).layout
    sums = cute.make_tensor(tmem, sums_layout)
    column_sfa = tcgen05.find_tmem_tensor_col_offset(sums)
    stage = cute.slice_(sfa_layout, (None, None, None, 0))
    in_tmem = blockscaled_layout.make_tmem_layout_sfa(tiled_mma, TILE, VECTOR, stage)
    fragment_sfa = cute.make_tensor(cute.recast_ptr(tmem + column_sfa, dtype=SCALE), in_tmem)
    column_sfb = column_sfa + tcgen05.find_tmem_tensor_col_offset(fragment_sfa)
    stage = cute.slice_(sfb_layout, (None, None, None, 0))
    in_tmem = blockscaled_layout.make_tmem_layout_sfb(tiled_mma, TILE, VECTOR, stage)
    fragment_sfb = cute.make_tensor(cute.recast_ptr(tmem + column_sfb, dtype=SCALE), in_tmem)

    to_a, from_a = partition(tma_a, staged_a, tiles_a)
    to_b, from_b = partition(tma_b, staged_b, tiles_b)
    to_sfa, from_sfa = map(cute.filter_zeros, partition(tma_sfa, staged_sfa, tiles_sfa))
    to_sfb, from_sfb = map(cute.filter_zeros, partition(tma_sfb, staged_sfb, tiles_sfb))
    spread_sfa, shared_sfa, spread_to_sfa = spreading(staged_sfa, fragment_sfa)
    spread_sfb, shared_sfb, spread_to_sfb = spreading(staged_sfb, fragment_sfb)
    stage_bytes = (TILE[0] + TILE[1]) * TILE[2] * (VECTOR + 1) // VECTOR

    # One stage: load, multiply, and wait for both before the next step.
    phase = cutlass.Int32(0)
    for step in range(cute.size(tiles_a, mode=[3])):
        if warp == 0:
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(loaded, stage_bytes)
            cute.copy(tma_a, from_a[None, step], to_a[None, 0], tma_bar_ptr=loaded)
            cute.copy(tma_b, from_b[None, step], to_b[None, 0], tma_bar_ptr=loaded)
            cute.copy(tma_sfa, from_sfa[None, step], to_sfa[None, 0], tma_bar_ptr=loaded)
            cute.copy(tma_sfb, from_sfb[None, step], to_sfb[None, 0], tma_bar_ptr=loaded)
            cute.arch.mbarrier_wait(loaded, phase)
            # Copies and products of one thread stay in order.
            cute.copy(spread_sfa, shared_sfa[None, None, None, None, 0], spread_to_sfa)
            cute.copy(spread_sfb, shared_sfb[None, None, None, None, 0], spread_to_sfb)
            for k in cutlass.range_constexpr(cute.size(fragment_a, mode=[2])):
                # The very first product overwrites whatever tensor memory held.
                tiled_mma.set(tcgen05.Field.ACCUMULATE, step > 0 if k == 0 else True)
                cute.gemm(
                    tiled_mma,
                    sums,
                    [fragment_a[None, None, k, 0], fragment_sfa[None, None, k]],
                    [fragment_b[None, None, k, 0], fragment_sfb[None, None, k]],
                    sums,
                )
            with cute.arch.elect_one():
                tcgen05.commit(multiplied)
        cute.arch.mbarrier_wait(multiplied, phase)
        # A warp that came late could miss two steps, and wait for ever.
        cute.arch.sync_threads()
        phase ^= 1

    # Each warp reads its 32 lanes of tensor memory: one row of the tile a thread.
    load = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x64, tcgen05.Pack.NONE), cutlass.Float32)
    tiled_load = tcgen05.make_tmem_copy(load, sums)
    load_slice = tiled_load.get_slice(thread)
    target = load_slice.partition_D(tile_c)
    fragment_c = cute.make_rmem_tensor(target.shape, cutlass.Float32)
    cute.copy(tiled_load, load_slice.partition_S(sums), fragment_c)
    cute.arch.fence_view_async_tmem_load()
    cute.autovec_copy(fragment_c, target)

    cute.arch.sync_threads()
    if warp == 0:
        cute.arch.dealloc_tmem(tmem, COLUMNS)


def partition(tma, staged, tiles):
    """What TMA copies to and from: (tile, stage) of shared memory, (tile, step) of coordinates."""
    whole = cute.make_layout(1)
    return cpasync.tma_partition(tma, 0, whole, cute.group_modes(staged, 0, 3), cute.group_modes(tiles, 0, 3))


def spreading(staged, fragment):
    """The copy of scales to each warp's lanes of tensor memory, and what it copies from and to."""
    atom = cute.make_copy_atom(tcgen05.Cp4x32x128bOp(tcgen05.CtaGroup.ONE), SCALE)
    compact = cute.filter_zeros(fragment)
    spread = tcgen05.make_s2t_copy(atom, compact)
    part = spread.get_slice(0)
    shared = tcgen05.get_s2t_smem_desc_tensor(spread, part.partition_S(cute.filter_zeros(staged)))
    return spread, shared, part.partition_D(compact)


@cute.jit
def gemm_mxfp8(a: cute.Tensor, b: cute.Tensor, scales_a: cute.Tensor, scales_b: cute.Tensor, c: cute.Tensor):
    """c = (a scaled) @ (b scaled).T for (M, K), (N, K) and (M, N) tensors whose sizes 128 divides.

    Scales come by chunks of 128 rows times 4: scale k of row m is number m % 32 * 16 + m // 32 * 4 + k of its chunk.
    """
    one, k_major = tcgen05.CtaGroup.ONE, OperandMajorMode.K
    tiled_mma = sm100.make_blockscaled_trivial_tiled_mma(ELEMENT, k_major, k_major, SCALE, VECTOR, one, TILE[:2])
    a_layout = sm100.make_smem_layout_a(tiled_mma, TILE, ELEMENT, 1)
    b_layout = sm100.make_smem_layout_b(tiled_mma, TILE, ELEMENT, 1)
    sfa_layout = blockscaled_layout.make_smem_layout_sfa(tiled_mma, TILE, VECTOR, 1)
    sfb_layout = blockscaled_layout.make_smem_layout_sfb(tiled_mma, TILE, VECTOR, 1)
    by_row_a = blockscaled_layout.tile_atom_to_shape_SF((*a.shape, 1), VECTOR)
    by_row_b = blockscaled_layout.tile_atom_to_shape_SF((*b.shape, 1), VECTOR)
    scales_a = cute.make_tensor(scales_a.iterator, cute.select(by_row_a, mode=[0, 1]))
    scales_b = cute.make_tensor(scales_b.iterator, cute.select(by_row_b, mode=[0, 1]))

    load, first = cpasync.CopyBulkTensorTileG2SOp(), (None, None, None, 0)
    word = {"internal_type": cutlass.Int16}  # TMA moves scales by twos
    gemm_kernel(
        *cute.nvgpu.make_tiled_tma_atom_A(load, a, cute.slice_(a_layout, first), TILE, tiled_mma),
        *cute.nvgpu.make_tiled_tma_atom_B(load, b, cute.slice_(b_layout, first), TILE, tiled_mma),
        *cute.nvgpu.make_tiled_tma_atom_A(load, scales_a, cute.slice_(sfa_layout, first), TILE, tiled_mma, **word),
        *cute.nvgpu.make_tiled_tma_atom_B(load, scales_b, cute.slice_(sfb_layout, first), TILE, tiled_mma, **word),
        c,
        tiled_mma,
        a_layout,
        b_layout,
        sfa_layout,
        sfb_layout,
    ).launch(grid=[c.shape[0] // TILE[0], c.shape[1] // TILE[1], 1], block=[THREADS, 1, 1])


def reference(a, b, scales_a, scales_b, c):
    """The expected `c`; all but `c` have to convert to f32."""

    def scaled(matrix, scales):
        chunks, across, _ = scales.shape
        by_row = scales.astype("float32").reshape(chunks, across, 32, 4, 4).transpose(0, 3, 2, 1, 4)
        return matrix.astype("float32") * by_row.reshape(chunks * 128, across * 4).repeat(VECTOR, axis=1)

    return scaled(a, scales_a) @ scaled(b, scales_b).T
