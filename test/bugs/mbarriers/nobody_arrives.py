"""A consumer warp waits for an mbarrier at which its producer forgot to arrive."""

# cutecc: entry = "nobody_arrives"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[64] align=16"
# cutecc: args.y = "f32[64]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 64


@cute.kernel
def reverse_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    allocator = cutlass.utils.SmemAllocator()
    full = allocator.allocate_array(cutlass.Int64, 1)
    tile = allocator.allocate_tensor(cutlass.Float32, cute.make_layout(32))
    if thread == 0:
        cute.arch.mbarrier_init(full, 32)  # mend: "mbarrier_arrive"
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    if thread < 32:
        tile[thread] = x[thread]
        y[thread] = x[thread]
        if cutlass.const_expr(not bug):
            cute.arch.mbarrier_arrive(full)
    else:
        cute.arch.mbarrier_wait(full, 0)  # bug: deadlock
        y[thread] = tile[63 - thread]


@cute.jit
def nobody_arrives(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = the first half of x, and the same backwards."""
    reverse_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    y[:32] = x[:32]
    y[32:] = x[:32][::-1]
    return y
