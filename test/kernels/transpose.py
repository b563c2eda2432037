"""Transpose through a shared-memory tile whose rows are padded by one element against bank conflicts.

Exercises shared memory with a static non-compact layout, barriers, edge tiles, and unrolled loops.
"""

# cutecc: entry = "transpose"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[?M=200, ?N=333]"
# cutecc: args.y = "f32[?N, ?M]"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0
# cutecc: bytes = "2 * M * N * 4"

import cutlass
from cutlass import cute

TILE = 32
ROWS = 8  # rows of a tile that the block's 32 x 8 threads copy at once


@cute.kernel
def transpose_kernel(x: cute.Tensor, y: cute.Tensor):
    lane, row, _ = cute.arch.thread_idx()
    block_n, block_m, _ = cute.arch.block_idx()

    padded = cute.make_layout((TILE, TILE), stride=(TILE + 1, 1))
    tile = cutlass.utils.SmemAllocator().allocate_tensor(x.element_type, padded, byte_alignment=16)

    for i in cutlass.range_constexpr(TILE // ROWS):
        m = block_m * TILE + row + i * ROWS
        n = block_n * TILE + lane
        if cute.elem_less((m, n), x.shape):
            tile[row + i * ROWS, lane] = x[m, n]
    cute.arch.sync_threads()

    # Neighbouring lanes now write neighbouring elements of a row of y: a column of the tile.
    for i in cutlass.range_constexpr(TILE // ROWS):
        n = block_n * TILE + row + i * ROWS
        m = block_m * TILE + lane
        if cute.elem_less((n, m), y.shape):
            y[n, m] = tile[lane, row + i * ROWS]


@cute.jit
def transpose(x: cute.Tensor, y: cute.Tensor):
    """y = x.T for an (M, N) tensor."""
    rows, columns = x.shape
    transpose_kernel(x, y).launch(
        grid=[cute.ceil_div(columns, TILE), cute.ceil_div(rows, TILE), 1],
        block=[TILE, ROWS, 1],
    )


def reference(x, y):
    """The expected `y`."""
    return x.T
