"""Double a matrix tile by tile: TMA in, arithmetic in shared memory, TMA out, two stages taking turns.

Exercises TMA descriptors, transaction barriers with their phases, the proxy fence, and bulk groups.
"""

# cutecc: entry = "tma_copy"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[?M=300, ?N{div=4}=404] align=16"
# cutecc: args.y = "f32[?M, ?N{div=4}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0
# cutecc: bytes = "2 * M * N * 4"

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync

TILE = (32, 64)
STAGES = 2
THREADS = 128


@cute.kernel
def double_kernel(
    tma_load: cute.CopyAtom, x: cute.Tensor, tma_store: cute.CopyAtom, y: cute.Tensor, stage_layout: cute.Layout
):
    thread, _, _ = cute.arch.thread_idx()
    column, _, _ = cute.arch.block_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())

    allocator = cutlass.utils.SmemAllocator()
    full = allocator.allocate_array(cutlass.Int64, STAGES)
    staged_layout = cute.append(stage_layout, cute.make_layout(STAGES, stride=cute.cosize(stage_layout)))
    staged = allocator.allocate_tensor(cutlass.Float32, staged_layout, byte_alignment=128)
    if thread == 0:
        for stage in cutlass.range_constexpr(STAGES):
            cute.arch.mbarrier_init(full + stage, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()

    # This block's column of tiles, from top to bottom: (TILE_M, TILE_N, tile).
    alone = cute.make_layout(1)
    grouped = cute.group_modes(staged, 0, 2)
    tiles_x = cute.group_modes(cute.local_tile(x, TILE, (None, column)), 0, 2)
    tiles_y = cute.group_modes(cute.local_tile(y, TILE, (None, column)), 0, 2)
    load_to, load_from = cpasync.tma_partition(tma_load, 0, alone, grouped, tiles_x)
    store_from, store_to = cpasync.tma_partition(tma_store, 0, alone, grouped, tiles_y)
    tiles = cute.size(tiles_x, mode=[1])
    stage_bytes = cute.size_in_bytes(cutlass.Float32, stage_layout)

    if warp == 0:
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(full, stage_bytes)
        cute.copy(tma_load, load_from[None, 0], load_to[None, 0], tma_bar_ptr=full)

    for tile in range(tiles):
        stage = tile % STAGES
        following = tile + 1
        if warp == 0 and following < tiles:
            # The other stage may be overwritten once the store that reads it is through.
            cute.arch.cp_async_bulk_wait_group(0, read=True)
            other = following % STAGES
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(full + other, stage_bytes)
            cute.copy(tma_load, load_from[None, following], load_to[None, other], tma_bar_ptr=full + other)

        # Each stage's barrier flips its phase once every STAGES tiles.
        cute.arch.mbarrier_wait(full + stage, (tile // STAGES) % 2)
        for i in cutlass.range_constexpr(TILE[0] * TILE[1] // THREADS):
            element = i * THREADS + thread
            grouped[element, stage] = grouped[element, stage] * 2.0

        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.sync_threads()
        if warp == 0:
            cute.copy(tma_store, store_from[None, stage], store_to[None, tile])
            cute.arch.cp_async_bulk_commit_group()

    if warp == 0:
        cute.arch.cp_async_bulk_wait_group(0, read=True)


@cute.jit
def tma_copy(x: cute.Tensor, y: cute.Tensor):
    """y = 2 * x for (M, N) tensors; edges are clipped by TMA."""
    stage_layout = cute.make_ordered_layout(TILE, order=(1, 0))
    tma_load, x_tma = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), x, stage_layout, TILE)
    tma_store, y_tma = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), y, stage_layout, TILE)
    double_kernel(tma_load, x_tma, tma_store, y_tma, stage_layout).launch(
        grid=[cute.ceil_div(x.shape[1], TILE[1]), 1, 1], block=[THREADS, 1, 1]
    )


def reference(x, y):
    """The expected `y`."""
    return x + x
