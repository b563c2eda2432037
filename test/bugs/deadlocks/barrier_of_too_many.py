"""A producer and a consumer warp meet at a named barrier that waits for a third."""

# cutecc: entry = "barrier_of_too_many"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[32]"
# cutecc: args.y = "f32[32]"
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
        tile[lane] = x[lane]
        cute.arch.barrier_arrive(barrier_id=1, number_of_threads=64 + 32 * bug)
    elif warp == 1:
        cute.arch.barrier(barrier_id=1, number_of_threads=64 + 32 * bug)  # bug: deadlock, mend: "number_of_threads=64"
        y[lane] = tile[31 - lane]


@cute.jit
def barrier_of_too_many(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x backwards."""
    hand_over_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[96, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x[::-1]
