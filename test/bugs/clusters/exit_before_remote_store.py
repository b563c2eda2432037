"""Blocks of a cluster send values to each other by asynchronous stores, and one ends before its value has come."""

# cutecc: entry = "exit_before_remote_store"
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
def send_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
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
        cute.arch.store_async_dsmem(received, x[rank], full, 1 - rank)  # bug: race
        if cutlass.const_expr(not bug):
            cute.arch.mbarrier_wait(full, 0)
        y[rank] = x[rank] + 1


@cute.jit
def exit_before_remote_store(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x + 1."""
    send_kernel(x, y, bug).launch(grid=[CLUSTER, 1, 1], block=[32, 1, 1], cluster=[CLUSTER, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x + 1
