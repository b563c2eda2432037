"""Two tiles on one mbarrier, which is told to expect the bytes of one of them."""

# cutecc: entry = "too_few_bytes"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[32, 32] align=16"
# cutecc: args.y = "f32[32, 32]"
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
    staged = cute.append(layout, cute.make_layout(2, stride=cute.cosize(layout)))
    halves = cute.group_modes(allocator.allocate_tensor(cutlass.Float32, staged, byte_alignment=128), 0, 2)
    if thread == 0:
        cute.arch.mbarrier_init(full, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    tiles = cute.group_modes(cute.local_tile(x, TILE, (None, 0)), 0, 2)
    target, source = cpasync.tma_partition(load, 0, cute.make_layout(1), halves, tiles)
    if warp == 0:
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(full, TILE[0] * TILE[1] * 4 * (2 - bug))
        cute.copy(load, source[None, 0], target[None, 0], tma_bar_ptr=full)
        cute.copy(load, source[None, 1], target[None, 1], tma_bar_ptr=full)  # other, also: race
    cute.arch.mbarrier_wait(full, 0)
    for half in cutlass.range_constexpr(2):
        for i in cutlass.range_constexpr(TILE[0] * TILE[1] // THREADS):
            element = i * THREADS + thread
            row, column = element // TILE[1], element % TILE[1]
            y[half * TILE[0] + row, column] = halves[(row, column), half]  # bug: race


@cute.jit
def too_few_bytes(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x."""
    layout = cute.make_ordered_layout(TILE, order=(1, 0))
    load, x_tma = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), x, layout, TILE)
    copy_kernel(load, x_tma, y, layout, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x
