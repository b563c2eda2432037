"""Attention for Blackwell data-centre GPUs: scores and outputs in tensor memory, a row a thread.

Exercises chained `tcgen05.mma`s, the second of which takes A from tensor memory and B MN-major; tensor memory stored
from registers; and outputs that are loaded, corrected and stored again where the largest score of a row grows.
"""

# cutecc: entry = "attention_sm100"
# cutecc: target = "sm_100a"
# cutecc: args.q = "f16[?H=2, ?S{div=128}=256, 64] align=16"
# cutecc: args.k = "f16[?H, ?S{div=128}, 64] align=16"
# cutecc: args.v = "f16[?H, ?S{div=128}, 64] align=16"
# cutecc: args.out = "f32[?H, ?S{div=128}, 64] align=16"
# cutecc: args.scale = "f32=0.125"
# cutecc: reference = "reference"
# cutecc: outputs = ["out"]
# cutecc: tolerance = 2e-3
# cutecc: bytes = "(3 * 2 + 4) * H * S * 64"
# cutecc: flops = "4 * H * S * S * 64"

import math

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, tcgen05
from cutlass.utils import sm100

QUERIES, KEYS, HEAD_DIM = 128, 64, 64  # of a block, of a step, of all
SCORES = (QUERIES, KEYS, HEAD_DIM)  # M, N and K of the first product
OUTPUTS = (QUERIES, HEAD_DIM, KEYS)  # and of the second
LANE = 1 << 16  # from one lane of tensor memory to the next, in addresses
WEIGHTS_AT, OUTPUTS_AT, COLUMNS = KEYS, 128, 256  # in tensor memory, behind the scores
THREADS = 128
LOG2_E = math.log2(math.e)


