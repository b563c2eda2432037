"""GEMM on 8-bit floats (e4m3) with warp-level MMA for Blackwell workstation GPUs, one warp a 32 x 32 tile.

Exercises fp8 `mma.sync`, one-byte fragments loaded from global memory, and an architecture-specific target.
"""

# cutecc: entry = "mma_fp8_sm120"
# cutecc: target = "sm_120a"
# cutecc: args.a = "f8E4M3FN[?M{div=32}=64, ?K{div=32}=96] align=16"
# cutecc: args.b = "f8E4M3FN[?N{div=32}=96, ?K{div=32}] align=16"
# cutecc: args.c = "f32[?M, ?N{div=32}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: tolerance = 1e-4
# cutecc: bytes = "M * K + N * K + 4 * M * N"
# cutecc: flops = "2 * M * N * K"

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import warp

TILE, TILE_K = 32, 32


@cute.kernel
def fp8_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, tiled_mma: cute.TiledMma):
    lane, _, _ = cute.arch.thread_idx()
    block_m, block_n, _ = cute.arch.block_idx()
    mma_slice = tiled_mma.get_slice(lane)
    thread_a = mma_slice.partition_A(cute.local_tile(a, (TILE, TILE_K), (block_m, None)))
    thread_b = mma_slice.partition_B(cute.local_tile(b, (TILE, TILE_K), (block_n, None)))
    thread_c = mma_slice.partition_C(cute.local_tile(c, (TILE, TILE), (block_m, block_n)))

    fragment_a = tiled_mma.make_fragment_A(thread_a[None, None, None, 0])
    fragment_b = tiled_mma.make_fragment_B(thread_b[None, None, None, 0])
    sums = tiled_mma.make_fragment_C(thread_c)
    sums.fill(0.0)
    for step in range(cute.size(thread_a, mode=[3])):
        cute.autovec_copy(thread_a[None, None, None, step], fragment_a)
        cute.autovec_copy(thread_b[None, None, None, step], fragment_b)
        cute.gemm(tiled_mma, sums, fragment_a, fragment_b, sums)
    cute.autovec_copy(sums, thread_c)


@cute.jit
def mma_fp8_sm120(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """c = a @ b.T for (M, K), (N, K) and (M, N) tensors whose sizes 32 divides."""
    op = warp.MmaFP8Op(cutlass.Float8E4M3FN, cutlass.Float32, (16, 8, 32))
    fp8_kernel(a, b, c, cute.make_tiled_mma(op)).launch(
        grid=[c.shape[0] // TILE, c.shape[1] // TILE, 1], block=[32, 1, 1]
    )


def reference(a, b, c):
    """The expected `c`; `a` and `b` have to convert to f32."""
    return a.astype("float32") @ b.astype("float32").T
