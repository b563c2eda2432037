"""Every block adds its sum to one element of global memory, by load, add and store."""

# cutecc: entry = "block_sums_without_atomics"
# cutecc: target = "sm_80"
# cutecc: args.x = "i32[4, 32]"
# cutecc: args.total = "i32[1]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["total"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute


@cute.kernel
def clear_kernel(total: cute.Tensor):
    total[0] = 0


@cute.kernel
def sum_kernel(x: cute.Tensor, total: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    value = cute.arch.warp_redux_sync(x[block, thread], "add")
    if thread == 0:
        if cutlass.const_expr(bug):
            total[0] = total[0] + value  # bug: race, mend: "atomic_add"
        else:
            cute.arch.atomic_add(total.iterator, value)


@cute.jit
def block_sums_without_atomics(x: cute.Tensor, total: cute.Tensor, bug: cutlass.Constexpr):
    """total = x.sum()."""
    clear_kernel(total).launch(grid=[1, 1, 1], block=[1, 1, 1])
    sum_kernel(x, total, bug).launch(grid=[4, 1, 1], block=[32, 1, 1])


def reference(x, total):
    """The expected `total`."""
    return x.sum(dtype="int32").reshape(1)
