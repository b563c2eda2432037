"""A producer that starts with the consumer's phase: it takes stages for empty one round too early."""

# cutecc: entry = "stage_not_awaited"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[6, 32]"
# cutecc: args.y = "f32[6, 32]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

STAGES = 2


@cute.kernel
def hand_over_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    lane = cute.arch.lane_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    allocator = cutlass.utils.SmemAllocator()
    full = allocator.allocate_array(cutlass.Int64, STAGES)
    empty = allocator.allocate_array(cutlass.Int64, STAGES)
    tiles = allocator.allocate_tensor(cutlass.Float32, cute.make_layout((32, STAGES)))
    steps = x.shape[0]
    if warp == 0 and lane == 0:
        for stage in cutlass.range_constexpr(STAGES):
            cute.arch.mbarrier_init(full + stage, 32)
            cute.arch.mbarrier_init(empty + stage, 32)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    if warp == 0:
        for step in cutlass.range(steps, unroll=1):
            if step >= STAGES:
                round_ = step // STAGES + bug
                cute.arch.mbarrier_wait(empty + step % STAGES, (round_ + 1) % 2)  # also: deadlock
            tiles[lane, step % STAGES] = x[step, lane]  # bug: race
            cute.arch.mbarrier_arrive(full + step % STAGES)
    else:
        for step in cutlass.range(steps, unroll=1):
            cute.arch.mbarrier_wait(full + step % STAGES, step // STAGES % 2)  # also: deadlock
            y[step, lane] = tiles[31 - lane, step % STAGES]  # other
            cute.arch.mbarrier_arrive(empty + step % STAGES)


@cute.jit
def stage_not_awaited(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = every row of x backwards."""
    hand_over_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[64, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x[:, ::-1]
