"""Two pairs of warps exchange halves, but each pair meets at a barrier of its own."""

# cutecc: entry = "wrong_barrier_id"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[128]"
# cutecc: args.y = "f32[128]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 128
PAIR = 64


@cute.kernel
def exchange_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(THREADS))
    tile[thread] = x[thread]  # other
    if cutlass.const_expr(bug):
        cute.arch.barrier(barrier_id=1 + cute.arch.warp_idx() // 2, number_of_threads=PAIR)
    else:
        cute.arch.barrier(barrier_id=1, number_of_threads=THREADS)
    y[thread] = tile[thread ^ PAIR]  # bug: race


@cute.jit
def wrong_barrier_id(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = the halves of x swapped."""
    exchange_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    import numpy as np

    return np.roll(x, 64)
