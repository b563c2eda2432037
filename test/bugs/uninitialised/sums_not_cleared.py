"""Sum rows in a fragment that is added to from the first round on."""

# cutecc: entry = "sums_not_cleared"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[64, 8]"
# cutecc: args.y = "f32[64]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 1e-5

import cutlass
from cutlass import cute


@cute.kernel
def sum_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    sums = cute.make_rmem_tensor(2, cutlass.Float32)
    if cutlass.const_expr(not bug):
        sums.fill(0.0)
    for k in range(4):
        for i in cutlass.range_constexpr(2):
            sums[i] += x[thread, 2 * k + i]  # check: check-uninitialised-fragments, mend: "fill(0) it before the loop"
    y[thread] = sums[0] + sums[1]


@cute.jit
def sums_not_cleared(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = the sum of each row."""
    sum_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[64, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x.sum(1)
