"""Counts in a thread's own table, which is indexed by what is read: nobody has cleared it."""

# cutecc: entry = "table_not_cleared"
# cutecc: target = "sm_80"
# cutecc: args.x = "i32[32, 5]"
# cutecc: args.y = "i32[32, 8]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 32
BINS = 8


@cute.kernel
def count_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    counts = cute.make_rmem_tensor((BINS,), cutlass.Int32)  # mend: "counts.fill(0)"
    if cutlass.const_expr(not bug):
        counts.fill(0)
    for i in cutlass.range(x.shape[1], unroll=1):
        counts[x[thread, i] & (BINS - 1)] += 1
    for i in cutlass.range(BINS, unroll=1):
        y[thread, i] = counts[i]  # bug: uninitialised-register


@cute.jit
def table_not_cleared(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = how often each of the lowest bits occurs in each row of x."""
    count_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    import numpy as np

    return np.stack([np.bincount(row & 7, minlength=8) for row in x]).astype("int32")
