"""A named barrier for as many threads as have an element, which are not whole warps."""

# cutecc: entry = "barrier_of_part_of_a_warp"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[?N=48]"
# cutecc: args.y = "f32[?N]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 64


@cute.kernel
def reverse_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    count = cute.size(x)
    tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(THREADS))
    if thread < count:
        tile[thread] = x[thread]
    cute.arch.barrier(barrier_id=1, number_of_threads=count if bug else THREADS)  # bug: barrier, also: deadlock
    if thread < count:
        y[thread] = tile[count - 1 - thread]  # also: race


@cute.jit
def barrier_of_part_of_a_warp(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x backwards."""
    reverse_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x[::-1]
