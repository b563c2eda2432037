"""A stencil in shared memory: the inner part of the tile is filled, its right border is not."""

# cutecc: entry = "halo_not_filled"
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
def stencil_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(THREADS + 2))
    tile[thread + 1] = x[thread]
    if thread == 0:
        tile[0] = 0.0
        if cutlass.const_expr(not bug):
            tile[THREADS + 1] = 0.0
    cute.arch.sync_threads()
    y[thread] = tile[thread] + tile[thread + 2]  # bug: uninitialised-shared


@cute.jit
def halo_not_filled(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = the sum of both neighbours, 0 beyond the ends."""
    stencil_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    import numpy as np

    padded = np.pad(x, 1)
    return padded[:-2] + padded[2:]
