"""Sums of tiles that a loop fetches by TMA ahead of their use, by loops of several kinds.

`Sum(kind)` is what is launched. Tile `t` of a column of tiles counts `t + 1` times, so that none stands for another.
"""

# cutecc: entry = "Sum('own counts')"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[?M, 64] align=16"
# cutecc: args.y = "f32[16, 64] align=16"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 1e-4

import cutlass
from cutlass import cute, pipeline
from cutlass.cute.nvgpu import cpasync

TILE = (16, 64)
STAGES = 4
THREADS = 32


class Sum:
    """The loop of a kind: what counts, how it waits, who loads."""

    def __init__(self, kind: str, ahead: int = 2):
        self.kind, self.ahead = kind, ahead

    @cute.kernel
    def kernel(self, tma_load: cute.CopyAtom, x: cute.Tensor, y: cute.Tensor, stage_layout: cute.Layout):
        kind = self.kind
        thread, _, _ = cute.arch.thread_idx()
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
        tiles = cute.group_modes(cute.local_tile(x, TILE, (None, 0)), 0, 2)
        to, source = cpasync.tma_partition(tma_load, 0, cute.make_layout(1), cute.group_modes(staged, 0, 2), tiles)
        total = cute.make_rmem_tensor((TILE[0] * TILE[1] // THREADS,), cutlass.Float32)
        total.fill(0)
        count = cute.size(tiles, mode=[1])
        begin, end, step = 0, count, 1
        if cutlass.const_expr(kind == "downwards"):
            begin, end, step = count - 1, -1, -1
        if cutlass.const_expr(kind == "every other"):
            begin, step = 1, 2
        following = cutlass.Int32(0)
        for tile in cutlass.range(begin, end, step, prefetch_stages=self.ahead):
            token = None
            if cutlass.const_expr(kind == "peeks"):
                token = producer.try_acquire()
            at = following if cutlass.const_expr(kind == "loads what a tile says") else tile
            empty = producer.acquire_and_advance(token)
            if cutlass.const_expr(kind == "under a condition"):
                # Of all threads, as far as the compiler knows of some.
                if tile >= 0:
                    cute.copy(tma_load, source[None, at], to[None, empty.index], tma_bar_ptr=empty.barrier)
            else:
                cute.copy(tma_load, source[None, at], to[None, empty.index], tma_bar_ptr=empty.barrier)
            full = consumer.wait_and_advance()
            stage = empty.index if cutlass.const_expr(kind == "one count") else full.index
            for i in cutlass.range_constexpr(cute.size(total)):
                element = i * THREADS + thread
                total[i] = total[i] + (tile + 1) * staged[element // TILE[1], element % TILE[1], stage]
            if cutlass.const_expr(kind == "loads what a tile says"):
                following = tile + 1 + cutlass.Int32(staged[0, 0, stage] > 1e30)
            full.release()
        if cutlass.const_expr(kind == "tail"):
            producer.tail()
        for i in cutlass.range_constexpr(cute.size(total)):
            element = i * THREADS + thread
            y[element // TILE[1], element % TILE[1]] = total[i]

    @cute.jit
    def __call__(self, x: cute.Tensor, y: cute.Tensor):
        stage_layout = cute.make_ordered_layout(TILE, order=(1, 0))
        tma_load, x_tma = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), x, stage_layout, TILE)
        self.kernel(tma_load, x_tma, y, stage_layout).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def _sum(x, begin, step):
    import numpy as np

    tiles = -(-x.shape[0] // TILE[0])
    filled = np.zeros((tiles * TILE[0], TILE[1]))
    filled[: x.shape[0]] = x
    weighed = filled.reshape(tiles, *TILE) * np.arange(1, tiles + 1)[:, None, None]
    return weighed[begin::step].sum(0).astype(np.float32)


def every(x):
    """The sum of all tiles."""
    return _sum(x, 0, 1)


def every_other(x):
    """The sum of every second tile."""
    return _sum(x, 1, 2)
