"""A pipeline of three stages whose consumer flips its phase one step before the stages wrap around."""

# cutecc: entry = "phase_of_wrong_round"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[6, 32]"
# cutecc: args.y = "f32[6, 32]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from _stages import new_stages
from cutlass import cute

STAGES = 3


@cute.kernel
def hand_over_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    lane = cute.arch.lane_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    allocator = cutlass.utils.SmemAllocator()
    full, empty = new_stages(allocator, STAGES)
    tiles = allocator.allocate_tensor(cutlass.Float32, cute.make_layout((32, STAGES)))
    if warp == 0:
        for step in cutlass.range(x.shape[0], unroll=1):
            # A new mbarrier counts as past its phase 1: the first round finds all stages empty.
            cute.arch.mbarrier_wait(empty + step % STAGES, (step // STAGES + 1) % 2)
            tiles[lane, step % STAGES] = x[step, lane]
            cute.arch.mbarrier_arrive(full + step % STAGES)
    else:
        for step in cutlass.range(x.shape[0], unroll=1):
            stage, parity = step % STAGES, (step + bug) // STAGES % 2
            cute.arch.mbarrier_wait(full + stage, parity)  # bug: deadlock, mend: "takes parity 0"
            y[step, lane] = tiles[31 - lane, step % STAGES]  # also: race, also: uninitialised-shared
            cute.arch.mbarrier_arrive(empty + step % STAGES)


@cute.jit
def phase_of_wrong_round(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = every row of x backwards."""
    hand_over_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[64, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x[:, ::-1]
