"""One warp fills a tile and another one empties it; both directions are told at the same named barrier."""

# cutecc: entry = "full_and_empty_share_barrier"
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
FULL = 1


@cute.kernel
def hand_over_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    lane = cute.arch.lane_idx()
    empty = FULL if bug else FULL + 1
    tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(32))
    if warp == 0:
        for i in cutlass.range(ROUNDS, unroll=1):
            if i > 0:
                cute.arch.barrier(barrier_id=empty, number_of_threads=ALL)  # bug: barrier, mend: "a barrier id each"
            tile[lane] = x[i, lane]
            cute.arch.barrier_arrive(barrier_id=FULL, number_of_threads=ALL)  # other
    else:
        for i in cutlass.range(ROUNDS, unroll=1):
            cute.arch.barrier(barrier_id=FULL, number_of_threads=ALL)
            y[i, lane] = tile[31 - lane]
            if i < ROUNDS - 1:
                cute.arch.barrier_arrive(barrier_id=empty, number_of_threads=ALL)


@cute.jit
def full_and_empty_share_barrier(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x with its columns backwards."""
    hand_over_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[ALL, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x[:, ::-1]
