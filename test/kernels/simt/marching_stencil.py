"""Means of nine neighbours along the first mode, in double precision: a window in registers that moves plane by plane.

Exercises a fragment that a loop shifts, inside a loop of a known number of turns.
"""

# cutecc: entry = "marching_stencil"
# cutecc: target = "sm_80"
# cutecc: args.x = "f64[40, 16, 64]"
# cutecc: args.y = "f64[40, 16, 64]"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 1e-10

import cutlass
from cutlass import cute

RADIUS = 4
WINDOW = 2 * RADIUS + 1
ROWS, COLUMNS = 8, 32  # threads


@cute.kernel
def stencil_kernel(x: cute.Tensor, y: cute.Tensor):
    thread_n, thread_m, _ = cute.arch.thread_idx()
    block_n, block_m, _ = cute.arch.block_idx()
    row, column = block_m * ROWS + thread_m, block_n * COLUMNS + thread_n
    planes = x.shape[0]
    window = cute.make_rmem_tensor((WINDOW,), cutlass.Float64)
    for i in range(WINDOW):
        window[i] = x[i, row, column]
    for i in range(RADIUS):
        y[i, row, column] = cutlass.Float64(0.0)
        y[planes - 1 - i, row, column] = cutlass.Float64(0.0)
    for plane in range(RADIUS, planes - RADIUS):
        total = cutlass.Float64(0.0)
        for i in range(WINDOW):
            total += window[i] * (1.0 / WINDOW)
        for i in range(WINDOW - 1):
            window[i] = window[i + 1]
        if plane + RADIUS + 1 < planes:
            window[WINDOW - 1] = x[plane + RADIUS + 1, row, column]
        y[plane, row, column] = total


@cute.jit
def marching_stencil(x: cute.Tensor, y: cute.Tensor):
    """y is the mean of the four planes on each side of x and its own; zero where there are not so many."""
    _, rows, columns = x.shape
    stencil_kernel(x, y).launch(grid=[columns // COLUMNS, rows // ROWS, 1], block=[COLUMNS, ROWS, 1])


def reference(x, y):
    """The expected `y`."""
    import numpy as np

    expected = np.zeros_like(x)
    for plane in range(RADIUS, len(x) - RADIUS):
        expected[plane] = x[plane - RADIUS : plane + RADIUS + 1].mean(axis=0)
    return expected
