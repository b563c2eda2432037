"""Persistent bf16 GEMM for Hopper: two warpgroups take turns, so that one stores its tile while the other multiplies.

Exercises an order pipeline, states that skip ahead by a run-time count, and barriers of one warpgroup each.
"""

# cutecc: entry = "Gemm(blocks=2)"
# cutecc: target = "sm_90a"
# cutecc: args.a = "bf16[?M=100, ?K{div=8}=136] align=16"
# cutecc: args.b = "bf16[?N{div=8}=136, ?K{div=8}] align=16"
# cutecc: args.c = "bf16[?M, ?N{div=8}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: bytes = "2 * (M * K + N * K + M * N)"
# cutecc: flops = "2 * M * N * K"

import cutlass
from cutlass import cute, pipeline
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, warp, warpgroup
from cutlass.utils import PersistentTileSchedulerParams, StaticPersistentTileScheduler

WARPGROUP = 128  # threads
CONSUMERS = 2  # warpgroups; one more loads
TILE_M, TILE_N, TILE_K = 128, 128, 64  # 64 numbers along K are 128 bytes, one row of the widest swizzle
STAGES = 5
SWIZZLE = 8  # columns of tiles that neighbouring blocks share, for reuse in the L2 cache
FIRST_STORE_BARRIER = 1  # and one for each consumer
PRODUCER_REGISTERS, CONSUMER_REGISTERS = 40, 232  # of a thread


