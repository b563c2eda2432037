"""Write a matrix by `stmatrix` and have TMA store it, without the proxy fence that such stores need like any others."""

# cutecc: entry = "stmatrix_without_fence"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f16[16, 8]"
# cutecc: args.y = "f16[16, 8] align=16"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from _tiles import partition
from cutlass import cute
from cutlass.cute.nvgpu import cpasync, warp

TILE = (16, 8)
THREADS = 64


@cute.kernel
def copy_kernel(
    x: cute.Tensor,
    matrices: cute.TiledCopy,
    store: cute.CopyAtom,
    y: cute.Tensor,
    layout: cute.Layout,
    bug: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    number = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float16, layout, byte_alignment=128)
    lane = thread % 32
    matrix = matrices.get_slice(lane).partition_D(cute.local_tile(tile, (8, 8), (number, 0)))
    values = cute.make_rmem_tensor_like(matrices.get_slice(lane).partition_S(cute.local_tile(tile, (8, 8), (0, 0))))
    for i in cutlass.range_constexpr(2):
        values[i] = x[number * 8 + lane // 4, lane % 4 * 2 + i]
    cute.copy(matrices, values, matrix)  # other
    if cutlass.const_expr(not bug):
        cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    source, target = partition(store, tile, y)
    if number == 0:
        cute.copy(store, source, target)  # bug: missing-proxy-fence
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0, read=True)


@cute.jit
def stmatrix_without_fence(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x."""
    layout = cute.make_ordered_layout(TILE, order=(1, 0))
    atom = cute.make_copy_atom(warp.StMatrix8x8x16bOp(False, 1), cutlass.Float16)
    matrices = cute.make_tiled_copy(atom, cute.make_layout(((4, 8), 2), stride=((16, 1), 8)), (8, 8))
    store, y_tma = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), y, layout, TILE)
    copy_kernel(x, matrices, store, y_tma, layout, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x
