"""A block of a cluster ends, and its shared memory with it, while the other may still read that."""

# cutecc: entry = "exit_before_peer_reads"
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
    (tile + thread).store(x[rank, thread])
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    y[rank, thread] = cute.arch.map_dsmem_ptr(tile + thread, 1 - rank).load()  # bug: race
    if cutlass.const_expr(not bug):
        cute.arch.cluster_arrive()
        cute.arch.cluster_wait()


@cute.jit
def exit_before_peer_reads(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x with its rows swapped."""
    swap_kernel(x, y, bug).launch(grid=[CLUSTER, 1, 1], block=[32, 1, 1], cluster=[CLUSTER, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x[::-1]
