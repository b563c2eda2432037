"""GEMM on f32 data rounded to tf32, one warp a 32 x 32 tile, operands straight from global memory.

Exercises tf32 `mma.sync`, conversion of register fragments, and partitioning of global tensors by a tiled MMA.
"""

# cutecc: entry = "mma_tf32"
# cutecc: target = "sm_80"
# cutecc: args.a = "f32[?M{div=32}=96, ?K{div=16}=80]"
# cutecc: args.b = "f32[?N{div=32}=64, ?K{div=16}]"
# cutecc: args.c = "f32[?M, ?N]"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: tolerance = 5e-4
# cutecc: bytes = "4 * (M * K + N * K + M * N)"
# cutecc: flops = "2 * M * N * K"

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import warp

TILE, TILE_K = 32, 16


@cute.jit
def round_to_tf32(source: cute.Tensor, target: cute.Tensor):
    """target = source, each element rounded to the nearest tf32, ties away from zero."""
    bits = cute.recast_tensor(target, cutlass.Int32)
    for i in cutlass.range_constexpr(cute.size(bits)):
        bits[i] = cutlass.Int32(cute.arch.cvt_f32_tf32(source[i]))


@cute.kernel
def tf32_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, tiled_mma: cute.TiledMma):
    lane, _, _ = cute.arch.thread_idx()
    block_m, block_n, _ = cute.arch.block_idx()
    mma_slice = tiled_mma.get_slice(lane)
    thread_a = mma_slice.partition_A(cute.local_tile(a, (TILE, TILE_K), (block_m, None)))
    thread_b = mma_slice.partition_B(cute.local_tile(b, (TILE, TILE_K), (block_n, None)))
    thread_c = mma_slice.partition_C(cute.local_tile(c, (TILE, TILE), (block_m, block_n)))

    # The MMA takes its operands' registers in its own order, not in the order that the tensors have in memory.
    fragment_a = cute.make_rmem_tensor(tiled_mma.partition_shape_A((TILE, TILE_K)), cutlass.TFloat32)
    fragment_b = cute.make_rmem_tensor(tiled_mma.partition_shape_B((TILE, TILE_K)), cutlass.TFloat32)
    sums = cute.make_fragment_like(thread_c)
    sums.fill(0.0)
    for step in range(cute.size(thread_a, mode=[3])):
        round_to_tf32(thread_a[None, None, None, step], fragment_a)
        round_to_tf32(thread_b[None, None, None, step], fragment_b)
        cute.gemm(tiled_mma, sums, fragment_a, fragment_b, sums)
    thread_c.store(sums.load())


@cute.jit
def mma_tf32(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """c = a @ b.T for (M, K), (N, K) and (M, N) tensors whose sizes the tile divides."""
    tiled_mma = cute.make_tiled_mma(warp.MmaTF32Op((16, 8, 8)))
    tf32_kernel(a, b, c, tiled_mma).launch(grid=[c.shape[0] // TILE, c.shape[1] // TILE, 1], block=[32, 1, 1])


def reference(a, b, c):
    """The expected `c`, from operands rounded to 10 bits of mantissa."""
    a, b = (((v.view("uint32") + 0x1000) & 0xFFFFE000).view("float32").astype("float64") for v in (a, b))
    return (a @ b.T).astype("float32")
