"""Steps through the coordinates of a shape with `cute.increment_coord`, beyond the last too.

Thread i goes i steps from the first coordinate, so it is at the i-th; its row of y has the coordinate's numbers.
"""

# cutecc: entry = "Steps('flat')"
# cutecc: target = "sm_80"
# cutecc: args.rows = "i32=3"
# cutecc: args.y = "i32[32, 3]"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
import numpy
from cutlass import cute

THREADS = 32
ROWS = 3


class Steps:
    """Through (3,4,2), as a kind of shape has it: known, nested, of numbers that only the running kernel has."""

    def __init__(self, kind: str):
        self.kind = kind

    @cute.kernel
    def kernel(self, rows: cutlass.Int32, y: cute.Tensor):
        thread, _, _ = cute.arch.thread_idx()
        i, j, k = cutlass.Int32(0), cutlass.Int32(0), cutlass.Int32(0)
        for _ in cutlass.range(thread):
            if cutlass.const_expr(self.kind == "flat"):
                i, j, k = cute.increment_coord((i, j, k), (3, 4, 2))
            elif cutlass.const_expr(self.kind == "nested"):
                (i, j), k = cute.increment_coord(((i, j), k), ((3, 4), 2))
            elif cutlass.const_expr(self.kind == "dynamic"):
                i, (j, k) = cute.increment_coord((i, (j, k)), (rows, (rows + 1, 2)))
            else:
                i, j, k = cute.increment_coord((cutlass.Int64(i), j, k), (3, rows + 1, 2))
                i = cutlass.Int32(i)
        y[thread, 0], y[thread, 1], y[thread, 2] = i, j, k

    @cute.jit
    def __call__(self, rows: cutlass.Int32, y: cute.Tensor):
        self.kernel(rows, y).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def coordinates(rows):
    """The expected `y`: the last number has no end."""
    step = numpy.arange(THREADS)
    return numpy.stack([step % ROWS, step // ROWS % 4, step // ROWS // 4], axis=1).astype("int32")
