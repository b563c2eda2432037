"""A sum of one warp is put into shared memory by the first thread of every warp."""

# cutecc: entry = "published_by_every_warp"
# cutecc: target = "sm_80"
# cutecc: args.x = "i32[128]"
# cutecc: args.y = "i32[128]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 128


@cute.kernel
def share_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    shared = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(1))
    total = cute.arch.warp_reduction_sum(x[thread])
    if thread % 32 == 0 and (bug or thread == 0):
        shared[0] = total  # bug: race, mend: "one thread alone"
    cute.arch.sync_threads()
    y[thread] = shared[0]


@cute.jit
def published_by_every_warp(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = the sum of the first 32 elements of x, everywhere."""
    share_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    import numpy as np

    return np.full(THREADS, x[:32].sum(dtype="int32"))
