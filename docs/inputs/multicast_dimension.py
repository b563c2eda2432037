"""Load a tile into both blocks of a cluster by one TMA multicast, named by cluster shape and dimension.

Exercises `tma_multicast=`, from which `materialize-tma-multicast` computes the mask of receiving blocks.
"""

# cutecc: entry = "multicast_dimension"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f16[?M, ?N{div=8}] align=16"
# cutecc: args.y = "f16[?M, ?N{div=8}] align=16"

import cutlass
from cutlass import cute
from cutlass.block import block_copy
from cutlass.cute.nvgpu import cpasync

TILE = (64, 64)
CLUSTER = 2
THREADS = 128


@cute.kernel
def multicast_kernel(tma_load: cute.CopyAtom, x: cute.Tensor, y: cute.Tensor, tile_layout: cute.Layout):
    thread, _, _ = cute.arch.thread_idx()
    _, block_m, block_n = cute.arch.block_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    rank = cute.arch.make_warp_uniform(cute.arch.block_idx_in_cluster())

    allocator = cutlass.utils.SmemAllocator()
    full = allocator.allocate_array(cutlass.Int64, 1)
    staged = allocator.allocate_tensor(cutlass.Float16, tile_layout, byte_alignment=128)
    if thread == 0:
        cute.arch.mbarrier_init(full, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()

    if warp == 0:
        tile_x = cute.group_modes(cute.local_tile(x, TILE, (block_m, block_n)), 0, 2)
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(full, cute.size_in_bytes(cutlass.Float16, tile_layout))
        block_copy(
            tma_load,
            tile_x,
            cute.group_modes(staged, 0, 2),
            tma_bar_ptr=full,
            tma_multicast={"cluster_shape": (CLUSTER, 1), "multicast_dim": "N"},
        )

    cute.arch.mbarrier_wait(full, 0)
    tile_y = cute.local_tile(y, TILE, (block_m, block_n))
    if rank == 0:
        for i in cutlass.range_constexpr(TILE[0] * TILE[1] // THREADS):
            element = i * THREADS + thread
            tile_y[element // TILE[1], element % TILE[1]] = staged[element // TILE[1], element % TILE[1]]
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


@cute.jit
def multicast_dimension(x: cute.Tensor, y: cute.Tensor):
    """y = x for (M, N) tensors of whole tiles."""
    tile_layout = cute.make_ordered_layout(TILE, order=(1, 0))
    tma_load, x_tma = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), x, tile_layout, TILE)
    rows, columns = x.shape
    multicast_kernel(tma_load, x_tma, y, tile_layout).launch(
        grid=[CLUSTER, cute.ceil_div(rows, TILE[0]), cute.ceil_div(columns, TILE[1])],
        block=[THREADS, 1, 1],
        cluster=[CLUSTER, 1, 1],
    )
