"""Half-precision GEMM for Hopper: TMA loads, mbarriers and wgmma, with one producer and several consumer warpgroups.

Exercises warp specialisation, a ring of swizzled shared-memory stages, register reallocation, and a TMA-store epilogue.
"""

# cutecc: entry = "Gemm(tile=(128, 128))"
# cutecc: target = "sm_90a"
# cutecc: args.a = "f16[?M=1000, ?K{div=8}=520] align=16"
# cutecc: args.b = "f16[?N{div=8}=1032, ?K{div=8}] align=16"
# cutecc: args.c = "f16[?M, ?N{div=8}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: tolerance = 2e-3
# cutecc: bytes = "2 * (M * K + N * K + M * N)"
# cutecc: flops = "2 * M * N * K"

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, warp, warpgroup

WARPGROUP = 128  # threads
TILE_K = 64  # 128 bytes of f16: one row of the widest swizzle
INSTRUCTION_M = 64  # rows of a wgmma
INSTRUCTION_K = 16
GROUP = 8  # rows of tiles that neighbouring blocks share, for reuse in the L2 cache
CONSUMER_BARRIER = 1
# Registers a thread of the producer and of two consumers; with one consumer there are enough for all.
PRODUCER_REGISTERS, CONSUMER_REGISTERS = 40, 232


