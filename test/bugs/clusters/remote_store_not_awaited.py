"""A block sends a value to its neighbour by an asynchronous store, which the neighbour reads before it waits for it."""

# cutecc: entry = "remote_store_not_awaited"
# cutecc: target = "sm_90a"
# cutecc: args.x = "i32[2]"
# cutecc: args.y = "i32[2]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

CLUSTER = 2


@cute.kernel
def swap_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    rank = cute.arch.block_idx_in_cluster()
    allocator = cutlass.utils.SmemAllocator()
    full = allocator.allocate_array(cutlass.Int64, 1)
    received = allocator.allocate_array(cutlass.Int32, 1)
    if thread == 0:
        cute.arch.mbarrier_init(full, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.mbarrier_arrive_and_expect_tx(full, 4)
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    if thread == 0:
        cute.arch.store_async_dsmem(received, x[rank], full, 1 - rank)  # other
        if cutlass.const_expr(not bug):
            cute.arch.mbarrier_wait(full, 0)
        y[rank] = received.load()  # bug: race
        if cutlass.const_expr(bug):
            cute.arch.mbarrier_wait(full, 0)
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


@cute.jit
def remote_store_not_awaited(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x with its two elements swapped."""
    swap_kernel(x, y, bug).launch(grid=[CLUSTER, 1, 1], block=[32, 1, 1], cluster=[CLUSTER, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x[::-1]
