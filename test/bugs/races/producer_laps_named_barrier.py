"""A warp fills two stages in turns and tells each at the same barrier; it waits for neither to be read."""

# cutecc: entry = "producer_laps_named_barrier"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[4,32]"
# cutecc: args.y = "f32[4,32]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

ALL, ROUNDS = 64, 4
FULL, EMPTY = 1, 2


@cute.kernel
def hand_over_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    lane = cute.arch.lane_idx()
    tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout((32, ROUNDS)))
    if warp == 0:
        for i in cutlass.range(ROUNDS, unroll=1):
            tile[lane, i] = x[i, lane]
            cute.arch.barrier_arrive(barrier_id=FULL, number_of_threads=ALL)  # bug: barrier, mend: "waits for"
            if cutlass.const_expr(not bug):
                cute.arch.barrier(barrier_id=EMPTY, number_of_threads=ALL)
    else:
        for i in cutlass.range(ROUNDS, unroll=1):
            cute.arch.barrier(barrier_id=FULL, number_of_threads=ALL)  # also: deadlock
            y[i, lane] = tile[31 - lane, i]  # also: race, also: uninitialised-shared
            if cutlass.const_expr(not bug):
                cute.arch.barrier_arrive(barrier_id=EMPTY, number_of_threads=ALL)


@cute.jit
def producer_laps_named_barrier(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x with its columns backwards."""
    hand_over_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[ALL, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x[:, ::-1]
