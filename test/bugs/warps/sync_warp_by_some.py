"""Exchange elements in shared memory with a sync_warp() that half of the lanes come to."""

# cutecc: entry = "sync_warp_by_some"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[64]"
# cutecc: args.y = "f32[64]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute


@cute.kernel
def exchange_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(64))
    tile[thread] = x[thread]
    if cutlass.const_expr(bug):
        if thread % 2 == 0:
            cute.arch.sync_warp()  # check: check-partial-warps, mend: "move it out of the branch"
    else:
        cute.arch.sync_warp()
    y[thread] = tile[thread ^ 1]


@cute.jit
def sync_warp_by_some(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x with neighbours exchanged."""
    exchange_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[64, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x.reshape(32, 2)[:, ::-1].reshape(64)
