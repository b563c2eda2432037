"""A barrier of the whole cluster in a branch that one of its blocks does not take."""

# cutecc: entry = "block_skips_barrier"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[2, 32]"
# cutecc: args.y = "f32[2, 32]"
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
    arrived = allocator.allocate_array(cutlass.Int64, 1)
    tile = allocator.allocate_array(cutlass.Float32, 32)
    if thread == 0:
        cute.arch.mbarrier_init(arrived, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    (tile + thread).store(x[rank, thread])
    if rank == 0 or not bug:
        cute.arch.cluster_arrive()
        cute.arch.cluster_wait()  # bug: deadlock, mend: "cluster_arrive()"
    # The second block waits for a signal of the first.
    if rank == 0:
        if thread == 0:
            cute.arch.mbarrier_arrive(arrived, 1)
    else:
        cute.arch.mbarrier_wait(arrived, 0)  # also: deadlock
    y[rank, thread] = cute.arch.map_dsmem_ptr(tile + thread, 1 - rank).load()
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


@cute.jit
def block_skips_barrier(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x with its rows swapped."""
    swap_kernel(x, y, bug).launch(grid=[CLUSTER, 1, 1], block=[32, 1, 1], cluster=[CLUSTER, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x[::-1]
