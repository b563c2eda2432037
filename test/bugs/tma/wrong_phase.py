"""Wait for phase 1 of a new mbarrier, which counts as over, where the copy completes phase 0."""

# cutecc: entry = "wrong_phase"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[16, 32] align=16"
# cutecc: args.y = "f32[16, 32]"
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
    flat = cute.group_modes(tile, 0, 2)
    target, source = cpasync.tma_partition(load, 0, cute.make_layout(1), flat, cute.group_modes(x, 0, 2))
    if warp == 0:
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(full, cute.size_in_bytes(cutlass.Float32, layout))
        cute.copy(load, source, target, tma_bar_ptr=full)  # also: race
    cute.arch.mbarrier_wait(full, 0 + bug)  # bug: deadlock
    for i in cutlass.range_constexpr(TILE[0] * TILE[1] // THREADS):
        row, column = (i * THREADS + thread) // TILE[1], thread % TILE[1]
        y[row, column] = tile[row, column]  # also: race


@cute.jit
def wrong_phase(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x."""
    layout = cute.make_ordered_layout(TILE, order=(1, 0))
    load, x_tma = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), x, layout, TILE)
    copy_kernel(load, x_tma, y, layout, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x
