"""Attention over 1024 keys with every loop unrolled at trace time: over 10,000 lines of IR, the benchmark input.

Exercises compile time at scale: flash-attention arithmetic by element, `mma.sync`, transposed `ldmatrix`, cp.async.
"""

# cutecc: entry = "large_unrolled"
# cutecc: target = "sm_80"
# cutecc: args.q = "f16[?H=2, 1024, 64] align=16"
# cutecc: args.k = "f16[?H, 1024, 64] align=16"
# cutecc: args.v = "f16[?H, 1024, 64] align=16"
# cutecc: args.out = "f32[?H, 1024, 64] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["out"]
# cutecc: tolerance = 5e-3
# cutecc: bytes = "H * 1024 * 64 * (3 * 2 + 4)"
# cutecc: flops = "4 * H * 1024 * 1024 * 64"

import math

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync, warp

LENGTH, WIDTH = 1024, 64  # of the sequence and of a head
TILE = 64  # queries of a block, and keys of a step
STEPS = LENGTH // TILE
THREADS = 128
SCALE = math.log2(math.e) / math.sqrt(WIDTH)  # exponentials are powers of two


@cute.kernel
def attention_kernel(
    q: cute.Tensor,
    k: cute.Tensor,
    v: cute.Tensor,
    out: cute.Tensor,
    tile_layout: cute.ComposedLayout,
    tiled_copy: cute.TiledCopy,
    tiled_mma: cute.TiledMma,
):
    thread, _, _ = cute.arch.thread_idx()
    block, head, _ = cute.arch.block_idx()
    dtype = q.element_type

    allocator = cutlass.utils.SmemAllocator()
    outer, swizzle = tile_layout.outer, tile_layout.inner
    staged_q = allocator.allocate_tensor(dtype, outer, byte_alignment=1024, swizzle=swizzle)
    staged_k = [allocator.allocate_tensor(dtype, outer, byte_alignment=1024, swizzle=swizzle) for _ in range(2)]
    staged_v = [allocator.allocate_tensor(dtype, outer, byte_alignment=1024, swizzle=swizzle) for _ in range(2)]
    # The second product runs over keys: it sees v's tile as (width, key).
    transposed = cute.make_layout((WIDTH, TILE), stride=(TILE, 1))
    transposed_v = [cute.composition(staged, transposed) for staged in staged_v]

    tile = (TILE, WIDTH)
    tile_q = cute.local_tile(q[head, None, None], tile, (block, 0))
    tiles_k = cute.local_tile(k[head, None, None], tile, (None, 0))
    tiles_v = cute.local_tile(v[head, None, None], tile, (None, 0))
    copy_slice = tiled_copy.get_slice(thread)
    from_k, from_v = copy_slice.partition_S(tiles_k), copy_slice.partition_S(tiles_v)

    mma_slice = tiled_mma.get_slice(thread)
    fragment_q = tiled_mma.make_fragment_A(mma_slice.partition_A(staged_q))
    fragment_k = tiled_mma.make_fragment_B(mma_slice.partition_B(staged_k[0]))
    fragment_v = tiled_mma.make_fragment_B(mma_slice.partition_B(transposed_v[0]))
    scores = cute.make_rmem_tensor(tiled_mma.partition_shape_C((TILE, TILE)), cutlass.Float32)
    sums = cute.make_rmem_tensor(tiled_mma.partition_shape_C((TILE, WIDTH)), cutlass.Float32)
    sums.fill(0.0)
    # Two neighbouring 16 x 8 results, in the order of their registers, are one 16 x 16 operand.
    weights = cute.make_rmem_tensor_like(fragment_q)

    matrices = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), dtype)
    matrices_t = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(True, 4), dtype)
    load_q = cute.make_tiled_copy_A(matrices, tiled_mma)
    load_k = cute.make_tiled_copy_B(matrices, tiled_mma)
    load_v = cute.make_tiled_copy_B(matrices_t, tiled_mma)
    source_q = load_q.get_slice(thread).partition_S(staged_q)
    source_k = [load_k.get_slice(thread).partition_S(staged) for staged in staged_k]
    source_v = [load_v.get_slice(thread).partition_S(staged) for staged in transposed_v]
    target_q = load_q.retile(fragment_q)
    target_k, target_v = load_k.retile(fragment_k), load_v.retile(fragment_v)

    cute.copy(tiled_copy, copy_slice.partition_S(tile_q), copy_slice.partition_D(staged_q))
    cute.copy(tiled_copy, from_k[None, None, None, 0], copy_slice.partition_D(staged_k[0]))
    cute.copy(tiled_copy, from_v[None, None, None, 0], copy_slice.partition_D(staged_v[0]))
    cute.arch.cp_async_commit_group()

    # A thread holds two rows of the scores: value i belongs to row i // 2 % 2, and the row to four neighbouring lanes.
    maxima = [-cutlass.Float32.inf, -cutlass.Float32.inf]
    totals = [cutlass.Float32(0.0), cutlass.Float32(0.0)]
    for step in cutlass.range_constexpr(STEPS):
        stage = step % 2
        if cutlass.const_expr(step + 1 < STEPS):
            other = 1 - stage
            cute.copy(tiled_copy, from_k[None, None, None, step + 1], copy_slice.partition_D(staged_k[other]))
            cute.copy(tiled_copy, from_v[None, None, None, step + 1], copy_slice.partition_D(staged_v[other]))
            cute.arch.cp_async_commit_group()
            cute.arch.cp_async_wait_group(1)
        else:
            cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()

        if cutlass.const_expr(step == 0):
            cute.copy(load_q, source_q, target_q)
        scores.fill(0.0)
        for part in cutlass.range_constexpr(WIDTH // 16):
            cute.copy(load_k, source_k[stage][None, None, part], target_k[None, None, part])
            cute.gemm(tiled_mma, scores, fragment_q[None, None, part], fragment_k[None, None, part], scores)

        # Softmax so far: a larger maximum scales down what was summed under the old one.
        values = [scores[i] for i in range(cute.size(scores))]
        for row in cutlass.range_constexpr(2):
            mine = [i for i in range(len(values)) if i // 2 % 2 == row]
            largest = maxima[row]
            for i in mine:
                largest = cute.arch.fmax(largest, values[i])
            for lanes in (1, 2):
                largest = cute.arch.fmax(largest, cute.arch.shuffle_sync_bfly(largest, offset=lanes))
            shrink = cute.math.exp2((maxima[row] - largest) * SCALE, fastmath=True)
            maxima[row] = largest
            totals[row] = totals[row] * shrink
            for i in mine:
                weight = cute.math.exp2((values[i] - largest) * SCALE, fastmath=True)
                totals[row] = totals[row] + weight
                weights[i] = weight.to(dtype)
            for i in [i for i in range(cute.size(sums)) if i // 2 % 2 == row]:
                sums[i] = sums[i] * shrink

        for part in cutlass.range_constexpr(TILE // 16):
            cute.copy(load_v, source_v[stage][None, None, part], target_v[None, None, part])
            cute.gemm(tiled_mma, sums, weights[None, None, part], fragment_v[None, None, part], sums)
        cute.arch.sync_threads()

    for row in cutlass.range_constexpr(2):
        for lanes in (1, 2):
            totals[row] = totals[row] + cute.arch.shuffle_sync_bfly(totals[row], offset=lanes)
        for i in [i for i in range(cute.size(sums)) if i // 2 % 2 == row]:
            sums[i] = sums[i] / totals[row]
    cute.autovec_copy(sums, mma_slice.partition_C(cute.local_tile(out[head, None, None], tile, (block, 0))))


@cute.jit
def large_unrolled(q: cute.Tensor, k: cute.Tensor, v: cute.Tensor, out: cute.Tensor):
    """out = softmax(q @ k.T / 8) @ v for each head of (H, 1024, 64) tensors."""
    # 8 rows of 128 bytes, the 16-byte columns exclusive-ored with the row. Swizzles of pointers count in bytes.
    rows = cute.make_ordered_layout((8, WIDTH), order=(1, 0))
    atom = cute.make_composed_layout(cute.make_swizzle(3, 4, 3), 0, rows)
    tile_layout = cute.tile_to_shape(atom, (TILE, WIDTH), order=(0, 1))

    piece = cute.make_copy_atom(cpasync.CopyG2SOp(), q.element_type, num_bits_per_copy=128)
    threads = cute.make_ordered_layout((16, 8), order=(1, 0))
    tiled_copy = cute.make_tiled_copy_tv(piece, threads, cute.make_ordered_layout((1, 8), order=(1, 0)))
    op = warp.MmaF16BF16Op(q.element_type, cutlass.Float32, (16, 8, 16))
    tiled_mma = cute.make_tiled_mma(op, (4, 1, 1), permutation_mnk=(64, 16, 16))
    attention_kernel(q, k, v, out, tile_layout, tiled_copy, tiled_mma).launch(
        grid=[LENGTH // TILE, q.shape[0], 1], block=[THREADS, 1, 1]
    )


def reference(q, k, v, out):
    """The expected `out`."""
    import numpy as np

    q, k, v = (t.astype("float32") for t in (q, k, v))
    scores = q @ k.transpose(0, 2, 1) / math.sqrt(WIDTH)
    weights = np.exp(scores - scores.max(2, keepdims=True))
    return weights @ v / weights.sum(2, keepdims=True)
