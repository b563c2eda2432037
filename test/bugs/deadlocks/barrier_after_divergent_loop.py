"""Threads go round a loop with a barrier in it as often as their row is long, not all equally often."""

# cutecc: entry = "barrier_after_divergent_loop"
# cutecc: target = "sm_80"
# cutecc: args.x = "i32[64]"
# cutecc: args.y = "i32[64]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 64


@cute.kernel
def sum_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(THREADS))
    rounds = cutlass.Int32(4)
    if cutlass.const_expr(bug):
        rounds = 1 + thread % 4
    tile[thread] = x[thread]
    total = cutlass.Int32(0)
    for i in cutlass.range(rounds, unroll=1):
        cute.arch.sync_threads()  # bug: divergent-barrier
        total += tile[(thread + i) % THREADS]
    y[thread] = total


@cute.jit
def barrier_after_divergent_loop(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = the sums of four neighbours."""
    sum_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    import numpy as np

    return sum(np.roll(x, -i) for i in range(4)).astype("int32")
