"""One thread keeps the maximum so far in shared memory; the others read it, and it goes on without waiting for them."""

# cutecc: entry = "running_maximum"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[4]"
# cutecc: args.y = "f32[4,64]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 64
ROUNDS = 4


@cute.kernel
def maximum_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    best = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(1))
    if thread == 0:
        best[0] = x[0]
    cute.arch.sync_threads()
    for i in cutlass.range(ROUNDS, unroll=1):
        if thread == 0:
            best[0] = cutlass.max(best[0], x[i])  # bug: race, mend: "sync_threads() belongs between the two"
        cute.arch.sync_threads()
        y[i, thread] = best[0]  # other
        if cutlass.const_expr(not bug):
            cute.arch.sync_threads()


@cute.jit
def running_maximum(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y[i] = the largest of x[:i + 1], in all columns."""
    maximum_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    import numpy as np

    return np.repeat(np.maximum.accumulate(x)[:, None], THREADS, axis=1)
