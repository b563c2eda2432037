"""Every block of a cluster reads its right neighbour's shared memory; the last one has none."""

# cutecc: entry = "rank_past_cluster"
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
def rotate_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    rank = cute.arch.block_idx_in_cluster()
    tile = cutlass.utils.SmemAllocator().allocate_array(cutlass.Float32, 32)
    (tile + thread).store(x[rank, thread])
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    right = rank + 1
    if cutlass.const_expr(not bug):
        right = right % CLUSTER
    y[rank, thread] = cute.arch.map_dsmem_ptr(tile + thread, right).load()  # bug: out-of-bounds
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


@cute.jit
def rank_past_cluster(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x with its rows swapped."""
    rotate_kernel(x, y, bug).launch(grid=[CLUSTER, 1, 1], block=[32, 1, 1], cluster=[CLUSTER, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x[::-1]
