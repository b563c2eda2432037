"""Sum the tiles of each column of tiles, fetched by TMA in a loop that asks the compiler to fetch ahead.

Exercises `prefetch_stages`: the body is written without a pipeline, and a pass makes one of it: `software-pipeline` of
the wheel, `pipeline-tma-loops` of cutecc.
"""

# cutecc: entry = "prefetched_loop"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[?M, ?N{div=4}] align=16"
# cutecc: args.y = "f32[16, ?N{div=4}] align=16"

import cutlass
from cutlass import cute, pipeline
from cutlass.cute.nvgpu import cpasync

TILE = (16, 64)
STAGES = 4
THREADS = 32


@cute.kernel
def sum_kernel(tma_load: cute.CopyAtom, x: cute.Tensor, y: cute.Tensor, stage_layout: cute.Layout):
    thread, _, _ = cute.arch.thread_idx()
    column, _, _ = cute.arch.block_idx()

    allocator = cutlass.utils.SmemAllocator()
    barriers = allocator.allocate_array(cutlass.Int64, 2 * STAGES)
    staged_layout = cute.append(stage_layout, cute.make_layout(STAGES, stride=cute.cosize(stage_layout)))
    staged = allocator.allocate_tensor(cutlass.Float32, staged_layout, byte_alignment=128)
    producer, consumer = pipeline.PipelineTmaAsync.create(
        num_stages=STAGES,
        producer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread),
        consumer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, 1),
        tx_count=cute.size_in_bytes(cutlass.Float32, stage_layout),
        barrier_storage=barriers,
    ).make_participants()

    tiles = cute.group_modes(cute.local_tile(x, TILE, (None, column)), 0, 2)
    to, source = cpasync.tma_partition(tma_load, 0, cute.make_layout(1), cute.group_modes(staged, 0, 2), tiles)
    total = cute.make_rmem_tensor((TILE[0] * TILE[1] // THREADS,), cutlass.Float32)
    total.fill(0)
    for _ in cutlass.range(cute.size(tiles, mode=[1]), prefetch_stages=STAGES - 2):
        empty = producer.acquire_and_advance()
        cute.copy(tma_load, source[None, empty.count], to[None, empty.index], tma_bar_ptr=empty.barrier)
        full = consumer.wait_and_advance()
        for i in cutlass.range_constexpr(cute.size(total)):
            element = i * THREADS + thread
            total[i] = total[i] + staged[element // TILE[1], element % TILE[1], full.index]
        full.release()
    tile_y = cute.local_tile(y, TILE, (0, column))
    for i in cutlass.range_constexpr(cute.size(total)):
        element = i * THREADS + thread
        tile_y[element // TILE[1], element % TILE[1]] = total[i]


@cute.jit
def prefetched_loop(x: cute.Tensor, y: cute.Tensor):
    stage_layout = cute.make_ordered_layout(TILE, order=(1, 0))
    tma_load, x_tma = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), x, stage_layout, TILE)
    sum_kernel(tma_load, x_tma, y, stage_layout).launch(
        grid=[cute.ceil_div(x.shape[1], TILE[1]), 1, 1], block=[THREADS, 1, 1]
    )
