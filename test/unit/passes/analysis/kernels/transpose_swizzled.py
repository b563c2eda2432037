"""Transpose through a shared-memory tile whose columns a swizzle spreads over all banks."""

# cutecc: entry = "transpose_swizzled"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[?M=70, ?N=96]"
# cutecc: args.y = "f32[?N, ?M]"
# cutecc: outputs = ["y"]

import cutlass
from cutlass import cute

TILE = 32
ROWS = 8  # rows of a tile that the block's 32 x 8 threads copy at once


@cute.kernel
def transpose_kernel(x: cute.Tensor, y: cute.Tensor):
    lane, row, _ = cute.arch.thread_idx()
    block_n, block_m, _ = cute.arch.block_idx()
    plain = cute.make_layout((TILE, TILE), stride=(TILE, 1))
    rows = cute.make_composed_layout(cute.make_swizzle(5, 0, 5), 0, plain)
    tile = cutlass.utils.SmemAllocator().allocate_tensor(x.element_type, rows, byte_alignment=128)

    for i in cutlass.range_constexpr(TILE // ROWS):
        m, n = block_m * TILE + row + i * ROWS, block_n * TILE + lane
        if cute.elem_less((m, n), x.shape):
            tile[row + i * ROWS, lane] = x[m, n]
    cute.arch.sync_threads()
    for i in cutlass.range_constexpr(TILE // ROWS):
        n, m = block_n * TILE + row + i * ROWS, block_m * TILE + lane
        if cute.elem_less((n, m), y.shape):
            y[n, m] = tile[lane, row + i * ROWS]


@cute.jit
def transpose_swizzled(x: cute.Tensor, y: cute.Tensor):
    """y = x.T for an (M, N) tensor."""
    rows, columns = x.shape
    grid = [cute.ceil_div(columns, TILE), cute.ceil_div(rows, TILE), 1]
    transpose_kernel(x, y).launch(grid=grid, block=[TILE, ROWS, 1])
