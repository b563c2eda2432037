"""An output's first element set before the launch, in the host function, which cannot reach it."""

# cutecc: entry = "element_on_the_host"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[128]"
# cutecc: args.y = "f32[128]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute


@cute.kernel
def negate_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    value = -x[thread]
    if cutlass.const_expr(not bug):
        value = cutlass.Float32(1.0) if thread == 0 else value
    y[thread] = value


@cute.jit
def element_on_the_host(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = -x, with 1 in front."""
    if cutlass.const_expr(bug):
        y[0] = 1.0  # check: check-launch, mend: "only a kernel can; write it there"
    negate_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[128, 1, 1])


def reference(x, y):
    """The expected `y`."""
    y = -x
    y[0] = 1.0
    return y
