"""Sum a warp's numbers by shuffles whose member mask names half of the warp that executes them."""

# cutecc: entry = "mask_of_half_the_warp"
# cutecc: target = "sm_80"
# cutecc: args.x = "i32[32]"
# cutecc: args.y = "i32[32]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]

import cutlass
from cutlass import cute


@cute.kernel
def sum_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    lane, _, _ = cute.arch.thread_idx()
    members = 0xFFFF if cutlass.const_expr(bug) else 0xFFFFFFFF
    total = x[lane]
    for distance in cutlass.range_constexpr(5):
        total += cute.arch.shuffle_sync_bfly(total, 1 << distance, members)  # bug: barrier, mend: "or all 32"
    y[lane] = total


@cute.jit
def mask_of_half_the_warp(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = the sum of x, for each lane."""
    sum_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[32, 1, 1])


def reference(x, y):
    """The expected `y`."""
    y[:] = x.sum()
    return y