class Gemm:
    """c = a @ b.T for (M, K), (N, K) and (M, N) tensors of contiguous rows; sums are kept in f32.

    `blocks` is how many are launched at most: as many as the GPU has multiprocessors. The header has few, so that
    each computes several tiles even of small matrices.
    """

    def __init__(self, blocks: int = 132):
        self.blocks = blocks

    @cute.jit
    def __call__(self, a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
        """Launch the kernel on tensors of any size that TMA can address."""
        operation = warpgroup.MmaF16BF16Op(
            cutlass.BFloat16,
            cutlass.Float32,
            (64, TILE_N, 16),
            warpgroup.OperandSource.SMEM,
            OperandMajorMode.K,
            OperandMajorMode.K,
        )
        tiled_mma = cute.make_tiled_mma(operation)  # of one warpgroup: each has a tile of its own

        # Every tile in shared memory repeats an atom of 8 rows x 128 bytes, swizzled against bank conflicts.
        atom = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW128, cutlass.BFloat16)
        a_layout = cute.tile_to_shape(atom, (TILE_M, TILE_K, STAGES), order=(0, 1, 2))
        b_layout = cute.tile_to_shape(atom, (TILE_N, TILE_K, STAGES), order=(0, 1, 2))
        c_layout = cute.tile_to_shape(atom, (TILE_M, TILE_N, CONSUMERS), order=(0, 1, 2))

        load, store = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileS2GOp()
        a_stage, b_stage, c_stage = (cute.slice_(each, (None, None, 0)) for each in (a_layout, b_layout, c_layout))
        tma_a, a_tma = cpasync.make_tiled_tma_atom(load, a, a_stage, (TILE_M, TILE_K))
        tma_b, b_tma = cpasync.make_tiled_tma_atom(load, b, b_stage, (TILE_N, TILE_K))
        tma_c, c_tma = cpasync.make_tiled_tma_atom(store, c, c_stage, (TILE_M, TILE_N))

        tiles = (cute.ceil_div(c.shape[0], TILE_M), cute.ceil_div(c.shape[1], TILE_N), 1)
        schedule = PersistentTileSchedulerParams(tiles, (1, 1, 1), swizzle_size=SWIZZLE)
        self.kernel(tma_a, a_tma, tma_b, b_tma, tma_c, c_tma, tiled_mma, a_layout, b_layout, c_layout, schedule).launch(
            grid=StaticPersistentTileScheduler.get_grid_shape(schedule, self.blocks),
            block=[WARPGROUP * (CONSUMERS + 1), 1, 1],
        )

    @cute.kernel
    def kernel(
        self,
        tma_a: cute.CopyAtom,
        a: cute.Tensor,
        tma_b: cute.CopyAtom,
        b: cute.Tensor,
        tma_c: cute.CopyAtom,
        c: cute.Tensor,
        tiled_mma: cute.TiledMma,
        a_layout: cute.ComposedLayout,
        b_layout: cute.ComposedLayout,
        c_layout: cute.ComposedLayout,
        schedule: PersistentTileSchedulerParams,
    ):
        thread, _, _ = cute.arch.thread_idx()
        warp_index = cute.arch.make_warp_uniform(cute.arch.warp_idx())
        group = warp_index // 4
        producer_warp = CONSUMERS * 4
        if warp_index == producer_warp:
            cpasync.prefetch_descriptor(tma_a)
            cpasync.prefetch_descriptor(tma_b)
            cpasync.prefetch_descriptor(tma_c)

        # A stage belongs to the tile of one consumer, whose four warps free it.
        allocator = cutlass.utils.SmemAllocator()
        loads = pipeline.PipelineTmaAsync.create(
            num_stages=STAGES,
            producer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread),
            consumer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, 4),
            tx_count=(TILE_M + TILE_N) * TILE_K * 2,
            barrier_storage=allocator.allocate_array(cutlass.Int64, 2 * STAGES),
            defer_sync=True,
        )
        turns = pipeline.PipelineOrder.create(
            depth=1,
            length=CONSUMERS,
            group_id=group,
            producer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, WARPGROUP),
            barrier_storage=allocator.allocate_array(cutlass.Int64, CONSUMERS),
            defer_sync=True,
        )
        pipeline.pipeline_init_arrive()
        staged_a = allocator.allocate_tensor(cutlass.BFloat16, a_layout.outer, 1024, swizzle=a_layout.inner)
        staged_b = allocator.allocate_tensor(cutlass.BFloat16, b_layout.outer, 1024, swizzle=b_layout.inner)
        staged_c = allocator.allocate_tensor(cutlass.BFloat16, c_layout.outer, 1024, swizzle=c_layout.inner)
        pipeline.pipeline_init_wait()

        scheduler = StaticPersistentTileScheduler.create(schedule, cute.arch.block_idx(), cute.arch.grid_dim())
        if group == CONSUMERS:
            cute.arch.setmaxregister_decrease(PRODUCER_REGISTERS)
            if warp_index == producer_warp:
                self.produce(scheduler, loads, tma_a, a, staged_a, tma_b, b, staged_b)
        else:
            cute.arch.setmaxregister_increase(CONSUMER_REGISTERS)
            # At least one, which libNVVM has to be told: it would round the sums of no step, zeros, and with them all
            # others, before they have been waited for, and ptxas would then wait after every product.
            steps = cutlass.max(cute.ceil_div(a.shape[1], TILE_K), 1)
            own_c = staged_c[None, None, group]
            self.consume(scheduler, loads, turns, tiled_mma, staged_a, staged_b, steps, tma_c, c, own_c, thread, group)

    @cute.jit
    def produce(self, scheduler, loads, tma_a, a, staged_a, tma_b, b, staged_b):
        """Fetch the slices of a and b of every tile of this block, whoever computes it; one warp runs this."""
        alone = cute.make_layout(1)
        # (slice, row or column of tiles, step along K)
        slices_a = cute.local_tile(a, (TILE_M, TILE_K), (None, None))
        slices_b = cute.local_tile(b, (TILE_N, TILE_K), (None, None))
        to_a, from_a = cpasync.tma_partition(
            tma_a, 0, alone, cute.group_modes(staged_a, 0, 2), cute.group_modes(slices_a, 0, 2)
        )
        to_b, from_b = cpasync.tma_partition(
            tma_b, 0, alone, cute.group_modes(staged_b, 0, 2), cute.group_modes(slices_b, 0, 2)
        )
        filled = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, STAGES)
        work = scheduler.initial_work_tile_info()
        while work.is_valid_tile:
            tile_m, tile_n, _ = work.tile_idx
            for step in cutlass.range(cute.size(slices_a, mode=[3]), unroll=1):
                loads.producer_acquire(filled)
                full = loads.producer_get_barrier(filled)
                cute.copy(tma_a, from_a[None, tile_m, step], to_a[None, filled.index], tma_bar_ptr=full)
                cute.copy(tma_b, from_b[None, tile_n, step], to_b[None, filled.index], tma_bar_ptr=full)
                loads.producer_commit(filled)
                filled.advance()
            scheduler.advance_to_next_work()
            work = scheduler.get_current_work()
        loads.producer_tail(filled)

    @cute.jit
    def consume(self, scheduler, loads, turns, tiled_mma, staged_a, staged_b, steps, tma_c, c, staged_c, thread, group):
        """Compute and store every other tile of this block; one warpgroup runs this."""
        operands = tiled_mma.get_slice(0)
        fragment_a = tiled_mma.make_fragment_A(operands.partition_A(staged_a))
        fragment_b = tiled_mma.make_fragment_B(operands.partition_B(staged_b))
        sums = cute.make_rmem_tensor(tiled_mma.partition_shape_C((TILE_M, TILE_N)), cutlass.Float32)
        tiled_mma.set(warpgroup.Field.ACCUMULATE, True)

        read = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, STAGES)
        released = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, STAGES)
        turn = turns.state
        if group == 1:
            # The first tile, and its stages, are the other's.
            scheduler.advance_to_next_work()
            read.advance(steps)
            released.advance(steps)
        work = scheduler.get_current_work()
        while work.is_valid_tile:
            sums.fill(0)
            turns.wait(turn)
            for step in cutlass.range(steps, unroll=1):
                loads.consumer_wait(read)
                warpgroup.fence()
                for k in cutlass.range_constexpr(cute.size(fragment_a, mode=[2])):
                    slice_a, slice_b = fragment_a[None, None, k, read.index], fragment_b[None, None, k, read.index]
                    cute.gemm(tiled_mma, sums, slice_a, slice_b, sums)
                warpgroup.commit_group()
                # One group stays in flight: with this step's issued, the previous step's is what must be done.
                warpgroup.wait_group(1)
                if step > 0:
                    loads.consumer_release(released)
                    released.advance()
                read.advance()
            # All products are issued: the other's may queue behind them.
            turn = turns.arrive(turn)
            warpgroup.wait_group(0)
            loads.consumer_release(released)
            released.advance()
            read.advance(steps)
            released.advance(steps)

            tile_m, tile_n, _ = work.tile_idx
            self.store(tiled_mma, sums, tma_c, c, (tile_m, tile_n), staged_c, thread, group)
            scheduler.advance_to_next_work(advance_count=CONSUMERS)
            work = scheduler.get_current_work()
        if thread % WARPGROUP < 32:
            cute.arch.cp_async_bulk_wait_group(0, read=True)

    @cute.jit
    def store(self, tiled_mma, sums, tma_c, c, tile, staged_c, thread, group):
        """Round the sums, gather them in this warpgroup's memory, and write the tile, clipped at c's edges."""
        rounded = cute.make_fragment_like(sums, cutlass.BFloat16)
        rounded.store(sums.load().to(cutlass.BFloat16))
        matrices = cute.make_copy_atom(warp.StMatrix8x8x16bOp(False, 4), cutlass.BFloat16)
        tiled_copy = cute.make_tiled_copy_C(matrices, tiled_mma)
        thread_in_group = thread % WARPGROUP
        is_first_warp = cute.arch.make_warp_uniform(thread_in_group // 32) == 0
        # The memory is free when the previous store has read it.
        if is_first_warp:
            cute.arch.cp_async_bulk_wait_group(0, read=True)
        barrier = FIRST_STORE_BARRIER + group
        cute.arch.barrier(barrier_id=barrier, number_of_threads=WARPGROUP)
        cute.copy(tiled_copy, tiled_copy.retile(rounded), tiled_copy.get_slice(thread_in_group).partition_D(staged_c))
        # Ordinary writes become visible to TMA by the fence, and those of all threads by the barrier.
        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.barrier(barrier_id=barrier, number_of_threads=WARPGROUP)
        if is_first_warp:
            tile_c = cute.local_tile(c, (TILE_M, TILE_N), tile)
            from_c, to_c = cpasync.tma_partition(
                tma_c, 0, cute.make_layout(1), cute.group_modes(staged_c, 0, 2), cute.group_modes(tile_c, 0, 2)
            )
            cute.copy(tma_c, from_c, to_c)
            cute.arch.cp_async_bulk_commit_group()


def reference(a, b, c):
    """The expected `c`, which numpy has no type for."""
    return a.astype("float32") @ b.astype("float32").T


# cutecc: peers = ["torch_matmul"]
def torch_matmul(a, b, c):
    """The same with `torch.matmul`, which calls cuBLAS."""
    import torch

    torch.matmul(a, b.T, out=c)
