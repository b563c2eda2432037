"""Sums of rows, a row a thread: neighbouring threads read a row's length apart, first single elements, then vectors."""

# cutecc: entry = "strided_rows"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[?M=96, ?N{div=4}=12] align=16"
# cutecc: args.y = "f32[?M]"
# cutecc: outputs = ["y"]

import cutlass
from cutlass import cute

THREADS = 64


@cute.kernel
def rows_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    row = block * THREADS + thread
    if row < cute.size(y):
        total = cutlass.Float32(0.0)
        for column in range(cute.size(x, mode=[1])):
            total += x[row, column]
        fours = cute.zipped_divide(x, (1, 4))
        four = cute.make_fragment_like(fours[None, (row, 0)])
        cute.autovec_copy(fours[None, (row, 0)], four)
        y[row] = total + four[0] * four[3]


@cute.jit
def strided_rows(x: cute.Tensor, y: cute.Tensor):
    """y = the sum of each row of an (M, N) tensor, and the product of two of its elements."""
    rows_kernel(x, y).launch(grid=[cute.ceil_div(cute.size(y), THREADS), 1, 1], block=[THREADS, 1, 1])
