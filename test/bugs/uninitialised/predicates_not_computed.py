"""Copy the rows' first elements by predicates that nobody has computed."""

# cutecc: entry = "predicates_not_computed"
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
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32)
    row = cute.make_rmem_tensor((1, 8), cutlass.Float32)
    row.fill(0.0)
    inside = cute.make_rmem_tensor((1, 8), cutlass.Boolean)
    if cutlass.const_expr(not bug):
        for i in cutlass.range_constexpr(8):
            inside[i] = i < 5
    source = cute.logical_divide(x[thread, None], cute.make_layout(1))
    cute.copy(atom, source, row, pred=inside)  # check: check-uninitialised-fragments, mend: "store each of them first"
    cute.autovec_copy(row, cute.logical_divide(y[thread, None], cute.make_layout(1)))


@cute.jit
def predicates_not_computed(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = the first five elements of each row, and zeros."""
    copy_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[64, 1, 1])


def reference(x, y):
    """The expected `y`."""
    y[:, :5], y[:, 5:] = x[:, :5], 0
    return y
