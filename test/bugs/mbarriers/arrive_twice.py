"""A producer arrives twice a step, so that the second step's phase is over before its tile is written."""

# cutecc: entry = "arrive_twice"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[2, 32]"
# cutecc: args.y = "f32[2, 32]"
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
    allocator = cutlass.utils.SmemAllocator()
    full = allocator.allocate_array(cutlass.Int64, 1)
    tiles = allocator.allocate_tensor(cutlass.Float32, cute.make_layout((32, 2)))
    if warp == 0 and lane == 0:
        cute.arch.mbarrier_init(full, 32)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    if warp == 0:
        for step in cutlass.range(2, unroll=1):
            tiles[lane, step] = x[step, lane]  # other
            cute.arch.mbarrier_arrive(full)
            if cutlass.const_expr(bug):
                cute.arch.mbarrier_arrive(full)
    else:
        for step in cutlass.range(2, unroll=1):
            cute.arch.mbarrier_wait(full, step)  # also: deadlock
            y[step, lane] = tiles[31 - lane, step]  # bug: race


@cute.jit
def arrive_twice(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = every row of x backwards."""
    hand_over_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[64, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x[:, ::-1]
