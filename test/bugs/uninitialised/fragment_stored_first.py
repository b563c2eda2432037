"""Copy each row through registers: what is stored is loaded in the line behind."""

# cutecc: entry = "fragment_stored_first"
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
def copy_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    row = cute.make_rmem_tensor(8, cutlass.Float32)
    if cutlass.const_expr(not bug):
        cute.autovec_copy(x[thread, None], row)
    cute.autovec_copy(row, y[thread, None])  # check: check-uninitialised-fragments, mend: "load it first"
    if cutlass.const_expr(bug):
        cute.autovec_copy(x[thread, None], row)


@cute.jit
def fragment_stored_first(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x."""
    copy_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[64, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x
