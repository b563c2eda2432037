"""Sum the leading mode of a rank-3 tensor: every block adds its tile to the result with a reducing TMA store.

Exercises rank-3 TMA, `cp.reduce.async.bulk`, a clearing kernel launched first, and a barrier used once.
"""

# cutecc: entry = "tma_reduce"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[?B=5, ?M=70, ?N{div=4}=100] align=16"
# cutecc: args.y = "f32[?M, ?N{div=4}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 1e-4
# cutecc: bytes = "(B + 1) * M * N * 4"
# cutecc: flops = "B * M * N"

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync

TILE = (32, 64)
THREADS = 128


@cute.kernel
def clear_kernel(y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    if i < cute.size(y):
        y[i] = 0.0


@cute.kernel
def sum_kernel(
    tma_load: cute.CopyAtom, x: cute.Tensor, tma_add: cute.CopyAtom, y: cute.Tensor, tile_layout: cute.Layout
):
    """`x` comes as (M, N, B)."""
    thread, _, _ = cute.arch.thread_idx()
    block_m, block_n, batch = cute.arch.block_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    allocator = cutlass.utils.SmemAllocator()
    full = allocator.allocate_array(cutlass.Int64, 1)
    staged = allocator.allocate_tensor(cutlass.Float32, tile_layout, byte_alignment=128)
    if thread == 0:
        cute.arch.mbarrier_init(full, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()

    if warp == 0:
        alone = cute.make_layout(1)
        tile_x = cute.local_tile(x, (*TILE, 1), (block_m, block_n, batch))
        tile_y = cute.local_tile(y, TILE, (block_m, block_n))
        staged_x = cute.group_modes(cute.append_ones(staged, up_to_rank=3), 0, 3)
        to_x, from_x = cpasync.tma_partition(tma_load, 0, alone, staged_x, cute.group_modes(tile_x, 0, 3))
        from_y, to_y = cpasync.tma_partition(
            tma_add, 0, alone, cute.group_modes(staged, 0, 2), cute.group_modes(tile_y, 0, 2)
        )
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(full, cute.size_in_bytes(cutlass.Float32, tile_layout))
        cute.copy(tma_load, from_x, to_x, tma_bar_ptr=full)
        cute.arch.mbarrier_wait(full, 0)
        # What lies outside x arrived as zeros, and TMA adds nothing outside y.
        cute.copy(tma_add, from_y, to_y)
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0, read=True)


@cute.jit
def tma_reduce(x: cute.Tensor, y: cute.Tensor):
    """y = x.sum(0) for a (B, M, N) and an (M, N) tensor."""
    rows, columns = y.shape
    flat = cute.make_tensor(y.iterator, cute.make_layout(cute.size(y)))
    clear_kernel(flat).launch(grid=[cute.ceil_div(cute.size(y), THREADS), 1, 1], block=[THREADS, 1, 1])

    tile_layout = cute.make_ordered_layout(TILE, order=(1, 0))
    x_mnb = cute.make_tensor(x.iterator, cute.select(x.layout, mode=[1, 2, 0]))
    load, add = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyReduceBulkTensorTileS2GOp(cute.ReductionKind.ADD)
    tma_load, x_tma = cpasync.make_tiled_tma_atom(
        load, x_mnb, cute.append(tile_layout, cute.make_layout(1, stride=0)), (*TILE, 1)
    )
    tma_add, y_tma = cpasync.make_tiled_tma_atom(add, y, tile_layout, TILE)
    sum_kernel(tma_load, x_tma, tma_add, y_tma, tile_layout).launch(
        grid=[cute.ceil_div(rows, TILE[0]), cute.ceil_div(columns, TILE[1]), x.shape[0]], block=[THREADS, 1, 1]
    )


def reference(x, y):
    """The expected `y`."""
    return x.astype("float64").sum(0).astype("float32")
