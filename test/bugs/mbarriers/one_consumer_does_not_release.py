"""Two warps consume what a third produces, and one of them never says that it is done with a stage."""

# cutecc: entry = "one_consumer_does_not_release"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[4, 64]"
# cutecc: args.y = "f32[4, 64]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from _stages import new_stages
from cutlass import cute

STAGES = 2
CONSUMERS = 2


@cute.kernel
def hand_over_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    lane = cute.arch.lane_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    allocator = cutlass.utils.SmemAllocator()
    full, empty = new_stages(allocator, STAGES, CONSUMERS)
    tiles = allocator.allocate_tensor(cutlass.Float32, cute.make_layout((64, STAGES)))
    if warp == CONSUMERS:
        for step in cutlass.range(x.shape[0], unroll=1):
            cute.arch.mbarrier_wait(empty + step % STAGES, (step // STAGES + 1) % 2)  # bug: deadlock
            for half in cutlass.range_constexpr(2):
                tiles[half * 32 + lane, step % STAGES] = x[step, half * 32 + lane]
            cute.arch.mbarrier_arrive(full + step % STAGES)
    else:
        for step in cutlass.range(x.shape[0], unroll=1):
            cute.arch.mbarrier_wait(full + step % STAGES, step // STAGES % 2)
            y[step, warp * 32 + lane] = tiles[63 - warp * 32 - lane, step % STAGES]
            cute.arch.sync_warp()
            if lane == 0 and warp < CONSUMERS - bug:
                cute.arch.mbarrier_arrive(empty + step % STAGES)


@cute.jit
def one_consumer_does_not_release(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = every row of x backwards."""
    hand_over_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[32 * (1 + CONSUMERS), 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x[:, ::-1]
