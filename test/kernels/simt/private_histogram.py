"""A histogram of 64 bins for each thread, in registers, by comparing each number with every bin.

Exercises conditional updates of a fragment in two plain loops.
"""

# cutecc: entry = "private_histogram"
# cutecc: target = "sm_80"
# cutecc: args.x = "i32[2048]"
# cutecc: args.y = "i32[64, 64]"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

BINS, EACH, THREADS = 64, 32, 64


@cute.kernel
def histogram_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    bins = cute.make_rmem_tensor((BINS,), cutlass.Int32)
    bins.fill(0)
    for i in range(EACH):
        number = x[thread * EACH + i] & (BINS - 1)
        for bin in range(BINS):
            if number == bin:
                bins[bin] += 1
    for bin in range(BINS):
        y[bin, thread] = bins[bin]


@cute.jit
def private_histogram(x: cute.Tensor, y: cute.Tensor):
    """y[b, t] says how often b is among the 32 numbers of thread t, of which the last six bits count."""
    histogram_kernel(x, y).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    import numpy as np

    return (x.reshape(THREADS, EACH)[None] % BINS == np.arange(BINS)[:, None, None]).sum(axis=2).astype("int32")
