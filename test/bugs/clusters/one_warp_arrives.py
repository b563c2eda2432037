"""One warp of each block arrives for all of it at the barrier of the cluster."""

# cutecc: entry = "one_warp_arrives"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[128]"
# cutecc: args.y = "f32[128]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 64


@cute.kernel
def swap_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    rank = cute.arch.make_warp_uniform(cute.arch.block_idx_in_cluster())
    tile = cutlass.utils.SmemAllocator().allocate_array(cutlass.Float32, THREADS)
    (tile + thread).store(x[rank * THREADS + thread])
    cute.arch.sync_threads()
    if warp == 0 or cutlass.const_expr(not bug):
        cute.arch.cluster_arrive()
        cute.arch.cluster_wait()  # bug: deadlock, mend: "cluster_arrive()"
    cute.arch.sync_threads()
    y[rank * THREADS + thread] = cute.arch.map_dsmem_ptr(tile + thread, 1 - rank).load()
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


@cute.jit
def one_warp_arrives(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x with its halves swapped."""
    swap_kernel(x, y, bug).launch(grid=[2, 1, 1], block=[THREADS, 1, 1], cluster=[2, 1, 1])


def reference(x, y):
    """The expected `y`."""
    import numpy as np

    return np.roll(x, 64)
