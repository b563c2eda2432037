"""GEMM on 8-bit floats with a scale for every 32 along K (MXFP8), for Blackwell workstation GPUs.

Exercises warp-level block-scaled products that `cute.gemm` is given scales for, TMA loads of operands and of scales in
the order that hardware wants them in, and `ldmatrix` from swizzled shared memory.
"""

# cutecc: entry = "gemm_mxfp8_sm120"
# cutecc: target = "sm_120a"
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
from cutlass.cute.nvgpu import cpasync, warp
from cutlass.utils import blackwell_helpers, blockscaled_layout

ELEMENT, SCALE = cutlass.Float8E4M3FN, cutlass.Float8E8M0FNU
TILE = 128  # along M, N and K
VECTOR = 32  # elements that share a scale
CHUNK = 512  # scales of a tile, of 128 rows times 4
WARPS = (2, 2, 1)
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
    layout: cute.ComposedLayout,
    sfa_layout: cute.Layout,
    sfb_layout: cute.Layout,
):
    thread, _, _ = cute.arch.thread_idx()
    block_m, block_n, _ = cute.arch.block_idx()
    warp_index = cute.arch.make_warp_uniform(cute.arch.warp_idx())

    allocator = cutlass.utils.SmemAllocator()
    loaded = allocator.allocate_array(cutlass.Int64, 1)
    staged_a, staged_b = (
        allocator.allocate_tensor(ELEMENT, layout.outer, byte_alignment=1024, swizzle=layout.inner) for _ in range(2)
    )
    staged_sfa = allocator.allocate_tensor(SCALE, sfa_layout, byte_alignment=128)
    staged_sfb = allocator.allocate_tensor(SCALE, sfb_layout, byte_alignment=128)
    if thread == 0:
        cute.arch.mbarrier_init(loaded, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()

    def partition(tma, staged, tiles):
        return cpasync.tma_partition(
            tma, 0, cute.make_layout(1), cute.group_modes(staged, 0, 2), cute.group_modes(tiles, 0, 2)
        )

    to_a, from_a = partition(tma_a, staged_a, cute.local_tile(a, (TILE, TILE), (block_m, None)))
    to_b, from_b = partition(tma_b, staged_b, cute.local_tile(b, (TILE, TILE), (block_n, None)))
    chunks_a = cute.make_tensor(staged_sfa.iterator, cute.make_layout((1, CHUNK)))
    chunks_b = cute.make_tensor(staged_sfb.iterator, cute.make_layout((1, CHUNK)))
    to_sfa, from_sfa = partition(
        tma_sfa, chunks_a, cute.local_tile(scales_a[block_m, None, None], (1, CHUNK), (None, 0))
    )
    to_sfb, from_sfb = partition(
        tma_sfb, chunks_b, cute.local_tile(scales_b[block_n, None, None], (1, CHUNK), (None, 0))
    )

    # Fragments of a whole tile, and the copies that fill them.
    mma_slice = tiled_mma.get_slice(thread)
    fragment_a = mma_slice.make_fragment_A(mma_slice.partition_A(staged_a))
    fragment_b = mma_slice.make_fragment_B(mma_slice.partition_B(staged_b))
    fragment_sfa = blackwell_helpers.partition_fragment_SFA(staged_sfa, mma_slice, thread)
    fragment_sfb = blackwell_helpers.partition_fragment_SFB(staged_sfb, mma_slice, thread)
    tile_c = mma_slice.partition_C(cute.local_tile(c, (TILE, TILE), (block_m, block_n)))
    sums = mma_slice.make_fragment_C(tile_c)
    sums.fill(0.0)

    matrices = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transpose=False, num_matrices=4), ELEMENT)
    load_a = cute.make_tiled_copy_A(matrices, tiled_mma)
    load_b = cute.make_tiled_copy_B(matrices, tiled_mma)
    scale = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), SCALE)
    shape = (cute.size(tiled_mma.permutation_mnk[0]), cute.size(tiled_mma.permutation_mnk[2]))
    load_sfa = cute.make_tiled_copy(scale, blackwell_helpers.get_layoutSFA_TV(tiled_mma), shape)
    shape = (cute.size(tiled_mma.permutation_mnk[1]), cute.size(tiled_mma.permutation_mnk[2]))
    load_sfb = cute.make_tiled_copy(scale, blackwell_helpers.get_layoutSFB_TV(tiled_mma), shape)

    def views(tiled_copy, staged, fragment):
        copy_slice = tiled_copy.get_slice(thread)
        return copy_slice.partition_S(staged), copy_slice.retile(fragment)

    shared_a, registers_a = views(load_a, staged_a, fragment_a)
    shared_b, registers_b = views(load_b, staged_b, fragment_b)
    shared_sfa, registers_sfa = views(load_sfa, staged_sfa, fragment_sfa)
    shared_sfb, registers_sfb = views(load_sfb, staged_sfb, fragment_sfb)

    tile_bytes = 2 * (TILE * TILE + CHUNK)
    phase = cutlass.Int32(0)
    for step in range(cute.size(from_a, mode=[1])):
        if warp_index == 0:
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(loaded, tile_bytes)
            cute.copy(tma_a, from_a[None, step], to_a, tma_bar_ptr=loaded)
            cute.copy(tma_b, from_b[None, step], to_b, tma_bar_ptr=loaded)
            cute.copy(tma_sfa, from_sfa[None, step], to_sfa, tma_bar_ptr=loaded)
            cute.copy(tma_sfb, from_sfb[None, step], to_sfb, tma_bar_ptr=loaded)
        cute.arch.mbarrier_wait(loaded, phase)
        phase ^= 1
        cute.copy(load_a, shared_a, registers_a)
        cute.copy(load_b, shared_b, registers_b)
        cute.copy(load_sfa, shared_sfa, registers_sfa)
        cute.copy(load_sfb, shared_sfb, registers_sfb)
        cute.gemm(tiled_mma, sums, [fragment_a, fragment_sfa], [fragment_b, fragment_sfb], sums)
        # All have read what the next loads overwrite.
        cute.arch.sync_threads()
    cute.autovec_copy(sums, tile_c)


