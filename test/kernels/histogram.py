"""Histogram with counters in shared memory, cleared by a first kernel and merged by atomics.

Exercises two kernels in one host function, shared and global atomics, and a grid-stride loop.
"""

# cutecc: entry = "histogram"
# cutecc: target = "sm_80"
# cutecc: args.x = "i32[?N=10000]"
# cutecc: args.counts = "i32[64]"
# cutecc: args.extremes = "i32[2]"
# cutecc: reference = "reference"
# cutecc: outputs = ["counts", "extremes"]
# cutecc: tolerance = 0.0
# cutecc: bytes = "N * 4"

import cutlass
from cutlass import cute

BUCKETS = 64
THREADS = 128
BLOCKS = 8


@cute.kernel
def clear_kernel(counts: cute.Tensor, extremes: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    counts[thread] = 0
    if thread == 0:
        extremes[0] = 0x7FFFFFFF
        extremes[1] = -0x80000000


@cute.kernel
def count_kernel(x: cute.Tensor, counts: cute.Tensor, extremes: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    local = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(BUCKETS))
    if thread < BUCKETS:
        local[thread] = 0
    cute.arch.sync_threads()

    smallest = cutlass.Int32(0x7FFFFFFF)
    largest = cutlass.Int32(-0x80000000)
    for i in cutlass.range(block * THREADS + thread, cute.size(x), BLOCKS * THREADS):
        value = x[i]
        cute.arch.atomic_add(local.iterator + (value & (BUCKETS - 1)), cutlass.Int32(1))
        smallest = cutlass.min(smallest, value)
        largest = cutlass.max(largest, value)
    cute.arch.sync_threads()

    if thread < BUCKETS:
        cute.arch.atomic_add(counts.iterator + thread, local[thread])
    cute.arch.atomic_min(extremes.iterator, smallest)
    cute.arch.atomic_max(extremes.iterator + 1, largest)


@cute.jit
def histogram(x: cute.Tensor, counts: cute.Tensor, extremes: cute.Tensor):
    """counts[b] = how many of the N elements have the low bits b; extremes = the least and the greatest element."""
    clear_kernel(counts, extremes).launch(grid=[1, 1, 1], block=[BUCKETS, 1, 1])
    count_kernel(x, counts, extremes).launch(grid=[BLOCKS, 1, 1], block=[THREADS, 1, 1])


def reference(x, counts, extremes):
    """The expected `counts` and `extremes`."""
    import numpy as np

    count = np.bincount(x & (BUCKETS - 1), minlength=BUCKETS).astype("int32")
    return count, np.array([x.min(), x.max()], dtype="int32")
