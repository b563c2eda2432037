"""Shift a tile by one through shared memory, which has no room for the element behind the last."""

# cutecc: entry = "shared_past_end"
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


@cute.kernel
def shift_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(THREADS + 1 - bug))
    if thread == 0:
        tile[0] = 0.0
    tile[thread + 1] = x[thread]  # bug: out-of-bounds
    cute.arch.sync_threads()
    y[thread] = tile[thread]


@cute.jit
def shared_past_end(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x shifted by one, 0 in front."""
    shift_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    import numpy as np

    return np.concatenate([[0], x[:-1]]).astype("float32")
