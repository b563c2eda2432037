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
from cutlass import cute
from cutlass.cute.nvgpu import cpasync

TILE = (16, 32)
STEPS = 3
STAGES = 2
THREADS = 128


@cute.kernel
def sum_kernel(load: cute.CopyAtom, x: cute.Tensor, y: cute.Tensor, layout: cute.Layout, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    allocator = cutlass.utils.SmemAllocator()
    full = allocator.allocate_array(cutlass.Int64, STAGES)
    staged = cute.append(layout, cute.make_layout(STAGES, stride=cute.cosize(layout)))
    stages = cute.group_modes(allocator.allocate_tensor(cutlass.Float32, staged, byte_alignment=128), 0, 2)
    if thread == 0:
        for stage in cutlass.range_constexpr(STAGES):
            cute.arch.mbarrier_init(full + stage, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    tiles = cute.group_modes(cute.local_tile(x, TILE, (None, 0)), 0, 2)
    target, source = cpasync.tma_partition(load, 0, cute.make_layout(1), stages, tiles)
    sums = cute.make_rmem_tensor((TILE[0] * TILE[1] // THREADS,), cutlass.Float32)
    sums.fill(0.0)
    for step in cutlass.range(-1, STEPS, unroll=1):
        if warp == 0 and step + 1 < STEPS + bug:
            filled = (step + 1) % STAGES
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(full + filled, cute.size_in_bytes(cutlass.Float32, layout))
            cute.copy(load, source[None, step + 1], target[None, filled], tma_bar_ptr=full + filled)  # other
        if step >= 0:
            cute.arch.mbarrier_wait(full + step % STAGES, step // STAGES % 2)
            for i in cutlass.range_constexpr(cute.size(sums)):
                element = i * THREADS + thread
                sums[i] = sums[i] + stages[(element // TILE[1], element % TILE[1]), step % STAGES]
            cute.arch.sync_threads()
    for i in cutlass.range_constexpr(cute.size(sums)):
        element = i * THREADS + thread
        stages[(element // TILE[1], element % TILE[1]), STEPS % STAGES] = sums[i]  # bug: race
    cute.arch.sync_threads()
    for i in cutlass.range_constexpr(cute.size(sums)):
        row, column = (i * THREADS + thread) // TILE[1], thread % TILE[1]
        y[row, column] = stages[(TILE[0] - 1 - row, column), STEPS % STAGES]  # also: race
    if cutlass.const_expr(bug):
        cute.arch.mbarrier_wait(full + STEPS % STAGES, STEPS // STAGES % 2)


@cute.jit
def epilogue_over_prefetch(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = the sum of the first three tiles of x, upside down."""
    layout = cute.make_ordered_layout(TILE, order=(1, 0))
    load, x_tma = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), x, layout, TILE)
    sum_kernel(load, x_tma, y, layout, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return np.sum(x.reshape(-1, *TILE)[:STEPS], axis=0)[::-1]
