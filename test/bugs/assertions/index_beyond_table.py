"""An assertion in the kernel that does not hold for the last thread."""

# cutecc: entry = "index_beyond_table"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[64]"
# cutecc: args.y = "f32[64]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 64


@cute.kernel
def shift_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    index = thread + 1 if cutlass.const_expr(bug) else (thread + 1) % THREADS
    cute.testing.assert_(index < THREADS, "index beyond the table")  # bug: trap
    y[thread] = x[index % THREADS]  # also: out-of-bounds


@cute.jit
def index_beyond_table(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x, moved to the left by one."""
    shift_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    import numpy as np

    return np.roll(x, -1)