@cute.kernel
def attention_kernel(
    tma_q: cute.CopyAtom,
    q: cute.Tensor,
    tma_k: cute.CopyAtom,
    k: cute.Tensor,
    tma_v: cute.CopyAtom,
    v: cute.Tensor,
    out: cute.Tensor,
    scale: cutlass.Float32,
    score_mma: cute.TiledMma,
    output_mma: cute.TiledMma,
    q_layout: cute.ComposedLayout,
    k_layout: cute.ComposedLayout,
    weights_layout: cute.ComposedLayout,
    v_layout: cute.ComposedLayout,
):
    thread, _, _ = cute.arch.thread_idx()
    block, head, _ = cute.arch.block_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())

    allocator = cutlass.utils.SmemAllocator()
    barriers = allocator.allocate_array(cutlass.Int64, 3)
    loaded, scored, added = barriers, barriers + 1, barriers + 2
    tmem_address = allocator.allocate_array(cutlass.Int32, 1)
    staged_q, staged_k, staged_v = (
        allocator.allocate_tensor(cutlass.Float16, layout.outer, byte_alignment=1024, swizzle=layout.inner)
        for layout in (q_layout, k_layout, v_layout)
    )
    if warp == 0:
        cute.arch.alloc_tmem(COLUMNS, tmem_address)
        cute.arch.relinquish_tmem_alloc_permit()
    if thread == 0:
        for barrier in (loaded, scored, added):
            cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    tmem = cute.arch.retrieve_tmem_ptr(cutlass.Float32, 16, tmem_address)

    score_slice, output_slice = score_mma.get_slice(0), output_mma.get_slice(0)
    tile_q = score_slice.partition_A(cute.local_tile(q[None, None, head], (QUERIES, HEAD_DIM), (block, 0)))
    tiles_k = score_slice.partition_B(cute.local_tile(k[None, None, head], (KEYS, HEAD_DIM), (None, 0)))
    tiles_v = output_slice.partition_B(cute.local_tile(v[None, None, head], (HEAD_DIM, KEYS), (0, None)))
    tile_out = output_slice.partition_C(cute.local_tile(out[head, None, None], (QUERIES, HEAD_DIM), (block, 0)))
    to_q, from_q = partition(tma_q, staged_q, tile_q)
    to_k, from_k = partition(tma_k, staged_k, tiles_k)
    to_v, from_v = partition(tma_v, staged_v, tiles_v)

    fragment_q, fragment_k = score_mma.make_fragment_A(staged_q), score_mma.make_fragment_B(staged_k)
    fragment_v = output_mma.make_fragment_B(staged_v)
    scores_layout = score_mma.make_fragment_C(score_mma.partition_shape_C((QUERIES, KEYS))).layout
    outputs_layout = output_mma.make_fragment_C(output_mma.partition_shape_C((QUERIES, HEAD_DIM))).layout
    scores = cute.make_tensor(tmem, scores_layout)
    outputs = cute.make_tensor(tmem + OUTPUTS_AT, outputs_layout)
    # Weights are f16, two to a column; they are stored as words.
    like_shared = cute.make_tensor(cute.recast_ptr(tmem + WEIGHTS_AT, dtype=cutlass.Float16), weights_layout.outer)
    in_words = cute.make_tensor(tmem + WEIGHTS_AT, cute.make_layout((QUERIES, KEYS // 2), stride=(LANE, 1)))
    fragment_p = output_mma.make_fragment_A(like_shared)
    fragment_p = cute.make_tensor(like_shared.iterator, fragment_p.layout)

    # Each warp has its 32 lanes of tensor memory, a thread a row.
    f32, whole, half = cutlass.Float32, tcgen05.Repetition.x64, tcgen05.Repetition.x32
    load_scores = tcgen05.make_tmem_copy(cute.make_copy_atom(tcgen05.Ld32x32bOp(whole), f32), scores)
    load_outputs = tcgen05.make_tmem_copy(cute.make_copy_atom(tcgen05.Ld32x32bOp(whole), f32), outputs)
    store_outputs = tcgen05.make_tmem_copy(cute.make_copy_atom(tcgen05.St32x32bOp(whole), f32), outputs)
    store_words = tcgen05.make_tmem_copy(cute.make_copy_atom(tcgen05.St32x32bOp(half), f32), in_words)
    row_of_scores = load_scores.get_slice(thread).partition_S(scores)
    row_of_outputs = load_outputs.get_slice(thread).partition_S(outputs)
    corrected_outputs = store_outputs.get_slice(thread).partition_D(outputs)
    row_of_words = store_words.get_slice(thread).partition_D(in_words)
    row_of_out = load_outputs.get_slice(thread).partition_D(tile_out)
    mine = cute.make_rmem_tensor(load_scores.get_slice(thread).partition_D(scores).shape, f32)
    summed = cute.make_rmem_tensor(row_of_out.shape, f32)
    weights = cute.make_rmem_tensor(cute.make_layout(KEYS), cutlass.Float16)
    shape_of_words = store_words.get_slice(thread).partition_S(in_words).shape
    words = cute.make_tensor(cute.recast_tensor(weights, f32).iterator, cute.make_layout(shape_of_words))

    largest, total = -f32.inf, f32(0.0)
    phase = cutlass.Int32(0)
    for step in range(cute.size(tiles_k, mode=[3])):
        if warp == 0:
            with cute.arch.elect_one():
                bytes_of_q = 0 if step > 0 else QUERIES * HEAD_DIM * 2
                cute.arch.mbarrier_arrive_and_expect_tx(loaded, bytes_of_q + 2 * KEYS * HEAD_DIM * 2)
            if step == 0:
                cute.copy(tma_q, from_q[None], to_q[None, 0], tma_bar_ptr=loaded)
            cute.copy(tma_k, from_k[None, step], to_k[None, 0], tma_bar_ptr=loaded)
            cute.copy(tma_v, from_v[None, step], to_v[None, 0], tma_bar_ptr=loaded)
            cute.arch.mbarrier_wait(loaded, phase)
            for i in cutlass.range_constexpr(cute.size(fragment_q, mode=[2])):
                score_mma.set(tcgen05.Field.ACCUMULATE, i > 0)
                cute.gemm(score_mma, scores, fragment_q[None, None, i, 0], fragment_k[None, None, i, 0], scores)
            with cute.arch.elect_one():
                tcgen05.commit(scored)
        cute.arch.mbarrier_wait(scored, phase)
        cute.copy(load_scores, row_of_scores, mine)
        cute.arch.fence_view_async_tmem_load()
        before = largest
        largest = cute.arch.fmax(largest, mine.load().reduce(cute.ReductionOp.MAX, -f32.inf, 0))
        correction = cute.math.exp2((before - largest) * scale)
        powers = cute.math.exp2((mine.load() - largest) * scale)
        total = total * correction + powers.reduce(cute.ReductionOp.ADD, f32(0.0), 0)
        weights.store(powers.to(cutlass.Float16).reshape(KEYS))
        cute.copy(store_words, words, row_of_words)
        if step > 0:
            cute.copy(load_outputs, row_of_outputs, summed)
            cute.arch.fence_view_async_tmem_load()
            summed.store(summed.load() * correction)
            cute.copy(store_outputs, summed, corrected_outputs)
        cute.arch.fence_view_async_tmem_store()
        cute.arch.sync_threads()
        if warp == 0:
            for i in cutlass.range_constexpr(cute.size(fragment_v, mode=[2])):
                # The very first product overwrites whatever tensor memory held.
                output_mma.set(tcgen05.Field.ACCUMULATE, step > 0 if i == 0 else True)
                cute.gemm(output_mma, outputs, fragment_p[None, None, i, 0], fragment_v[None, None, i, 0], outputs)
            with cute.arch.elect_one():
                tcgen05.commit(added)
        cute.arch.mbarrier_wait(added, phase)
        phase ^= 1

    cute.copy(load_outputs, row_of_outputs, summed)
    cute.arch.fence_view_async_tmem_load()
    summed.store(summed.load() / total)
    cute.autovec_copy(summed, row_of_out)
    cute.arch.sync_threads()
    if warp == 0:
        cute.arch.dealloc_tmem(tmem, COLUMNS)


def partition(tma, staged, tiles):
    """What TMA copies to and from: (tile, stage) of shared memory, (tile, step) of coordinates."""
    whole = cute.make_layout(1)
    return cpasync.tma_partition(tma, 0, whole, cute.group_modes(staged, 0, 3), cute.group_modes(tiles, 0, 3))


@cute.jit
def attention_sm100(q: cute.Tensor, k: cute.Tensor, v: cute.Tensor, out: cute.Tensor, scale: cutlass.Float32):
    """out = softmax(q @ k.T * scale) @ v for each head of (heads, sequence, 64) tensors; 128 divides sequences."""

    def mma(shape, source, major_b):
        k_major, one = OperandMajorMode.K, tcgen05.CtaGroup.ONE
        types = cutlass.Float16, cutlass.Float32
        return cute.make_tiled_mma(tcgen05.MmaF16BF16Op(*types, (*shape[:2], 16), one, source, k_major, major_b))

    score_mma = mma(SCORES, tcgen05.OperandSource.SMEM, OperandMajorMode.K)
    output_mma = mma(OUTPUTS, tcgen05.OperandSource.TMEM, OperandMajorMode.MN)
    q_layout = sm100.make_smem_layout_a(score_mma, SCORES, cutlass.Float16, 1)
    k_layout = sm100.make_smem_layout_b(score_mma, SCORES, cutlass.Float16, 1)
    weights_layout = sm100.make_smem_layout_a(output_mma, OUTPUTS, cutlass.Float16, 1)
    v_layout = sm100.make_smem_layout_b(output_mma, OUTPUTS, cutlass.Float16, 1)

    # (position, column, head), and of the values (column, position, head).
    q, k = (cute.make_tensor(each.iterator, cute.select(each.layout, mode=[1, 2, 0])) for each in (q, k))
    v = cute.make_tensor(v.iterator, cute.select(v.layout, mode=[2, 1, 0]))
    load, first = cpasync.CopyBulkTensorTileG2SOp(), (None, None, None, 0)
    attention_kernel(
        *cute.nvgpu.make_tiled_tma_atom_A(load, q, cute.slice_(q_layout, first), SCORES, score_mma),
        *cute.nvgpu.make_tiled_tma_atom_B(load, k, cute.slice_(k_layout, first), SCORES, score_mma),
        *cute.nvgpu.make_tiled_tma_atom_B(load, v, cute.slice_(v_layout, first), OUTPUTS, output_mma),
        out,
        scale * LOG2_E,  # for powers of two, which are faster than exponentials
        score_mma,
        output_mma,
        q_layout,
        k_layout,
        weights_layout,
        v_layout,
    ).launch(grid=[q.shape[0] // QUERIES, q.shape[2], 1], block=[THREADS, 1, 1])


def reference(q, k, v, out, scale):
    """The expected `out`."""
    import numpy as np

    q, k, v = (each.astype("float32") for each in (q, k, v))
    scores = q @ k.transpose(0, 2, 1) * scale
    weights = np.exp(scores - scores.max(2, keepdims=True))
    return weights.astype("float16").astype("float32") @ v / weights.sum(2, keepdims=True)