@cute.jit
def gemm_mxfp8_sm120(a: cute.Tensor, b: cute.Tensor, scales_a: cute.Tensor, scales_b: cute.Tensor, c: cute.Tensor):
    """c = (a scaled) @ (b scaled).T for (M, K), (N, K) and (M, N) tensors whose sizes 128 divides.

    Scales come by chunks of 128 rows times 4: scale k of row m is number m % 32 * 16 + m // 32 * 4 + k of its chunk.
    """
    op = warp.MmaMXF8Op(ELEMENT, cutlass.Float32, SCALE)
    permutation = blackwell_helpers.get_permutation_mnk((TILE, TILE, TILE), VECTOR, True)
    tiled_mma = cute.make_tiled_mma(op, cute.make_layout(WARPS), permutation_mnk=permutation)
    rows = cute.make_composed_layout(cute.make_swizzle(3, 4, 3), 0, cute.make_ordered_layout((8, TILE), order=(1, 0)))
    layout = cute.tile_to_shape(rows, (TILE, TILE), order=(0, 1))
    tile = (TILE, TILE, TILE)
    sfa_layout = blockscaled_layout.sm120_make_smem_layout_sfa(tiled_mma, tile, VECTOR, 1)
    sfb_layout = blockscaled_layout.sm120_make_smem_layout_sfb(tiled_mma, tile, VECTOR, 1)
    load = cpasync.CopyBulkTensorTileG2SOp()
    chunk = cute.make_layout((1, 1, CHUNK))
    gemm_kernel(
        *cpasync.make_tiled_tma_atom(load, a, layout, (TILE, TILE)),
        *cpasync.make_tiled_tma_atom(load, b, layout, (TILE, TILE)),
        *cpasync.make_tiled_tma_atom(load, scales_a, chunk, (1, 1, CHUNK)),
        *cpasync.make_tiled_tma_atom(load, scales_b, chunk, (1, 1, CHUNK)),
        c,
        tiled_mma,
        layout,
        cute.slice_(sfa_layout, (None, None, 0)),
        cute.slice_(sfb_layout, (None, None, 0)),
    ).launch(grid=[c.shape[0] // TILE, c.shape[1] // TILE, 1], block=[THREADS, 1, 1])


def reference(a, b, scales_a, scales_b, c):
    """The expected `c`; all but `c` have to convert to f32."""

    def scaled(matrix, scales):
        chunks, across, _ = scales.shape
        by_row = scales.astype("float32").reshape(chunks, across, 32, 4, 4).transpose(0, 3, 2, 1, 4)
        return matrix.astype("float32") * by_row.reshape(chunks * 128, across * 4).repeat(VECTOR, axis=1)

    return scaled(a, scales_a) @ scaled(b, scales_b).T
