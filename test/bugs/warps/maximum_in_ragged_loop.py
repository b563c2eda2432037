"""Take the warp's maximum in a loop that lanes leave one after the other."""

# cutecc: entry = "maximum_in_ragged_loop"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[100]"
# cutecc: args.y = "f32[32]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute


@cute.kernel
def maximum_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    lane, _, _ = cute.arch.thread_idx()
    found = cutlass.Float32(-1000.0)
    if cutlass.const_expr(bug):
        for i in range(lane, 100, 32):
            found = cute.arch.fmax(found, x[i])
            first = cute.arch.shuffle_sync(found, 0)  # check: check-partial-warps, mend: "take as many rounds"
            found = cute.arch.fmax(found, first)
    else:
        for i in range(lane, 100, 32):
            found = cute.arch.fmax(found, x[i])
    y[lane] = cute.arch.warp_reduction_max(found)


@cute.jit
def maximum_in_ragged_loop(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = the largest element of x, for each lane."""
    maximum_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[32, 1, 1])


def reference(x, y):
    """The expected `y`."""
    y[:] = x.max()
    return y
