"""Convolution with 5 x 5 weights, 8 x 4 elements a thread, over a window and weights in registers.

Exercises four loops that index three register tensors.
"""

# cutecc: entry = "window_convolution"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[?H=68, ?W=132]"
# cutecc: args.w = "f32[5, 5]"
# cutecc: args.y = "f32[?P{div=64}=64, ?Q{div=128}=128]"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 1e-4

import cutlass
from cutlass import cute

TAPS = 5
ROWS, COLUMNS = 8, 4  # of a thread
BLOCK_ROWS, BLOCK_COLUMNS = 8, 32  # threads


@cute.kernel
def convolution_kernel(x: cute.Tensor, w: cute.Tensor, y: cute.Tensor):
    thread_n, thread_m, _ = cute.arch.thread_idx()
    block_n, block_m, _ = cute.arch.block_idx()
    row, column = (block_m * BLOCK_ROWS + thread_m) * ROWS, (block_n * BLOCK_COLUMNS + thread_n) * COLUMNS
    window = cute.make_rmem_tensor((ROWS + TAPS - 1, COLUMNS + TAPS - 1), cutlass.Float32)
    weights = cute.make_rmem_tensor((TAPS, TAPS), cutlass.Float32)
    sums = cute.make_rmem_tensor((ROWS, COLUMNS), cutlass.Float32)
    sums.fill(0.0)
    for r in range(TAPS):
        for s in range(TAPS):
            weights[r, s] = w[r, s]
    for i in range(ROWS + TAPS - 1):
        for j in range(COLUMNS + TAPS - 1):
            window[i, j] = x[row + i, column + j]
    for r in range(TAPS):
        for s in range(TAPS):
            for i in range(ROWS):
                for j in range(COLUMNS):
                    sums[i, j] += window[i + r, j + s] * weights[r, s]
    for i in range(ROWS):
        for j in range(COLUMNS):
            y[row + i, column + j] = sums[i, j]


@cute.jit
def window_convolution(x: cute.Tensor, w: cute.Tensor, y: cute.Tensor):
    """y[p, q] is the sum of x[p + r, q + s] * w[r, s]; x has four rows and columns more than y."""
    rows, columns = y.shape
    grid = [cute.ceil_div(columns, BLOCK_COLUMNS * COLUMNS), cute.ceil_div(rows, BLOCK_ROWS * ROWS), 1]
    convolution_kernel(x, w, y).launch(grid=grid, block=[BLOCK_COLUMNS, BLOCK_ROWS, 1])


def reference(x, w, y):
    """The expected `y`."""
    rows, columns = y.shape
    return sum(x[r : r + rows, s : s + columns] * w[r, s] for r in range(TAPS) for s in range(TAPS))
