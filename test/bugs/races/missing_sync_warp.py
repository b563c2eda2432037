"""Swap neighbours within a warp through shared memory, as if a warp still ran in step."""

# cutecc: entry = "missing_sync_warp"
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
    if cutlass.const_expr(not bug):
        cute.arch.sync_warp()
    y[thread] = tile[thread ^ 1]  # bug: race, mend: "sync_warp()"


@cute.jit
def missing_sync_warp(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x with every pair of elements swapped."""
    swap_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[32, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x.reshape(-1, 2)[:, ::-1].reshape(-1)
