"""A block starts a TMA store and ends, and its shared memory with it, before the store has read that."""

# cutecc: entry = "exit_before_store_is_read"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[16, 32]"
# cutecc: args.y = "f32[16, 32] align=16"
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
def copy_kernel(x: cute.Tensor, store: cute.CopyAtom, y: cute.Tensor, layout: cute.Layout, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, layout, byte_alignment=128)
    for i in cutlass.range_constexpr(TILE[0] * TILE[1] // THREADS):
        row, column = (i * THREADS + thread) // TILE[1], thread % TILE[1]
        tile[row, column] = x[row, column]
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    flat = cute.group_modes(tile, 0, 2)
    source, target = cpasync.tma_partition(store, 0, cute.make_layout(1), flat, cute.group_modes(y, 0, 2))
    if warp == 0:
        cute.copy(store, source, target)  # bug: race
        cute.arch.cp_async_bulk_commit_group()
        if cutlass.const_expr(not bug):
            cute.arch.cp_async_bulk_wait_group(0, read=True)


@cute.jit
def exit_before_store_is_read(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x."""
    layout = cute.make_ordered_layout(TILE, order=(1, 0))
    store, y_tma = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), y, layout, TILE)
    copy_kernel(x, store, y_tma, layout, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x
