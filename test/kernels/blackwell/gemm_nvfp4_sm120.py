"""GEMM on 4-bit floats with a scale of e4m3 for every 16 along K (NVFP4), for Blackwell workstation GPUs.

Exercises tensors of which two elements share a byte, through TMA, swizzled shared memory and `ldmatrix` into registers,
and the DSL's pipeline of TMA stages, between a warp that loads and warps that multiply.
"""

# cutecc: entry = "gemm_nvfp4_sm120"
# cutecc: target = "sm_120a"
# cutecc: args.a = "f4E2M1FN[?M{div=128}=128, ?K{div=128}=384] align=16"
# cutecc: args.b = "f4E2M1FN[?N{div=128}=128, ?K{div=128}] align=16"
# cutecc: args.scales_a = "f8E4M3FN[?ChunksM=1, ?ChunksK{div=2}=6, 512] align=16"
# cutecc: args.scales_b = "f8E4M3FN[?ChunksN=1, ?ChunksK{div=2}, 512] align=16"
# cutecc: args.c = "f32[?M, ?N{div=128}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: tolerance = 1e-4
# cutecc: bytes = "(M + N) * K * 9 // 16 + 4 * M * N"
# cutecc: flops = "2 * M * N * K"

import cutlass
from cutlass import cute, pipeline
from cutlass.cute.nvgpu import cpasync, warp
from cutlass.utils import blackwell_helpers, blockscaled_layout

ELEMENT, SCALE = cutlass.Float4E2M1FN, cutlass.Float8E4M3FN
TILE = 128  # along M, N and K
VECTOR = 16  # elements that share a scale
CHUNK = 512  # scales of 128 rows times 4
CHUNKS = TILE // VECTOR // 4  # of a tile
STAGES = 2
WARPS = (2, 2, 1)
THREADS = 128  # that multiply, beside a warp that loads


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
    staged_a, staged_b = (
        allocator.allocate_tensor(ELEMENT, layout.outer, byte_alignment=1024, swizzle=layout.inner) for _ in range(2)
    )
    staged_sfa = allocator.allocate_tensor(SCALE, sfa_layout, byte_alignment=128)
    staged_sfb = allocator.allocate_tensor(SCALE, sfb_layout, byte_alignment=128)
    producer, consumer = pipeline.PipelineTmaAsync.create(
        num_stages=STAGES,
        producer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread),
        consumer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, THREADS // 32),
        tx_count=2 * (TILE * TILE * ELEMENT.width // 8 + CHUNKS * CHUNK),
        barrier_storage=allocator.allocate_array(cutlass.Int64, 2 * STAGES),
    ).make_participants()

    steps = cute.size(a, mode=[1]) // TILE
    if warp_index == THREADS // 32:
        chunks_a, chunks_b = (
            cute.make_tensor(each.iterator, cute.make_ordered_layout((CHUNKS, CHUNK, STAGES), order=(1, 0, 2)))
            for each in (staged_sfa, staged_sfb)
        )
        tiles_sfa = cute.local_tile(scales_a[block_m, None, None], (CHUNKS, CHUNK), (None, 0))
        tiles_sfb = cute.local_tile(scales_b[block_n, None, None], (CHUNKS, CHUNK), (None, 0))
        to_a, from_a = partition(tma_a, staged_a, cute.local_tile(a, (TILE, TILE), (block_m, None)))
        to_b, from_b = partition(tma_b, staged_b, cute.local_tile(b, (TILE, TILE), (block_n, None)))
        to_sfa, from_sfa = partition(tma_sfa, chunks_a, tiles_sfa)
        to_sfb, from_sfb = partition(tma_sfb, chunks_b, tiles_sfb)
        for step in range(steps):
            stage = producer.acquire_and_advance()
            cute.copy(tma_a, from_a[None, step], to_a[None, stage.index], tma_bar_ptr=stage.barrier)
            cute.copy(tma_b, from_b[None, step], to_b[None, stage.index], tma_bar_ptr=stage.barrier)
            cute.copy(tma_sfa, from_sfa[None, step], to_sfa[None, stage.index], tma_bar_ptr=stage.barrier)
            cute.copy(tma_sfb, from_sfb[None, step], to_sfb[None, stage.index], tma_bar_ptr=stage.barrier)
        producer.tail()
    else:
        # Fragments of a whole tile, and the copies that fill them.
        first = (None, None, 0)
        mma_slice = tiled_mma.get_slice(thread)
        fragment_a = mma_slice.make_fragment_A(mma_slice.partition_A(staged_a[first]))
        fragment_b = mma_slice.make_fragment_B(mma_slice.partition_B(staged_b[first]))
        fragment_sfa = blackwell_helpers.partition_fragment_SFA(staged_sfa[first], mma_slice, thread)
        fragment_sfb = blackwell_helpers.partition_fragment_SFB(staged_sfb[first], mma_slice, thread)
        tile_c = mma_slice.partition_C(cute.local_tile(c, (TILE, TILE), (block_m, block_n)))
        sums = mma_slice.make_fragment_C(tile_c)
        sums.fill(0.0)

        matrices = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transpose=False, num_matrices=4), ELEMENT)
        load_a = cute.make_tiled_copy_A(matrices, tiled_mma)
        load_b = cute.make_tiled_copy_B(matrices, tiled_mma)
        scale = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), SCALE)
        m, n, k = (cute.size(mode) for mode in tiled_mma.permutation_mnk)
        load_sfa = cute.make_tiled_copy(scale, blackwell_helpers.get_layoutSFA_TV(tiled_mma), (m, k))
        load_sfb = cute.make_tiled_copy(scale, blackwell_helpers.get_layoutSFB_TV(tiled_mma), (n, k))
        shared_a, registers_a = views(load_a.get_slice(thread), staged_a, fragment_a)
        shared_b, registers_b = views(load_b.get_slice(thread), staged_b, fragment_b)
        shared_sfa, registers_sfa = views(load_sfa.get_slice(thread), staged_sfa, fragment_sfa)
        shared_sfb, registers_sfb = views(load_sfb.get_slice(thread), staged_sfb, fragment_sfb)

        for _ in range(steps):
            stage = consumer.wait_and_advance()
            cute.copy(load_a, shared_a[None, None, None, stage.index], registers_a)
            cute.copy(load_b, shared_b[None, None, None, stage.index], registers_b)
            cute.copy(load_sfa, shared_sfa[None, None, None, stage.index], registers_sfa)
            cute.copy(load_sfb, shared_sfb[None, None, None, stage.index], registers_sfb)
            # One lane says that the whole warp is done with the stage.
            cute.arch.sync_warp()
            stage.release()
            cute.gemm(tiled_mma, sums, [fragment_a, fragment_sfa], [fragment_b, fragment_sfb], sums)
        cute.autovec_copy(sums, tile_c)


