"""The first thread broadcasts a sum to the block, and the next sum before everyone has read it."""

# cutecc: entry = "broadcast_overwritten"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[4]"
# cutecc: args.y = "f32[4, 64]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 64


@cute.kernel
def broadcast_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    shared = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(1))
    for row in cutlass.range(cute.size(x), unroll=1):
        if thread == 0:
            shared[0] = x[row] + 1.0  # bug: race
        cute.arch.sync_threads()
        y[row, thread] = shared[0]  # other
        if cutlass.const_expr(not bug):
            cute.arch.sync_threads()


@cute.jit
def broadcast_overwritten(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """Every row of y = the element of x, plus one."""
    broadcast_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    import numpy as np

    return np.broadcast_to(x[:, None] + np.float32(1), y.shape)
