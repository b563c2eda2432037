"""Store tiles through two buffers in turns, with one store too many in flight when a buffer is written again."""

# cutecc: entry = "store_wait_off_by_one"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[64, 32]"
# cutecc: args.y = "f32[64, 32] align=16"
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
def copy_kernel(x: cute.Tensor, store: cute.CopyAtom, y: cute.Tensor, layout: cute.Layout, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    staged = cute.append(layout, cute.make_layout(STAGES, stride=cute.cosize(layout)))
    stages = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, staged, byte_alignment=128)
    stages = cute.group_modes(stages, 0, 2)
    tiles = cute.group_modes(cute.local_tile(y, TILE, (None, 0)), 0, 2)
    source, target = cpasync.tma_partition(store, 0, cute.make_layout(1), stages, tiles)
    for step in cutlass.range(cute.size(tiles, mode=[1]), unroll=1):
        for i in cutlass.range_constexpr(TILE[0] * TILE[1] // THREADS):
            row, column = (i * THREADS + thread) // TILE[1], thread % TILE[1]
            stages[(row, column), step % STAGES] = x[step * TILE[0] + row, column]  # bug: race
        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.sync_threads()
        if warp == 0:
            cute.copy(store, source[None, step % STAGES], target[None, step])  # other
            cute.arch.cp_async_bulk_commit_group()
            cute.arch.cp_async_bulk_wait_group(STAGES - 1 + bug, read=True)
        cute.arch.sync_threads()
    if warp == 0:
        cute.arch.cp_async_bulk_wait_group(0, read=True)


@cute.jit
def store_wait_off_by_one(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x."""
    layout = cute.make_ordered_layout(TILE, order=(1, 0))
    store, y_tma = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), y, layout, TILE)
    copy_kernel(x, store, y_tma, layout, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x