def partition(tma, staged, tiles):
    """What a block copies to and from: (tile, stage) of shared memory, (tile, step) of coordinates."""
    whole = cute.make_layout(1)
    return cpasync.tma_partition(tma, 0, whole, cute.group_modes(staged, 0, 2), cute.group_modes(tiles, 0, 2))


def views(copy_slice, staged, fragment):
    """What a thread copies from and to."""
    return copy_slice.partition_S(staged), copy_slice.retile(fragment)


@cute.jit
def gemm_nvfp4_sm120(a: cute.Tensor, b: cute.Tensor, scales_a: cute.Tensor, scales_b: cute.Tensor, c: cute.Tensor):
    """c = (a scaled) @ (b scaled).T for (M, K), (N, K) and (M, N) tensors whose sizes 128 divides.

    Scales come by chunks of 128 rows times 4: scale k of row m is number m % 32 * 16 + m // 32 * 4 + k of its chunk.
    Their signs do not count.
    """
    op = warp.MmaMXF4NVF4Op(ELEMENT, cutlass.Float32, SCALE)
    permutation = blackwell_helpers.get_permutation_mnk((TILE, TILE, TILE), VECTOR, False)
    tiled_mma = cute.make_tiled_mma(op, cute.make_layout(WARPS), permutation_mnk=permutation)
    rows = cute.make_composed_layout(cute.make_swizzle(2, 4, 3), 0, cute.make_ordered_layout((8, TILE), order=(1, 0)))
    layout = cute.tile_to_shape(rows, (TILE, TILE, STAGES), order=(0, 1, 2))
    tile = (TILE, TILE, TILE)
    sfa_layout = blockscaled_layout.sm120_make_smem_layout_sfa(tiled_mma, tile, VECTOR, STAGES)
    sfb_layout = blockscaled_layout.sm120_make_smem_layout_sfb(tiled_mma, tile, VECTOR, STAGES)
    load, stage = cpasync.CopyBulkTensorTileG2SOp(), cute.slice_(layout, (None, None, 0))
    chunks = cute.make_ordered_layout((1, CHUNKS, CHUNK), order=(2, 1, 0))
    gemm_kernel(
        *cpasync.make_tiled_tma_atom(load, a, stage, (TILE, TILE)),
        *cpasync.make_tiled_tma_atom(load, b, stage, (TILE, TILE)),
        *cpasync.make_tiled_tma_atom(load, scales_a, chunks, (1, CHUNKS, CHUNK)),
        *cpasync.make_tiled_tma_atom(load, scales_b, chunks, (1, CHUNKS, CHUNK)),
        c,
        tiled_mma,
        layout,
        sfa_layout,
        sfb_layout,
    ).launch(grid=[c.shape[0] // TILE, c.shape[1] // TILE, 1], block=[THREADS + 32, 1, 1])


def reference(a, b, scales_a, scales_b, c):
    """The expected `c`; all but `c` have to convert to f32."""

    def scaled(matrix, scales):
        chunks, across, _ = scales.shape
        by_row = abs(scales.astype("float32")).reshape(chunks, across, 32, 4, 4).transpose(0, 3, 2, 1, 4)
        return matrix.astype("float32") * by_row.reshape(chunks * 128, across * 4).repeat(VECTOR, axis=1)

    return scaled(a, scales_a) @ scaled(b, scales_b).T
