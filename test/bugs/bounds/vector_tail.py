"""Add up a ragged vector four elements at a time; the last load of four reaches past its end."""

# cutecc: entry = "vector_tail"
# cutecc: target = "sm_80"
# cutecc: args.x = "i32[127] align=16"
# cutecc: args.total = "i32[1]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["total"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute


@cute.kernel
def sum_kernel(x: cute.Tensor, total: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    pieces = cute.make_tensor(x.iterator, cute.make_layout((4, 32)))
    value = cutlass.Int32(0)
    if thread < cute.size(x) // 4 + bug:
        four = cute.make_rmem_tensor(4, cutlass.Int32)
        cute.autovec_copy(pieces[None, thread], four)  # bug: out-of-bounds
        value = four[0] + four[1] + four[2] + four[3]
    elif thread == cute.size(x) // 4:
        for i in cutlass.range_constexpr(3):
            value += x[124 + i]
    value = cute.arch.warp_redux_sync(value, "add")
    if thread == 0:
        total[0] = value


@cute.jit
def vector_tail(x: cute.Tensor, total: cute.Tensor, bug: cutlass.Constexpr):
    """total = x.sum()."""
    sum_kernel(x, total, bug).launch(grid=[1, 1, 1], block=[32, 1, 1])


def reference(x, total):
    """The expected `total`."""
    return x.sum(dtype="int32").reshape(1)
