"""Sum 16 elements with a shuffle of the whole warp, by the lanes that have one."""

# cutecc: entry = "sum_by_half_a_warp"
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
def sum_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    lane = cute.arch.lane_idx()
    value = cutlass.Float32(0.0)
    if lane < 16:
        value = x[thread]
        if cutlass.const_expr(bug):
            value += cute.arch.shuffle_sync_bfly(value, offset=8)  # check: check-partial-warps, mend: "mask=0x0000ffff"
        else:
            value += cute.arch.shuffle_sync_bfly(value, offset=8, mask=0xFFFF)
    y[thread] = value


@cute.jit
def sum_by_half_a_warp(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x plus what is 8 lanes away, in the first half of each warp."""
    sum_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[64, 1, 1])


def reference(x, y):
    """The expected `y`."""
    rows = x.reshape(2, 32)[:, :16]
    y.reshape(2, 32)[:, :16] = rows + rows[:, [*range(8, 16), *range(8)]]
    y.reshape(2, 32)[:, 16:] = 0
    return y
