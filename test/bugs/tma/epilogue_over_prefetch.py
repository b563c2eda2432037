"""Sum up tiles; the result goes into the stage that the load of a tile too many is still to fill."""

# cutecc: entry = "epilogue_over_prefetch"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[64, 32] align=16"
# cutecc: args.y = "f32[16, 32]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 1e-6

import cutlass
import numpy as np
from _tiles import BYTES, THREADS, TILE, make_load, new_mbarriers, new_tile, own, partition, tiles_of
from cutlass import cute

STEPS = 3
STAGES = 2


@cute.kernel
def sum_kernel(load: cute.CopyAtom, x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    allocator = cutlass.utils.SmemAllocator()
    full = new_mbarriers(allocator, STAGES)
    stages = new_tile(allocator, STAGES)
    target, source = partition(load, stages, tiles_of(x))
    sums = cute.make_rmem_tensor_like(own(y))
    sums.fill(0.0)
    for step in cutlass.range(-1, STEPS, unroll=1):
        if warp == 0 and step + 1 < STEPS + bug:
            filled = (step + 1) % STAGES
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(full + filled, BYTES)
            cute.copy(load, source[None, step + 1], target[None, filled], tma_bar_ptr=full + filled)  # other
        if step >= 0:
            cute.arch.mbarrier_wait(full + step % STAGES, step // STAGES % 2)
            sums.store(sums.load() + own(stages)[None, None, step % STAGES].load())
            cute.arch.sync_threads()
    result = stages[None, None, STEPS % STAGES]
    cute.basic_copy(sums, own(result))  # bug: race
    cute.arch.sync_threads()
    for i in cutlass.range_constexpr(cute.size(sums)):
        row, column = (i * THREADS + thread) // TILE[1], thread % TILE[1]
        y[row, column] = result[TILE[0] - 1 - row, column]  # also: race
    if cutlass.const_expr(bug):
        cute.arch.mbarrier_wait(full + STEPS % STAGES, STEPS // STAGES % 2)


@cute.jit
def epilogue_over_prefetch(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = the sum of the first three tiles of x, upside down."""
    load, x_tma = make_load(x)
    sum_kernel(load, x_tma, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return np.sum(x.reshape(-1, *TILE)[:STEPS], axis=0)[::-1]
