"""Two blocks of a cluster read each other's shared memory after a barrier that only their own threads meet at."""

# cutecc: entry = "read_before_cluster_barrier"
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
    tile = cutlass.utils.SmemAllocator().allocate_array(cutlass.Float32, 32)
    (tile + thread).store(x[rank, thread])  # other
    if cutlass.const_expr(bug):
        cute.arch.sync_threads()
    else:
        cute.arch.cluster_arrive()
        cute.arch.cluster_wait()
    other = cute.arch.map_dsmem_ptr(tile + thread, 1 - rank)
    y[rank, thread] = other.load()  # bug: race, mend: "cluster_arrive() and cluster_wait()"
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


@cute.jit
def read_before_cluster_barrier(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x with its rows swapped."""
    swap_kernel(x, y, bug).launch(grid=[CLUSTER, 1, 1], block=[32, 1, 1], cluster=[CLUSTER, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x[::-1]
