"""Sum rows in a fragment that each round makes anew."""

# cutecc: entry = "sums_made_in_loop"
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
    total = cute.make_rmem_tensor(1, cutlass.Float32)
    total.fill(0.0)
    for k in range(8):
        if cutlass.const_expr(bug):
            sums = cute.make_rmem_tensor(1, cutlass.Float32)
            sums[0] += x[thread, k]  # check: check-uninitialised-fragments, mend: "make it before the loop"
            y[thread] = sums[0]
        else:
            total[0] += x[thread, k]
            y[thread] = total[0]


@cute.jit
def sums_made_in_loop(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = the sum of each row."""
    sum_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[64, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x.sum(1)
