"""The last steps of a tree reduction, in one warp: loads are in registers by then, but stores wait for no one."""

# cutecc: entry = "warp_synchronous_tail"
# cutecc: target = "sm_80"
# cutecc: args.x = "i32[64]"
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
    partial = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(64))
    partial[thread] = x[thread] + x[thread + 32]
    partial[thread + 32] = 0
    half = cutlass.Int32(16)
    while half > 0:
        cute.arch.sync_warp()
        value = partial[thread] + partial[thread + half]  # other
        if cutlass.const_expr(not bug):
            cute.arch.sync_warp()
        partial[thread] = value  # bug: race
        half = half // 2
    if thread == 0:
        total[0] = partial[0]


@cute.jit
def warp_synchronous_tail(x: cute.Tensor, total: cute.Tensor, bug: cutlass.Constexpr):
    """total = x.sum()."""
    sum_kernel(x, total, bug).launch(grid=[1, 1, 1], block=[32, 1, 1])


def reference(x, total):
    """The expected `total`."""
    return x.sum(dtype="int32").reshape(1)
