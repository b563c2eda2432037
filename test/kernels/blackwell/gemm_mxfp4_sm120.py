"""GEMM on 4-bit floats with a power of two for every 32 along K (MXFP4), one warp a 32 x 32 tile.

Exercises fragments of 4-bit numbers loaded from global memory, 16-bit loads of two scales, and the fields of an atom,
which are set anew for each product.
"""

# cutecc: entry = "gemm_mxfp4_sm120"
# cutecc: target = "sm_120a"
# cutecc: args.a = "f4E2M1FN[?M{div=32}=64, ?K{div=64}=192] align=16"
# cutecc: args.b = "f4E2M1FN[?N{div=32}=96, ?K{div=64}] align=16"
# cutecc: args.scales_a = "f8E8M0FNU[?M, ?S{div=2}=6] align=2"
# cutecc: args.scales_b = "f8E8M0FNU[?N, ?S{div=2}] align=2"
# cutecc: args.c = "f32[?M, ?N{div=32}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: tolerance = 1e-4
# cutecc: bytes = "(M + N) * K * 17 // 32 + 4 * M * N"
# cutecc: flops = "2 * M * N * K"

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import warp

TILE, TILE_K = 32, 64
VECTOR = 32  # elements that share a scale
SCALES = TILE_K // VECTOR  # of a row and a step
M, N = 16, 8  # of a product


@cute.kernel
def gemm_kernel(
    a: cute.Tensor,
    b: cute.Tensor,
    scales_a: cute.Tensor,
    scales_b: cute.Tensor,
    c: cute.Tensor,
    tiled_mma: cute.TiledMma,
):
    lane, _, _ = cute.arch.thread_idx()
    block_m, block_n, _ = cute.arch.block_idx()
    mma_slice = tiled_mma.get_slice(lane)
    thread_a = mma_slice.partition_A(cute.local_tile(a, (TILE, TILE_K), (block_m, None)))
    thread_b = mma_slice.partition_B(cute.local_tile(b, (TILE, TILE_K), (block_n, None)))
    thread_c = mma_slice.partition_C(cute.local_tile(c, (TILE, TILE), (block_m, block_n)))
    tiles_sfa = cute.local_tile(scales_a, (TILE, SCALES), (block_m, None))
    tiles_sfb = cute.local_tile(scales_b, (TILE, SCALES), (block_n, None))

    fragment_a = tiled_mma.make_fragment_A(thread_a[None, None, None, 0])
    fragment_b = tiled_mma.make_fragment_B(thread_b[None, None, None, 0])
    fragment_sfa = cute.make_rmem_tensor(cute.make_layout((SCALES, TILE // M)), scales_a.element_type)
    fragment_sfb = cute.make_rmem_tensor(cute.make_layout((SCALES, TILE // N)), scales_b.element_type)
    sums = tiled_mma.make_fragment_C(thread_c)
    sums.fill(0.0)
    # Of four threads that share two rows of A, the first two have the scales, of a column of B the first.
    row, column = lane // 4 + lane % 2 * 8, lane // 4
    for step in range(cute.size(thread_a, mode=[3])):
        cute.autovec_copy(thread_a[None, None, None, step], fragment_a)
        cute.autovec_copy(thread_b[None, None, None, step], fragment_b)
        for m in cutlass.range_constexpr(TILE // M):
            cute.autovec_copy(tiles_sfa[row + M * m, None, step], fragment_sfa[None, m])
        for n in cutlass.range_constexpr(TILE // N):
            cute.autovec_copy(tiles_sfb[column + N * n, None, step], fragment_sfb[None, n])
        for m in cutlass.range_constexpr(TILE // M):
            tiled_mma.set(warp.Field.SFA, fragment_sfa[None, m].iterator)
            for n in cutlass.range_constexpr(TILE // N):
                tiled_mma.set(warp.Field.SFB, fragment_sfb[None, n].iterator)
                product = sums[None, m, n]
                cute.gemm(tiled_mma, product, fragment_a[None, m, 0], fragment_b[None, n, 0], product)
    cute.autovec_copy(sums, thread_c)


@cute.jit
def gemm_mxfp4_sm120(a: cute.Tensor, b: cute.Tensor, scales_a: cute.Tensor, scales_b: cute.Tensor, c: cute.Tensor):
    """c = (a scaled) @ (b scaled).T for (M, K), (N, K) and (M, N) tensors, with (M, K / 32) and (N, K / 32) scales."""
    op = warp.MmaMXF4Op(a.element_type, cutlass.Float32, scales_a.element_type)
    gemm_kernel(a, b, scales_a, scales_b, c, cute.make_tiled_mma(op)).launch(
        grid=[c.shape[0] // TILE, c.shape[1] // TILE, 1], block=[32, 1, 1]
    )


def reference(a, b, scales_a, scales_b, c):
    """The expected `c`; all but `c` have to convert to f32."""

    def scaled(matrix, scales):
        return matrix.astype("float32") * scales.astype("float32").repeat(VECTOR, axis=1)

    return scaled(a, scales_a) @ scaled(b, scales_b).T
