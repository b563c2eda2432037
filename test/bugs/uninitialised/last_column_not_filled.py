"""Pad rows of 6 to 8 in registers, and fill one of the two columns."""

# cutecc: entry = "last_column_not_filled"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[64, 6]"
# cutecc: args.y = "f32[64, 8]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute


@cute.kernel
def pad_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    row = cute.make_rmem_tensor((2, 4), cutlass.Float32)
    for i in cutlass.range_constexpr(6):
        row[i] = x[thread, i]
    if cutlass.const_expr(bug):
        row[0, 3] = 0.0
    else:
        row[None, 3].fill(0.0)
    y[thread, None].store(row.load().reshape((8,)))  # check: check-uninitialised-fragments, mend: "the first at (1,3)"


@cute.jit
def last_column_not_filled(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x and two columns of zeros."""
    pad_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[64, 1, 1])


def reference(x, y):
    """The expected `y`."""
    y[:, :6], y[:, 6:] = x, 0
    return y
