"""A tree reduction whose barrier stands in front of the loop, not in it."""

# cutecc: entry = "reduction_barrier_outside_loop"
# cutecc: target = "sm_80"
# cutecc: args.x = "i32[128]"
# cutecc: args.total = "i32[1]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["total"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 128


@cute.kernel
def sum_kernel(x: cute.Tensor, total: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    partial = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(THREADS))
    partial[thread] = x[thread]
    cute.arch.sync_threads()
    half = cutlass.Int32(THREADS // 2)
    while half > 0:
        if thread < half:
            partial[thread] = partial[thread] + partial[thread + half]  # bug: race
        if cutlass.const_expr(not bug):
            cute.arch.sync_threads()
        half = half // 2
    if thread == 0:
        total[0] = partial[0]


@cute.jit
def reduction_barrier_outside_loop(x: cute.Tensor, total: cute.Tensor, bug: cutlass.Constexpr):
    """total = x.sum()."""
    sum_kernel(x, total, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, total):
    """The expected `total`."""
    return x.sum(dtype="int32").reshape(1)