class Gemm:
    """c = a @ b.T for (M, K), (N, K) and (M, N) tensors of contiguous rows; sums are kept in f32.

    `tile` is the part of c that one block computes: its M 64 or 128, one warpgroup for each 64, its N a multiple of
    64 up to 256. `stages` is the number of (tile, 64) slices of a and b in flight, `dtype` f16 or bf16.
    """

    def __init__(
        self, tile: tuple[int, int] = (128, 128), stages: int = 4, dtype: type[cutlass.Numeric] = cutlass.Float16
    ):
        tile_m, tile_n = tile
        if tile_m not in (64, 128) or tile_n not in (64, 128, 192, 256):
            raise ValueError(f"tile {tile} is not a multiple of (64, 64) up to (128, 256)")
        if stages < 2 or stages * TILE_K < tile_n:
            raise ValueError("it takes two stages, and the tile of c has to fit where the stages of a were")
        self.tile_m, self.tile_n, self.stages, self.dtype = tile_m, tile_n, stages, dtype
        self.consumers = tile_m // INSTRUCTION_M

    @cute.jit
    def __call__(self, a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
        """Launch the kernel on tensors of any size that TMA can address."""
        assert a.element_type is self.dtype and b.element_type is self.dtype and c.element_type is self.dtype
        tiled_mma = cute.make_tiled_mma(
            warpgroup.MmaF16BF16Op(
                self.dtype,
                cutlass.Float32,
                (INSTRUCTION_M, self.tile_n, INSTRUCTION_K),
                warpgroup.OperandSource.SMEM,
                OperandMajorMode.K,
                OperandMajorMode.K,
            ),
            (self.consumers, 1, 1),
        )

        # Every tile in shared memory repeats an atom of 8 rows x 128 bytes, swizzled against bank conflicts.
        atom = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW128, self.dtype)
        a_layout = cute.tile_to_shape(atom, (self.tile_m, TILE_K, self.stages), order=(0, 1, 2))
        b_layout = cute.tile_to_shape(atom, (self.tile_n, TILE_K, self.stages), order=(0, 1, 2))
        c_layout = cute.tile_to_shape(atom, (self.tile_m, self.tile_n), order=(0, 1))

        load, store = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileS2GOp()
        a_stage = cute.slice_(a_layout, (None, None, 0))
        b_stage = cute.slice_(b_layout, (None, None, 0))
        tma_a, a_tma = cpasync.make_tiled_tma_atom(load, a, a_stage, (self.tile_m, TILE_K))
        tma_b, b_tma = cpasync.make_tiled_tma_atom(load, b, b_stage, (self.tile_n, TILE_K))
        tma_c, c_tma = cpasync.make_tiled_tma_atom(store, c, c_layout, (self.tile_m, self.tile_n))

        tiles_m = cute.ceil_div(c.shape[0], self.tile_m)
        tiles_n = cute.ceil_div(c.shape[1], self.tile_n)
        self.kernel(tma_a, a_tma, tma_b, b_tma, tma_c, c_tma, tiled_mma, a_layout, b_layout, c_layout).launch(
            grid=[tiles_m * tiles_n, 1, 1],
            block=[WARPGROUP * (self.consumers + 1), 1, 1],
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
    ):
        thread, _, _ = cute.arch.thread_idx()
        warp_index = cute.arch.make_warp_uniform(cute.arch.warp_idx())
        group = warp_index // 4
        producer_warp = self.consumers * 4
        block_m, block_n = self.tile_of_block(c)

        if warp_index == producer_warp:
            cpasync.prefetch_descriptor(tma_a)
            cpasync.prefetch_descriptor(tma_b)
            cpasync.prefetch_descriptor(tma_c)

        # A stage is full when TMA has written all its bytes, and empty when every consumer warp has arrived.
        allocator = cutlass.utils.SmemAllocator()
        full = allocator.allocate_array(cutlass.Int64, self.stages)
        empty = allocator.allocate_array(cutlass.Int64, self.stages)
        staged_a = allocator.allocate_tensor(self.dtype, a_layout.outer, 1024, swizzle=a_layout.inner)
        staged_b = allocator.allocate_tensor(self.dtype, b_layout.outer, 1024, swizzle=b_layout.inner)
        if thread == 0:
            for stage in cutlass.range_constexpr(self.stages):
                cute.arch.mbarrier_init(full + stage, 1)
                cute.arch.mbarrier_init(empty + stage, self.consumers * 4)
            cute.arch.mbarrier_init_fence()
        cute.arch.sync_threads()

        # Slices of this block's rows of a and b: (tile, TILE_K, step along K).
        tiles_a = cute.local_tile(a, (self.tile_m, TILE_K), (block_m, None))
        tiles_b = cute.local_tile(b, (self.tile_n, TILE_K), (block_n, None))
        steps = cute.size(tiles_a, mode=[2])

        if group == self.consumers:
            if cutlass.const_expr(self.consumers == 2):
                cute.arch.setmaxregister_decrease(PRODUCER_REGISTERS)
            if warp_index == producer_warp:
                self.produce(tma_a, tiles_a, staged_a, tma_b, tiles_b, staged_b, full, empty, steps)
        else:
            if cutlass.const_expr(self.consumers == 2):
                cute.arch.setmaxregister_increase(CONSUMER_REGISTERS)
            sums = self.consume(tiled_mma, staged_a, staged_b, full, empty, steps, group)
            # All loads have landed and all products are done: the memory of a's stages is free for c.
            cute.arch.barrier(barrier_id=CONSUMER_BARRIER, number_of_threads=self.consumers * WARPGROUP)
            staged_c = cute.make_tensor(staged_a.iterator, c_layout.outer)
            self.store(tiled_mma, sums, staged_c, tma_c, c, (block_m, block_n), thread, warp_index)

    @cute.jit
    def tile_of_block(self, c: cute.Tensor):
        """The (m, n) of the tile that this block computes: down GROUP tiles, then one to the right, and so on."""
        tiles_m = cute.ceil_div(c.shape[0], self.tile_m)
        tiles_n = cute.ceil_div(c.shape[1], self.tile_n)
        block, _, _ = cute.arch.block_idx()
        first_m = block // (GROUP * tiles_n) * GROUP
        rows = cutlass.min(tiles_m - first_m, GROUP)
        in_group = block - first_m * tiles_n
        return first_m + in_group % rows, in_group // rows

    @cute.jit
    def produce(self, tma_a, tiles_a, staged_a, tma_b, tiles_b, staged_b, full, empty, steps):
        """Fetch every slice of a and b into the ring of stages; one warp runs this."""
        alone = cute.make_layout(1)
        to_a, from_a = cpasync.tma_partition(
            tma_a, 0, alone, cute.group_modes(staged_a, 0, 2), cute.group_modes(tiles_a, 0, 2)
        )
        to_b, from_b = cpasync.tma_partition(
            tma_b, 0, alone, cute.group_modes(staged_b, 0, 2), cute.group_modes(tiles_b, 0, 2)
        )
        # What lies outside a or b arrives as zeros and counts as transferred.
        stage_bytes = (self.tile_m + self.tile_n) * TILE_K * self.dtype.width // 8

        stage = cutlass.Int32(0)
        phase = cutlass.Int32(1)  # a fresh barrier counts as just past phase 1: the first round does not wait
        for step in range(steps):
            cute.arch.mbarrier_wait(empty + stage, phase)
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(full + stage, stage_bytes)
            cute.copy(tma_a, from_a[None, step], to_a[None, stage], tma_bar_ptr=full + stage)
            cute.copy(tma_b, from_b[None, step], to_b[None, stage], tma_bar_ptr=full + stage)
            stage += 1
            if stage == self.stages:
                stage = cutlass.Int32(0)
                phase ^= 1

    @cute.jit
    def consume(self, tiled_mma, staged_a, staged_b, full, empty, steps, group):
        """Multiply every slice as it arrives; returns this thread's sums."""
        operands = tiled_mma.get_slice(group * WARPGROUP)
        fragment_a = tiled_mma.make_fragment_A(operands.partition_A(staged_a))
        fragment_b = tiled_mma.make_fragment_B(operands.partition_B(staged_b))
        sums = cute.make_rmem_tensor(tiled_mma.partition_shape_C((self.tile_m, self.tile_n)), cutlass.Float32)
        sums.fill(0)
        tiled_mma.set(warpgroup.Field.ACCUMULATE, True)
        lane = cute.arch.lane_idx()

        stage = cutlass.Int32(0)
        phase = cutlass.Int32(0)
        previous = cutlass.Int32(0)
        for step in range(steps):
            cute.arch.mbarrier_wait(full + stage, phase)
            warpgroup.fence()
            for k in cutlass.range_constexpr(TILE_K // INSTRUCTION_K):
                slice_a = fragment_a[None, None, k, stage]
                slice_b = fragment_b[None, None, k, stage]
                cute.gemm(tiled_mma, sums, slice_a, slice_b, sums)
            warpgroup.commit_group()
            # One group stays in flight: with this step's issued, the previous step's is what must be done.
            warpgroup.wait_group(1)
            if step > 0 and lane == 0:
                cute.arch.mbarrier_arrive(empty + previous)
            previous = stage
            stage += 1
            if stage == self.stages:
                stage = cutlass.Int32(0)
                phase ^= 1
        warpgroup.wait_group(0)
        return sums

    @cute.jit
    def store(self, tiled_mma, sums, staged_c, tma_c, c, tile, thread, warp_index):
        """Round the sums, gather them in shared memory, and write the tile with one TMA store, clipped at c's edges."""
        rounded = cute.make_fragment_like(sums, self.dtype)
        rounded.store(sums.load().to(self.dtype))
        matrices = cute.make_copy_atom(warp.StMatrix8x8x16bOp(False, 4), self.dtype)
        tiled_copy = cute.make_tiled_copy_C(matrices, tiled_mma)
        cute.copy(tiled_copy, tiled_copy.retile(rounded), tiled_copy.get_slice(thread).partition_D(staged_c))

        # Ordinary writes become visible to TMA by the fence, and those of all threads by the barrier.
        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.barrier(barrier_id=CONSUMER_BARRIER, number_of_threads=self.consumers * WARPGROUP)
        if warp_index == 0:
            tile_c = cute.local_tile(c, (self.tile_m, self.tile_n), tile)
            source, target = cpasync.tma_partition(
                tma_c, 0, cute.make_layout(1), cute.group_modes(staged_c, 0, 2), cute.group_modes(tile_c, 0, 2)
            )
            cute.copy(tma_c, source, target)
            cute.arch.cp_async_bulk_commit_group()
            cute.arch.cp_async_bulk_wait_group(0, read=True)


def reference(a, b, c):
    """The expected `c`."""
    return (a.astype("float32") @ b.astype("float32").T).astype("float16")


# cutecc: peers = ["torch_matmul"]
def torch_matmul(a, b, c):
    """The same with `torch.matmul`, which calls cuBLAS."""
    import torch

    torch.matmul(a, b.T, out=c)
