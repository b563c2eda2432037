"""Load tile after tile through one buffer and wait for phase 0 each time, also when phase 1 is running."""

# cutecc: entry = "phase_not_flipped"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[64, 32] align=16"
# cutecc: args.y = "f32[64, 32]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync

TILE = (16, 32)
THREADS = 64


@cute.kernel
def copy_kernel(load: cute.CopyAtom, x: cute.Tensor, y: cute.Tensor, layout: cute.Layout, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    allocator = cutlass.utils.SmemAllocator()
    full = allocator.allocate_array(cutlass.Int64, 1)
    tile = allocator.allocate_tensor(cutlass.Float32, layout, byte_alignment=128)
    if thread == 0:
        cute.arch.mbarrier_init(full, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    tiles = cute.group_modes(cute.local_tile(x, TILE, (None, 0)), 0, 2)
    target, source = cpasync.tma_partition(load, 0, cute.make_layout(1), cute.group_modes(tile, 0, 2), tiles)
    for step in cutlass.range(cute.size(tiles, mode=[1]), unroll=1):
        if warp == 0:
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(full, cute.size_in_bytes(cutlass.Float32, layout))
            cute.copy(load, source[None, step], target, tma_bar_ptr=full)  # also: race
        if cutlass.const_expr(bug):
            cute.arch.mbarrier_wait(full, 0)  # bug: deadlock
        else:
            cute.arch.mbarrier_wait(full, step % 2)
        for i in cutlass.range_constexpr(TILE[0] * TILE[1] // THREADS):
            row, column = (i * THREADS + thread) // TILE[1], thread % TILE[1]
            y[step * TILE[0] + row, column] = tile[row, column]  # also: race
        cute.arch.sync_threads()


@cute.jit
def phase_not_flipped(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x."""
    layout = cute.make_ordered_layout(TILE, order=(1, 0))
    load, x_tma = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), x, layout, TILE)
    copy_kernel(load, x_tma, y, layout, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x
