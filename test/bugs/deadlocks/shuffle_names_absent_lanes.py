"""Half of a warp shuffles under a mask of the whole warp, while the other half waits for what comes out."""

# cutecc: entry = "shuffle_names_absent_lanes"
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
    value = x[thread]
    mask = 0xFFFF
    if cutlass.const_expr(bug):
        mask = 0xFFFFFFFF
    if thread < 16:
        value = cute.arch.shuffle_sync_bfly(value, offset=1, mask=mask)  # bug: deadlock
        cute.arch.sync_warp(0xFFFFFFFF)
    else:
        cute.arch.sync_warp(0xFFFFFFFF)  # also: deadlock
    y[thread] = value


@cute.jit
def shuffle_names_absent_lanes(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x with neighbours swapped in the first half."""
    swap_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[32, 1, 1])


def reference(x, y):
    """The expected `y`."""
    y[:] = x
    y[:16].reshape(-1, 2)[:] = x[:16].reshape(-1, 2)[:, ::-1]
    return y
