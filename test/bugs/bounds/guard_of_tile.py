"""Transpose a matrix that is narrower than the tile; the guard knows the tile's width only."""

# cutecc: entry = "guard_of_tile"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[5, 30]"
# cutecc: args.y = "f32[30, 5]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

TILE = 32


@cute.kernel
def transpose_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    column, row, _ = cute.arch.thread_idx()
    columns = x.shape[1]
    if cutlass.const_expr(bug):
        columns = TILE
    if column < columns:
        y[column, row] = x[row, column]  # bug: out-of-bounds


@cute.jit
def guard_of_tile(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x.T."""
    transpose_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[TILE, 5, 1])


def reference(x, y):
    """The expected `y`."""
    return x.T
