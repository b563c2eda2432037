"""A producer whose first wait for an empty stage takes parity 0, as if a consumer had to release it first."""

# cutecc: entry = "producer_starts_with_parity_0"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[3, 32]"
# cutecc: args.y = "f32[3, 32]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from _stages import new_stages
from cutlass import cute

STAGES = 2


@cute.kernel
def hand_over_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    lane = cute.arch.lane_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    allocator = cutlass.utils.SmemAllocator()
    full, empty = new_stages(allocator, STAGES)
    tiles = allocator.allocate_tensor(cutlass.Float32, cute.make_layout((32, STAGES)))
    steps = x.shape[0]
    if warp == 0:
        for step in cutlass.range(steps, unroll=1):
            cute.arch.mbarrier_wait(empty + step % STAGES, (step // STAGES + 1 - bug) % 2)  # mend: "takes parity 1"
            tiles[lane, step % STAGES] = x[step, lane]
            cute.arch.mbarrier_arrive(full + step % STAGES)
    else:
        for step in cutlass.range(steps, unroll=1):
            cute.arch.mbarrier_wait(full + step % STAGES, step // STAGES % 2)  # bug: deadlock
            y[step, lane] = tiles[31 - lane, step % STAGES]
            cute.arch.mbarrier_arrive(empty + step % STAGES)


@cute.jit
def producer_starts_with_parity_0(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = every row of x backwards."""
    hand_over_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[64, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x[:, ::-1]
