"""Differences of neighbours; the first element's left neighbour lies in front of the tensor."""

# cutecc: entry = "negative_index"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[128]"
# cutecc: args.y = "f32[128]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 128


@cute.kernel
def difference_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    left = thread - 1
    if cutlass.const_expr(not bug):
        left = max(left, 0)
    y[thread] = x[thread] - x[left]  # bug: out-of-bounds


@cute.jit
def negative_index(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y[i] = x[i] - x[i - 1], and y[0] = 0."""
    difference_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    import numpy as np

    return np.diff(x, prepend=x[:1])
