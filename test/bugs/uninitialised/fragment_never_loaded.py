"""Double each row in registers that nobody has loaded it into."""

# cutecc: entry = "fragment_never_loaded"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[64, 8]"
# cutecc: args.y = "f32[64, 8]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute


@cute.kernel
def double_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    row = cute.make_rmem_tensor(8, cutlass.Float32)
    if cutlass.const_expr(not bug):
        cute.autovec_copy(x[thread, None], row)
    for i in cutlass.range_constexpr(8):
        row[i] = row[i] * 2.0  # check: check-uninitialised-fragments, mend: "or load it"
    cute.autovec_copy(row, y[thread, None])


@cute.jit
def fragment_never_loaded(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = 2 x."""
    double_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[64, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return 2 * x
