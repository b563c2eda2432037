"""Persistent half-precision GEMM for Hopper: two warpgroups share a 128 x 256 tile, two blocks share the columns of b.

Exercises the pipeline classes, the swizzled tile scheduler, multicast with arrivals at the peer, and staged TMA stores.
"""

# cutecc: entry = "Gemm(blocks=2)"
# cutecc: target = "sm_90a"
# cutecc: args.a = "f16[?M=100, ?K{div=8}=72] align=16"
# cutecc: args.b = "f16[?N{div=8}=304, ?K{div=8}] align=16"
# cutecc: args.c = "f16[?M, ?N{div=8}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: tolerance = 2e-3
# cutecc: bytes = "2 * (M * K + N * K + M * N)"
# cutecc: flops = "2 * M * N * K"

import cutlass
from cutlass import cute, pipeline
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, warp, warpgroup
from cutlass.utils import PersistentTileSchedulerParams, StaticPersistentTileScheduler

WARPGROUP = 128  # threads
CONSUMERS = 2  # warpgroups; one more loads
TILE_M, TILE_N, TILE_K = 128, 256, 64  # 64 halves of K are 128 bytes, one row of the widest swizzle
STAGES = 4
CLUSTER = 2  # blocks, of consecutive rows of tiles: each fetches half of their tile of b for both
SWIZZLE = 4  # columns of tiles that neighbouring clusters share, for reuse in the L2 cache
STORE_N, STORE_STAGES = 64, 2  # the tile leaves in parts of STORE_N columns, some of them at a time
STORE_BARRIER = 1
PRODUCER_REGISTERS, CONSUMER_REGISTERS = 40, 232  # of a thread


