"""Sums over rows that a warp adds up together, in loops of several turns at once.

`Unrolled(turns)` is what is launched.
"""

import cutlass
from cutlass import cute


class Unrolled:
    """y[t] = the sum of row after row at t's neighbour, each weighed by what is there already."""

    def __init__(self, turns: int):
        self.turns = turns

    @cute.kernel
    def kernel(self, x: cute.Tensor, begin: cutlass.Int32, end: cutlass.Int32, step: cutlass.Int32, y: cute.Tensor):
        thread, _, _ = cute.arch.thread_idx()
        total, last = cutlass.Float32(0), cutlass.Int32(-1)
        for row in cutlass.range(begin, end, step, unroll=self.turns):
            total = total * 0.5 + cute.arch.shuffle_sync_bfly(x[row, thread], offset=1)
            last = row
        y[thread] = total + last

    @cute.jit
    def __call__(self, x: cute.Tensor, begin: cutlass.Int32, end: cutlass.Int32, step: cutlass.Int32, y: cute.Tensor):
        self.kernel(x, begin, end, step, y).launch(grid=[1, 1, 1], block=[32, 1, 1])
