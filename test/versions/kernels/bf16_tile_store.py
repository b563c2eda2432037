"""Scale bf16 tiles, 8 × 8 elements a thread: rows are rounded one by one, and the tile is stored at once.

NVIDIA/cutlass #3463 reports of 4.7.0 that such tiles are rounded and stored element by element, by 64 `st.global.b16`,
where 4.5.3 stored 8 times 128 bits; libNVVM was suspected. 4.6.0 does the same, 4.6.3 and 4.7.1 do not.
The traced module differs already: `cute.right_inverse` of the layout in memory, `(8,8):(?,1)`, is `8:1` in 4.6.0 and
4.7.0, and `8:8` in the others. By it `cute.autovec_copy` chooses its copy atom, of 16 bits instead of 128.
"""

# cutecc: entry = "scale"
# cutecc: target = "sm_90a"
# cutecc: args.src = "bf16[?M{div=8}=64, ?N{div=8}=256] align=16"
# cutecc: args.dst = "bf16[?M{div=8}, ?N{div=8}] align=16"
# cutecc: args.factor = "f32=1.5"
# cutecc: reference = "reference"
# cutecc: outputs = ["dst"]
# cutecc: ulp = 1
# cutecc: bytes = "4 * M * N"

import cutlass
from cutlass import cute

TILE = (8, 8)
THREADS = 32


@cute.kernel
def scale_kernel(src: cute.Tensor, dst: cute.Tensor, factor: cutlass.Float32):
    thread, _, _ = cute.arch.thread_idx()
    block_n, block_m, _ = cute.arch.block_idx()
    tile = (block_m, block_n * THREADS + thread)
    if tile[1] * TILE[1] < src.shape[1]:
        source = cute.local_tile(src, TILE, tile)
        loaded = cute.make_fragment_like(source)
        cute.autovec_copy(source, loaded)
        scaled = cute.make_fragment_like(source)
        for row in cutlass.range_constexpr(TILE[0]):
            scaled[row, None].store((loaded[row, None].load().to(cutlass.Float32) * factor).to(cutlass.BFloat16))
        cute.autovec_copy(scaled, cute.local_tile(dst, TILE, tile))


@cute.jit
def scale(src: cute.Tensor, dst: cute.Tensor, factor: cutlass.Float32):
    """dst = factor * src for (M, N) tensors of contiguous rows; 8 divides both."""
    rows, columns = src.shape
    scale_kernel(src, dst, factor).launch(
        grid=[cute.ceil_div(columns, TILE[1] * THREADS), rows // TILE[0], 1], block=[THREADS, 1, 1]
    )


def reference(src, dst, factor):
    """The expected `dst`."""
    return src * factor
