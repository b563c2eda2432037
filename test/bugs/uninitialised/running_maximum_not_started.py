"""Maxima of rows that go on from whatever is in the registers."""

# cutecc: entry = "running_maximum_not_started"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[16, 96]"
# cutecc: args.y = "f32[16, 32]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 32
ROWS = 16


@cute.kernel
def maximum_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    largest = cute.make_rmem_tensor((ROWS,), cutlass.Float32)  # mend: "largest.fill("
    if cutlass.const_expr(not bug):
        largest.fill(-cutlass.Float32.inf)
    for k in cutlass.range(x.shape[1] // THREADS, unroll=1):
        for row in cutlass.range_constexpr(ROWS):
            largest[row] = cute.arch.fmax(largest[row], x[row, k * THREADS + thread])  # bug: uninitialised-register
    for row in cutlass.range_constexpr(ROWS):
        y[row, thread] = largest[row]


@cute.jit
def running_maximum_not_started(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = for each thread, the maxima of its elements of each row."""
    maximum_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x.reshape(16, 3, 32).max(1)
