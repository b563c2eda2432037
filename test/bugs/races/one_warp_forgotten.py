"""All warps read what is broadcast; one of them is not waited for before the next value is written."""

# cutecc: entry = "one_warp_forgotten"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[2]"
# cutecc: args.y = "f32[2, 128]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 128


@cute.kernel
def broadcast_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    shared = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(1))
    if thread == 0:
        shared[0] = x[0] + 1.0
    cute.arch.sync_threads()
    y[0, thread] = shared[0]  # other
    if cutlass.const_expr(bug):
        if warp != 1:
            cute.arch.barrier(barrier_id=1, number_of_threads=THREADS - 32)
    else:
        cute.arch.sync_threads()
    if thread == 0:
        shared[0] = x[1] + 1.0  # bug: race
    cute.arch.sync_threads()
    y[1, thread] = shared[0]


@cute.jit
def one_warp_forgotten(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """Every row of y = the element of x, plus one."""
    broadcast_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    import numpy as np

    return np.broadcast_to(x[:, None] + np.float32(1), y.shape)
