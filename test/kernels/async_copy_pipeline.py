"""Sum the rows of a matrix over columns, the tiles prefetched three deep with `cp.async`.

Exercises asynchronous copies, commit and wait groups, zero-filled edges, and a circular buffer in shared memory.
"""

# cutecc: entry = "async_copy_pipeline"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[?M=1000, ?N{div=4}=508] align=16"
# cutecc: args.sums = "f32[?N{div=4}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["sums"]
# cutecc: tolerance = 1e-4
# cutecc: bytes = "(M * N + N) * 4"
# cutecc: flops = "M * N"

import cutlass
from cutlass import cute

ROWS = 8  # of a tile
COLUMNS = 64  # of a tile
STAGES = 3
THREADS = 128
WIDTH = 4  # elements a cp.async moves


@cute.kernel
def column_sum_kernel(x: cute.Tensor, sums: cute.Tensor, tiled_copy: cute.TiledCopy):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    allocator = cutlass.utils.SmemAllocator()
    stage_layout = cute.make_ordered_layout((ROWS, COLUMNS, STAGES), order=(1, 0, 2))
    staged = allocator.allocate_tensor(x.element_type, stage_layout, byte_alignment=16)

    # (ROWS, COLUMNS, step down the rows) of this block's columns, and the same of coordinates.
    tiles = cute.local_tile(x, (ROWS, COLUMNS), (None, block))
    coordinates = cute.local_tile(cute.make_identity_tensor(x.shape), (ROWS, COLUMNS), (None, block))
    copy_slice = tiled_copy.get_slice(thread)
    source = copy_slice.partition_S(tiles)
    target = copy_slice.partition_D(staged)
    source_coord = copy_slice.partition_S(coordinates)
    steps = cute.size(tiles, mode=[2])

    # Each thread moves one piece of 4 a tile; it is fetched, or zeroed when it lies outside.
    inside = cute.make_rmem_tensor((1, 1, 1), cutlass.Boolean)
    for stage in cutlass.range_constexpr(STAGES - 1):
        inside[0] = cute.elem_less(source_coord[0, 0, 0, stage], x.shape)
        if stage < steps:
            cute.copy(tiled_copy, source[None, None, None, stage], target[None, None, None, stage], pred=inside)
        cute.arch.cp_async_commit_group()

    total = cutlass.Float32(0.0)
    for step in range(steps):
        # The oldest group has landed for this thread; the barrier makes that true for all of them, and also says
        # that everyone is done with the stage which the next fetch overwrites.
        cute.arch.cp_async_wait_group(STAGES - 2)
        cute.arch.sync_threads()
        ahead = step + STAGES - 1
        if ahead < steps:
            inside[0] = cute.elem_less(source_coord[0, 0, 0, ahead], x.shape)
            cute.copy(
                tiled_copy,
                source[None, None, None, ahead],
                target[None, None, None, ahead % STAGES],
                pred=inside,
            )
        cute.arch.cp_async_commit_group()
        if thread < COLUMNS:
            for row in cutlass.range_constexpr(ROWS):
                total += staged[row, thread, step % STAGES]

    column = block * COLUMNS + thread
    if thread < COLUMNS and column < cute.size(sums):
        sums[column] = total


@cute.jit
def async_copy_pipeline(x: cute.Tensor, sums: cute.Tensor):
    """sums = x.sum(0) for an (M, N) tensor."""
    piece = cute.make_copy_atom(
        cute.nvgpu.cpasync.CopyG2SOp(cache_mode=cute.nvgpu.cpasync.LoadCacheMode.GLOBAL),
        x.element_type,
        num_bits_per_copy=WIDTH * x.element_type.width,
    )
    threads = cute.make_ordered_layout((ROWS, COLUMNS // WIDTH), order=(1, 0))
    tiled_copy = cute.make_tiled_copy_tv(piece, threads, cute.make_ordered_layout((1, WIDTH), order=(1, 0)))
    column_sum_kernel(x, sums, tiled_copy).launch(
        grid=[cute.ceil_div(x.shape[1], COLUMNS), 1, 1], block=[THREADS, 1, 1]
    )


def reference(x, sums):
    """The expected `sums`."""
    return x.astype("float64").sum(0).astype("float32")
