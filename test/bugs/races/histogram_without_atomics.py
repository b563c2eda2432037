"""Count values in shared memory by load, add and store, where an atomic addition is needed."""

# cutecc: entry = "histogram_without_atomics"
# cutecc: target = "sm_80"
# cutecc: args.x = "i32[128]"
# cutecc: args.counts = "i32[8]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["counts"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 128
BINS = 8


@cute.kernel
def count_kernel(x: cute.Tensor, counts: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    bins = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(BINS))
    if thread < BINS:
        bins[thread] = 0
    cute.arch.sync_threads()
    value = x[thread] & (BINS - 1)
    if cutlass.const_expr(bug):
        bins[value] = bins[value] + 1  # bug: race, mend: "atomic_add"
    else:
        cute.arch.atomic_add(bins.iterator + value, cutlass.Int32(1))
    cute.arch.sync_threads()
    if thread < BINS:
        counts[thread] = bins[thread]


@cute.jit
def histogram_without_atomics(x: cute.Tensor, counts: cute.Tensor, bug: cutlass.Constexpr):
    """counts[b] = how many elements of x have b as their low three bits."""
    count_kernel(x, counts, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, counts):
    """The expected `counts`."""
    import numpy as np

    return np.bincount(x & 7, minlength=8).astype("int32")
