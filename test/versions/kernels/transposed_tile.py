"""Copy bf16 tiles through registers that hold them column by column, 8 × 8 elements a thread.

`cute.autovec_copy` takes the widest piece that lies alike on both sides. Here that is one element, as neighbours in the
registers are rows apart in memory. In 4.6.0 and 4.7.0 `cute.right_inverse` of `(8,8):(?,1)`, the layout in memory, is
`8:1` instead of `8:8` (`bf16_tile_store.py`). So the copy takes each column for contiguous, and stores its 8 elements
one after the other in a row: wrong results without a word. Not known to be reported.
"""

# cutecc: entry = "copy_tiles"
# cutecc: target = "sm_90a"
# cutecc: args.src = "bf16[?M{div=8}=64, ?N{div=8}=256] align=16"
# cutecc: args.dst = "bf16[?M{div=8}, ?N{div=8}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["dst"]
# cutecc: tolerance = 0.0
# cutecc: bytes = "4 * M * N"

import cutlass
from cutlass import cute

TILE = (8, 8)
THREADS = 32


@cute.kernel
def copy_kernel(src: cute.Tensor, dst: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block_n, block_m, _ = cute.arch.block_idx()
    tile = (block_m, block_n * THREADS + thread)
    if tile[1] * TILE[1] < src.shape[1]:
        source = cute.local_tile(src, TILE, tile)
        columns = cute.make_rmem_tensor(cute.make_layout(TILE, stride=(1, TILE[0])), src.element_type)
        for row in cutlass.range_constexpr(TILE[0]):
            for column in cutlass.range_constexpr(TILE[1]):
                columns[row, column] = source[row, column]
        cute.autovec_copy(columns, cute.local_tile(dst, TILE, tile))


@cute.jit
def copy_tiles(src: cute.Tensor, dst: cute.Tensor):
    """dst = src for (M, N) tensors of contiguous rows; 8 divides both."""
    rows, columns = src.shape
    copy_kernel(src, dst).launch(
        grid=[cute.ceil_div(columns, TILE[1] * THREADS), rows // TILE[0], 1], block=[THREADS, 1, 1]
    )


def reference(src, dst):
    """The expected `dst`."""
    return src + 0
