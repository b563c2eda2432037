"""Double a vector; the bounds check lets one thread too many through."""

# cutecc: entry = "write_past_end"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[?N=101]"
# cutecc: args.y = "f32[?N]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 128


@cute.kernel
def fill_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    last = cute.size(y) - 1 + bug
    if thread <= last:
        y[thread] = x[0]  # bug: out-of-bounds


@cute.jit
def write_past_end(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x[0] everywhere."""
    fill_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    y[:] = x[0]
    return y
