"""Two stages: both are loaded first, but each step reads the stage whose mbarrier it has not waited for."""

# cutecc: entry = "stage_index_wrong"
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
STAGES = 2
THREADS = 64


@cute.kernel
def copy_kernel(load: cute.CopyAtom, x: cute.Tensor, y: cute.Tensor, layout: cute.Layout, bug: cutlass.Constexpr):
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
    if warp == 0:
        for step in cutlass.range_constexpr(STAGES):
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(full + step, cute.size_in_bytes(cutlass.Float32, layout))
            cute.copy(load, source[None, step], target[None, step], tma_bar_ptr=full + step)  # other
    for step in cutlass.range(STAGES, unroll=1):
        cute.arch.mbarrier_wait(full + (step + bug) % STAGES, 0)
        for i in cutlass.range_constexpr(TILE[0] * TILE[1] // THREADS):
            element = i * THREADS + thread
            row, column = element // TILE[1], element % TILE[1]
            y[step * TILE[0] + row, column] = stages[(row, column), step]  # bug: race


@cute.jit
def stage_index_wrong(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x."""
    layout = cute.make_ordered_layout(TILE, order=(1, 0))
    load, x_tma = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), x, layout, TILE)
    copy_kernel(load, x_tma, y, layout, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x
