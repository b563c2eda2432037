"""Ask for the index of the warp, which is a shuffle, where one thread of it is."""

# cutecc: entry = "warp_index_in_elected_code"
# cutecc: target = "sm_90a"
# cutecc: args.y = "i32[4]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute


@cute.kernel
def number_kernel(y: cute.Tensor, bug: cutlass.Constexpr):
    if cutlass.const_expr(bug):
        with cute.arch.elect_one():
            warp = cute.arch.warp_idx()  # check: check-partial-warps, mend: "call it before the branch"
            y[warp] = warp
    else:
        warp = cute.arch.warp_idx()
        with cute.arch.elect_one():
            y[warp] = warp


@cute.jit
def warp_index_in_elected_code(y: cute.Tensor, bug: cutlass.Constexpr):
    """y = 0, 1, 2, 3."""
    number_kernel(y, bug).launch(grid=[1, 1, 1], block=[128, 1, 1])


def reference(y):
    """The expected `y`."""
    import numpy as np

    return np.arange(4, dtype="i4")