class Gemm:
    """c = a @ b.T for (M, K), (N, K) and (M, N) tensors of contiguous rows; sums are kept in f32.

    `blocks` is how many are launched at most: as many as the GPU has multiprocessors. The header has few, so that
    each computes several tiles even of small matrices.
    """

    def __init__(self, blocks: int = 132):
        self.clusters = blocks // CLUSTER

    @cute.jit
    def __call__(self, a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
        """Launch the kernel on tensors of any size that TMA can address."""
        tiled_mma = make_mma(TILE_N)

        # Every tile in shared memory repeats an atom of 8 rows x 128 bytes, swizzled against bank conflicts.
        atom = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW128, cutlass.Float16)
        a_layout = cute.tile_to_shape(atom, (TILE_M, TILE_K, STAGES), order=(0, 1, 2))
        b_layout = cute.tile_to_shape(atom, (TILE_N, TILE_K, STAGES), order=(0, 1, 2))
        c_layout = cute.tile_to_shape(atom, (TILE_M, STORE_N, STORE_STAGES), order=(0, 1, 2))

        load, multicast = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileG2SMulticastOp()
        a_stage, b_stage, c_stage = (cute.slice_(each, (None, None, 0)) for each in (a_layout, b_layout, c_layout))
        tma_a, a_tma = cpasync.make_tiled_tma_atom(load, a, a_stage, (TILE_M, TILE_K))
        tma_b, b_tma = cpasync.make_tiled_tma_atom(multicast, b, b_stage, (TILE_N, TILE_K), num_multicast=CLUSTER)
        store = cpasync.CopyBulkTensorTileS2GOp()
        tma_c, c_tma = cpasync.make_tiled_tma_atom(store, c, c_stage, (TILE_M, STORE_N))

        tiles = (cute.ceil_div(c.shape[0], TILE_M), cute.ceil_div(c.shape[1], TILE_N), 1)
        schedule = PersistentTileSchedulerParams(tiles, (CLUSTER, 1, 1), swizzle_size=SWIZZLE)
        self.kernel(tma_a, a_tma, tma_b, b_tma, tma_c, c_tma, tiled_mma, a_layout, b_layout, c_layout, schedule).launch(
            grid=StaticPersistentTileScheduler.get_grid_shape(schedule, self.clusters),
            block=[WARPGROUP * (CONSUMERS + 1), 1, 1],
            cluster=[CLUSTER, 1, 1],
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
        producer_warp = CONSUMERS * 4
        if warp_index == producer_warp:
            cpasync.prefetch_descriptor(tma_a)
            cpasync.prefetch_descriptor(tma_b)
            cpasync.prefetch_descriptor(tma_c)

        # A stage is full when its own a and both halves of b have landed. It is empty when the consumers of both
        # blocks are done with theirs, for what a block loads arrives at the peer too.
        allocator = cutlass.utils.SmemAllocator()
        cluster = cute.make_layout((1, CLUSTER, 1, 1))
        loads = pipeline.PipelineTmaAsync.create(
            num_stages=STAGES,
            producer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread),
            consumer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, CONSUMERS * WARPGROUP),
            tx_count=(TILE_M + TILE_N) * TILE_K * 2,
            barrier_storage=allocator.allocate_array(cutlass.Int64, 2 * STAGES),
            cta_layout_vmnk=cluster,
            mcast_mode_mn=(0, 1),
            enable_multicast_signaling=True,
            defer_sync=True,
        )
        pipeline.pipeline_init_arrive(cluster, is_relaxed=True)
        staged_a = allocator.allocate_tensor(cutlass.Float16, a_layout.outer, 1024, swizzle=a_layout.inner)
        staged_b = allocator.allocate_tensor(cutlass.Float16, b_layout.outer, 1024, swizzle=b_layout.inner)
        staged_c = allocator.allocate_tensor(cutlass.Float16, c_layout.outer, 1024, swizzle=c_layout.inner)
        pipeline.pipeline_init_wait(cluster)

        scheduler = StaticPersistentTileScheduler.create(schedule, cute.arch.block_idx(), cute.arch.grid_dim())
        if warp_index >= producer_warp:
            cute.arch.setmaxregister_decrease(PRODUCER_REGISTERS)
            if warp_index == producer_warp:
                self.produce(scheduler, loads, tma_a, a, staged_a, tma_b, b, staged_b)
        else:
            cute.arch.setmaxregister_increase(CONSUMER_REGISTERS)
            steps = cute.ceil_div(a.shape[1], TILE_K)
            self.consume(scheduler, loads, tiled_mma, staged_a, staged_b, steps, tma_c, c, staged_c, thread, warp_index)

    @cute.jit
    def produce(self, scheduler, loads, tma_a, a, staged_a, tma_b, b, staged_b):
        """Fetch the slices of a and b of every tile of this block; one warp runs this."""
        rank = cute.arch.make_warp_uniform(cute.arch.block_idx_in_cluster())
        everyone = cutlass.Int16((1 << CLUSTER) - 1)
        # (slice, row or column of tiles, step along K)
        slices_a = cute.local_tile(a, (TILE_M, TILE_K), (None, None))
        slices_b = cute.local_tile(b, (TILE_N, TILE_K), (None, None))
        to_a, from_a = cpasync.tma_partition(
            tma_a, 0, cute.make_layout(1), cute.group_modes(staged_a, 0, 2), cute.group_modes(slices_a, 0, 2)
        )
        to_b, from_b = cpasync.tma_partition(
            tma_b, rank, cute.make_layout(CLUSTER), cute.group_modes(staged_b, 0, 2), cute.group_modes(slices_b, 0, 2)
        )
        filled = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, STAGES)
        work = scheduler.initial_work_tile_info()
        while work.is_valid_tile:
            tile_m, tile_n, _ = work.tile_idx
            for step in cutlass.range(cute.size(slices_a, mode=[3]), unroll=1):
                loads.producer_acquire(filled)
                full = loads.producer_get_barrier(filled)
                cute.copy(tma_a, from_a[None, tile_m, step], to_a[None, filled.index], tma_bar_ptr=full)
                target_b = to_b[None, filled.index]
                cute.copy(tma_b, from_b[None, tile_n, step], target_b, tma_bar_ptr=full, mcast_mask=everyone)
                loads.producer_commit(filled)
                filled.advance()
            scheduler.advance_to_next_work()
            work = scheduler.get_current_work()
        # Stay until the peer's last arrivals are in.
        loads.producer_tail(filled)

    @cute.jit
    def consume(self, scheduler, loads, tiled_mma, staged_a, staged_b, steps, tma_c, c, staged_c, thread, warp_index):
        """Compute and store every tile of this block; both warpgroups run this."""
        operands = tiled_mma.get_slice(cute.arch.make_warp_uniform(thread // WARPGROUP) * WARPGROUP)
        fragment_a = tiled_mma.make_fragment_A(operands.partition_A(staged_a))
        fragment_b = tiled_mma.make_fragment_B(operands.partition_B(staged_b))
        sums = cute.make_rmem_tensor(tiled_mma.partition_shape_C((TILE_M, TILE_N)), cutlass.Float32)
        tiled_mma.set(warpgroup.Field.ACCUMULATE, True)
        stores = pipeline.PipelineTmaStore.create(
            num_stages=STORE_STAGES,
            producer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, CONSUMERS * WARPGROUP),
        )

        read = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, STAGES)
        released = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, STAGES)
        work = scheduler.initial_work_tile_info()
        while work.is_valid_tile:
            sums.fill(0)
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
            warpgroup.wait_group(0)
            loads.consumer_release(released)
            released.advance()

            tile_m, tile_n, _ = work.tile_idx
            self.store(stores, sums, tma_c, c, (tile_m, tile_n), staged_c, thread, warp_index)
            scheduler.advance_to_next_work()
            work = scheduler.get_current_work()
        if warp_index == 0:
            stores.producer_tail()

    @cute.jit
    def store(self, stores, sums, tma_c, c, tile, staged_c, thread, warp_index):
        """Round the sums and write the tile, part by part, clipped at c's edges."""
        # The sums of STORE_N columns lie as those of a narrower product: one part after the other.
        narrow_mma = make_mma(STORE_N)
        rounded = cute.make_rmem_tensor(narrow_mma.partition_shape_C((TILE_M, STORE_N)), cutlass.Float16)
        matrices = cute.make_copy_atom(warp.StMatrix8x8x16bOp(False, 4), cutlass.Float16)
        tiled_copy = cute.make_tiled_copy_C(matrices, narrow_mma)
        target = tiled_copy.get_slice(thread).partition_D(staged_c)
        parts_c = cute.local_tile(cute.local_tile(c, (TILE_M, TILE_N), tile), (TILE_M, STORE_N), (0, None))
        from_c, to_c = cpasync.tma_partition(
            tma_c, 0, cute.make_layout(1), cute.group_modes(staged_c, 0, 2), cute.group_modes(parts_c, 0, 2)
        )
        for part in cutlass.range_constexpr(TILE_N // STORE_N):
            stage = part % STORE_STAGES  # STORE_STAGES divides the parts, so every tile begins with the first
            unrounded = cute.make_tensor(sums.iterator + part * cute.size(rounded), rounded.layout)
            rounded.store(unrounded.load().to(cutlass.Float16))
            # The stage is free when the store before the previous one has read it.
            if warp_index == 0:
                stores.producer_acquire()
            cute.arch.barrier(barrier_id=STORE_BARRIER, number_of_threads=CONSUMERS * WARPGROUP)
            cute.copy(tiled_copy, tiled_copy.retile(rounded), target[None, None, None, stage])
            # Ordinary writes become visible to TMA by the fence, and those of all threads by the barrier.
            cute.arch.fence_proxy("async.shared", space="cta")
            cute.arch.barrier(barrier_id=STORE_BARRIER, number_of_threads=CONSUMERS * WARPGROUP)
            if warp_index == 0:
                cute.copy(tma_c, from_c[None, stage], to_c[None, part])
                stores.producer_commit()


def make_mma(columns: int) -> cute.TiledMma:
    """Each consumer warpgroup multiplies 64 rows of a by so many rows of b, 16 of K at a time."""
    operation = warpgroup.MmaF16BF16Op(
        cutlass.Float16,
        cutlass.Float32,
        (64, columns, 16),
        warpgroup.OperandSource.SMEM,
        OperandMajorMode.K,
        OperandMajorMode.K,
    )
    return cute.make_tiled_mma(operation, (CONSUMERS, 1, 1))


def reference(a, b, c):
    """The expected `c`."""
    return (a.astype("float32") @ b.astype("float32").T).astype("float16")


# cutecc: peers = ["torch_matmul"]
def torch_matmul(a, b, c):
    """The same with `torch.matmul`, which calls cuBLAS."""
    import torch

    torch.matmul(a, b.T, out=c)
