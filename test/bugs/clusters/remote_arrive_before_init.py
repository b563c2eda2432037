"""A block arrives at its neighbour's mbarrier, which the neighbour may not have initialised yet."""

# cutecc: entry = "remote_arrive_before_init"
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
def copy_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    rank = cute.arch.block_idx_in_cluster()
    arrived = cutlass.utils.SmemAllocator().allocate_array(cutlass.Int64, 1)
    if thread == 0:
        cute.arch.mbarrier_init(arrived, 32)  # other
        cute.arch.mbarrier_init_fence()
    if cutlass.const_expr(bug):
        cute.arch.sync_threads()
    else:
        cute.arch.cluster_arrive()
        cute.arch.cluster_wait()
    cute.arch.mbarrier_arrive(arrived, 1 - rank)  # bug: race
    cute.arch.mbarrier_wait(arrived, 0)
    y[rank, thread] = x[rank, thread]
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


@cute.jit
def remote_arrive_before_init(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x."""
    copy_kernel(x, y, bug).launch(grid=[CLUSTER, 1, 1], block=[32, 1, 1], cluster=[CLUSTER, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x
