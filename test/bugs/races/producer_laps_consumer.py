"""One warp fills a buffer for another through named barriers, and does not wait until it has been read."""

# cutecc: entry = "producer_laps_consumer"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[4, 32]"
# cutecc: args.y = "f32[4, 32]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute


@cute.kernel
def hand_over_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    lane = cute.arch.lane_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(32))
    if warp == 0:
        for step in cutlass.range(x.shape[0], unroll=1):
            if cutlass.const_expr(not bug):
                cute.arch.barrier(barrier_id=2, number_of_threads=64)  # it is empty
            tile[lane] = x[step, lane]  # bug: race
            cute.arch.barrier(barrier_id=1, number_of_threads=64)  # it is full
    else:
        for step in cutlass.range(x.shape[0], unroll=1):
            if cutlass.const_expr(not bug):
                cute.arch.barrier_arrive(barrier_id=2, number_of_threads=64)
            cute.arch.barrier(barrier_id=1, number_of_threads=64)
            y[step, lane] = tile[31 - lane]  # other


@cute.jit
def producer_laps_consumer(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = every row of x backwards."""
    hand_over_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[64, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x[:, ::-1]
