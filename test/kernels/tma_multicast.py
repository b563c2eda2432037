"""Two blocks of a cluster each fetch one half of a tile and multicast it to both; block r writes the tile times r + 1.

Exercises cluster launch, TMA multicast with a block mask, cluster barriers, and transaction counts of several senders.
"""

# cutecc: entry = "tma_multicast"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f16[?M=200, ?N{div=8}=328] align=16"
# cutecc: args.y = "f16[2, ?M, ?N{div=8}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0
# cutecc: bytes = "3 * M * N * 2"

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync

TILE = (64, 64)
CLUSTER = 2
THREADS = 128


@cute.kernel
def multicast_kernel(tma_load: cute.CopyAtom, x_tma: cute.Tensor, y: cute.Tensor, tile_layout: cute.Layout):
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
    # The peer's data may arrive only after this block's barrier exists.
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()

    if warp == 0:
        # This block's share of the tile, out of CLUSTER; the barrier counts the bytes of all shares.
        tile_x = cute.group_modes(cute.local_tile(x_tma, TILE, (block_m, block_n)), 0, 2)
        target, source = cpasync.tma_partition(
            tma_load, rank, cute.make_layout(CLUSTER), cute.group_modes(staged, 0, 2), tile_x
        )
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(full, cute.size_in_bytes(cutlass.Float16, tile_layout))
        everyone = cutlass.Int16((1 << CLUSTER) - 1)
        cute.copy(tma_load, source, target, tma_bar_ptr=full, mcast_mask=everyone)

    cute.arch.mbarrier_wait(full, 0)
    factor = cutlass.Float16(rank + 1)
    tile_y = cute.local_tile(y[rank, None, None], TILE, (block_m, block_n))
    for i in cutlass.range_constexpr(TILE[0] * TILE[1] // THREADS):
        element = i * THREADS + thread
        m, n = element // TILE[1], element % TILE[1]
        if cute.elem_less((block_m * TILE[0] + m, block_n * TILE[1] + n), (y.shape[1], y.shape[2])):
            tile_y[m, n] = staged[m, n] * factor

    # Stay until the peer has received what this block sent.
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


@cute.jit
def tma_multicast(x: cute.Tensor, y: cute.Tensor):
    """y[r] = (r + 1) * x for an (M, N) and a (2, M, N) tensor."""
    tile_layout = cute.make_ordered_layout(TILE, order=(1, 0))
    tma_load, x_tma = cpasync.make_tiled_tma_atom(
        cpasync.CopyBulkTensorTileG2SMulticastOp(), x, tile_layout, TILE, num_multicast=CLUSTER
    )
    rows, columns = x.shape
    multicast_kernel(tma_load, x_tma, y, tile_layout).launch(
        grid=[CLUSTER, cute.ceil_div(rows, TILE[0]), cute.ceil_div(columns, TILE[1])],
        block=[THREADS, 1, 1],
        cluster=[CLUSTER, 1, 1],
    )


def reference(x, y):
    """The expected `y`."""
    import numpy as np

    return np.stack([x, x + x])
