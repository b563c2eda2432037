"""A block's sum through shared memory: all 32 places are added, and a block of 2 warps writes 2."""

# cutecc: entry = "sums_of_absent_warps"
# cutecc: target = "sm_80"
# cutecc: args.x = "i32[64]"
# cutecc: args.y = "i32[1]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 64
WARPS = 32


@cute.kernel
def sum_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    lane = cute.arch.lane_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    partial = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(WARPS))
    total = cute.arch.warp_reduction(x[thread], lambda a, b: a + b)
    if cutlass.const_expr(not bug):
        if warp == 0:
            partial[lane] = 0
        cute.arch.sync_threads()
    if lane == 0:
        partial[warp] = total
    cute.arch.sync_threads()
    if warp == 0:
        every = partial[lane]  # bug: uninitialised-shared, mend: "partial[2]"
        every = cute.arch.warp_reduction(every, lambda a, b: a + b)
        if lane == 0:
            y[0] = every


@cute.jit
def sums_of_absent_warps(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = the sum of x."""
    sum_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x.sum(keepdims=True, dtype="int32")
