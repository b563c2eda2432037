"""A producer that waits for the wrong phase of the consumer's mbarrier, and clears the tile before it is read."""

# cutecc: entry = "empty_not_awaited"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[32]"
# cutecc: args.y = "f32[32]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from _stages import new_stages
from cutlass import cute


@cute.kernel
def hand_over_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    lane = cute.arch.lane_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    allocator = cutlass.utils.SmemAllocator()
    full, empty = new_stages(allocator, 1)
    tile = allocator.allocate_tensor(cutlass.Float32, cute.make_layout(32))
    if warp == 0:
        tile[lane] = x[lane]
        cute.arch.mbarrier_arrive(full)
        # A new mbarrier counts as past its phase 1.
        cute.arch.mbarrier_wait(empty, 0 + bug)
        tile[lane] = 0.0  # bug: race
    else:
        cute.arch.mbarrier_wait(full, 0)
        y[lane] = tile[31 - lane]  # other
        cute.arch.mbarrier_arrive(empty)


@cute.jit
def empty_not_awaited(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x backwards."""
    hand_over_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[64, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x[::-1]
