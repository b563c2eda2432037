"""Sums of the exponentials of rows, each less the maximum of its part of the row: 128 elements a thread in registers.

Exercises a large fragment that several loops read and write, and that is reduced as a value.
"""

# cutecc: entry = "wide_reduction"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[?M=7, 4096] align=16"
# cutecc: args.y = "f32[?M]"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 1e-3

import cutlass
from cutlass import cute

PART, LANES = 128, 32


@cute.kernel
def reduction_kernel(x: cute.Tensor, y: cute.Tensor):
    lane, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    values = cute.make_rmem_tensor((1, PART), cutlass.Float32)
    cute.autovec_copy(cute.local_tile(x, (1, PART), (row, lane)), values)
    greatest = values[0, 0]
    for i in range(1, PART):
        greatest = cutlass.max(greatest, values[0, i])
    total = cutlass.Float32(0.0)
    for i in range(PART):
        values[0, i] = cute.math.exp(values[0, i] - greatest)
        total += values[0, i]
    squares = values.load() * values.load()
    total += squares.reduce(cute.ReductionOp.ADD, 0.0, 0)
    total = cute.arch.warp_reduction_sum(total)
    if lane == 0:
        y[row] = total


@cute.jit
def wide_reduction(x: cute.Tensor, y: cute.Tensor):
    """y is of each row the sum of e + e², e = exp(x - m), with m the maximum of each 128 neighbours."""
    reduction_kernel(x, y).launch(grid=[x.shape[0], 1, 1], block=[LANES, 1, 1])


def reference(x, y):
    """The expected `y`."""
    import numpy as np

    parts = x.reshape(len(x), LANES, PART)
    e = np.exp(parts - parts.max(axis=2, keepdims=True))
    return (e + e * e).sum(axis=(1, 2))
