"""Lanes exchange values in pairs across the halves of a warp, but each half synchronises by a mask of its own."""

# cutecc: entry = "exchange_through_wrong_warp_mask"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[32]"
# cutecc: args.y = "f32[32]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute


@cute.kernel
def swap_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(32))
    tile[thread] = x[thread]  # other
    if cutlass.const_expr(bug):
        mask = cutlass.Int32(0xFFFF)
        if thread >= 16:
            mask = cutlass.Int32(-65536)
        cute.arch.sync_warp(mask)
    else:
        cute.arch.sync_warp()
    y[thread] = tile[thread ^ 16]  # bug: race


@cute.jit
def exchange_through_wrong_warp_mask(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x with its halves swapped."""
    swap_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[32, 1, 1])


def reference(x, y):
    """The expected `y`."""
    import numpy as np

    return np.roll(x, 16)
