"""Consumers come to the block's barrier in their loop, while the producer waits for them to release a stage."""

# cutecc: entry = "barrier_while_producer_waits"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[3, 32]"
# cutecc: args.y = "f32[3, 64]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 96
ROUNDS = 3


@cute.kernel
def reverse_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    lane = cute.arch.lane_idx()
    thread, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    allocator = cutlass.utils.SmemAllocator()
    full = allocator.allocate_array(cutlass.Int64, 1)
    empty = allocator.allocate_array(cutlass.Int64, 1)
    tile = allocator.allocate_tensor(cutlass.Float32, cute.make_layout(32))
    if thread == 0:
        cute.arch.mbarrier_init(full, 32)
        cute.arch.mbarrier_init(empty, 2)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    if warp == 2:
        for step in cutlass.range(ROUNDS, unroll=1):
            cute.arch.mbarrier_wait(empty, (step + 1) % 2)
            tile[lane] = x[step, lane]
            cute.arch.mbarrier_arrive(full)
    else:
        for step in cutlass.range(ROUNDS, unroll=1):
            cute.arch.mbarrier_wait(full, step % 2)
            y[step, thread] = tile[31 - lane]
            if cutlass.const_expr(bug):
                cute.arch.sync_threads()  # bug: deadlock, mend: "number_of_threads=64"
            else:
                cute.arch.barrier(barrier_id=1, number_of_threads=64)
            if lane == 0:
                cute.arch.mbarrier_arrive(empty)


@cute.jit
def barrier_while_producer_waits(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = every row of x backwards, twice."""
    reverse_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    import numpy as np

    return np.tile(x[:, ::-1], 2)
