"""Persistent GEMM for Blackwell data-centre GPUs: one warp loads, one multiplies, four write the tile before.

Exercises rings of mbarriers between warps of three kinds, commits that release stages of shared memory, and two sets of
sums in tensor memory, one of which fills while the other leaves.
"""

# cutecc: entry = "Gemm(blocks=2)"
# cutecc: target = "sm_100a"
# cutecc: args.a = "f16[?M{div=128}=128, ?K{div=8}=200] align=16"
# cutecc: args.b = "f16[?N{div=64}=256, ?K{div=8}] align=16"
# cutecc: args.c = "f16[?M{div=128}, ?N{div=64}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: tolerance = 2e-3
# cutecc: bytes = "2 * (M * K + N * K + M * N)"
# cutecc: flops = "2 * M * N * K"

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, tcgen05
from cutlass.utils import sm100

TILE_M, TILE_N, TILE_K = TILE = 128, 64, 64
STAGES = 3  # of shared memory
SETS = 2  # of sums
WRITERS = 4  # the first warps: each reaches the lanes of tensor memory that its rank says
MULTIPLIER, LOADER = WRITERS, WRITERS + 1
THREADS = 32 * (WRITERS + 2)


class Gemm:
    """c = a @ b.T for (M, K), (N, K) and (M, N) tensors; 128 divides M and 64 divides N.

    `blocks` is how many are launched at most. The header has few, so that each computes several tiles.
    """

    def __init__(self, blocks: int = 148):
        self.blocks = blocks

    @cute.jit
    def __call__(self, a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
        """Launch the kernel."""
        op = tcgen05.MmaF16BF16Op(
            cutlass.Float16,
            cutlass.Float32,
            (TILE_M, TILE_N, 16),
            tcgen05.CtaGroup.ONE,
            tcgen05.OperandSource.SMEM,
            OperandMajorMode.K,
            OperandMajorMode.K,
        )
        tiled_mma = cute.make_tiled_mma(op)
        a_layout = sm100.make_smem_layout_a(tiled_mma, TILE, cutlass.Float16, STAGES)
        b_layout = sm100.make_smem_layout_b(tiled_mma, TILE, cutlass.Float16, STAGES)
        load = cpasync.CopyBulkTensorTileG2SOp()
        tma_a, a_tma = cute.nvgpu.make_tiled_tma_atom_A(load, a, a_layout, TILE, tiled_mma)
        tma_b, b_tma = cute.nvgpu.make_tiled_tma_atom_B(load, b, b_layout, TILE, tiled_mma)
        tiles = (c.shape[0] // TILE_M) * (c.shape[1] // TILE_N)
        self.kernel(tma_a, a_tma, tma_b, b_tma, c, tiled_mma, a_layout, b_layout).launch(
            grid=[cutlass.min(tiles, self.blocks), 1, 1], block=[THREADS, 1, 1]
        )

    @cute.kernel
    def kernel(
        self,
        tma_a: cute.CopyAtom,
        a: cute.Tensor,
        tma_b: cute.CopyAtom,
        b: cute.Tensor,
        c: cute.Tensor,
        tiled_mma: cute.TiledMma,
        a_layout: cute.ComposedLayout,
        b_layout: cute.ComposedLayout,
    ):
        thread, _, _ = cute.arch.thread_idx()
        warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())

        # Stages are full when TMA has written all bytes, and empty when the products with them are over. Sums are
        # complete when the last product of a tile is over, and taken when every writer has them in registers.
        allocator = cutlass.utils.SmemAllocator()
        full, empty = (allocator.allocate_array(cutlass.Int64, STAGES) for _ in range(2))
        complete, taken = (allocator.allocate_array(cutlass.Int64, SETS) for _ in range(2))
        tmem_address = allocator.allocate_array(cutlass.Int32)
        staged_a = allocator.allocate_tensor(cutlass.Float16, a_layout.outer, 1024, swizzle=a_layout.inner)
        staged_b = allocator.allocate_tensor(cutlass.Float16, b_layout.outer, 1024, swizzle=b_layout.inner)
        if warp == 0:
            cute.arch.alloc_tmem(SETS * TILE_N, tmem_address)
            cute.arch.relinquish_tmem_alloc_permit()
        if thread == 0:
            for stage in cutlass.range_constexpr(STAGES):
                cute.arch.mbarrier_init(full + stage, 1)
                cute.arch.mbarrier_init(empty + stage, 1)
            for which in cutlass.range_constexpr(SETS):
                cute.arch.mbarrier_init(complete + which, 1)
                cute.arch.mbarrier_init(taken + which, WRITERS)
            cute.arch.mbarrier_init_fence()
        cute.arch.sync_threads()
        tmem = cute.arch.retrieve_tmem_ptr(cutlass.Float32, 16, tmem_address)

        # (operand, row or column of tiles, step along K), (sums, set)
        mma_slice = tiled_mma.get_slice(0)
        tiles_a = mma_slice.partition_A(cute.local_tile(a, (TILE_M, TILE_K), (None, None)))
        tiles_b = mma_slice.partition_B(cute.local_tile(b, (TILE_N, TILE_K), (None, None)))
        sums_shape = cute.append(tiled_mma.partition_shape_C(TILE[:2]), SETS)
        sums = cute.make_tensor(tmem, tiled_mma.make_fragment_C(sums_shape).layout)
        steps = cute.size(tiles_a, mode=[4])
        rows = c.shape[0] // TILE_M
        tiles = rows * (c.shape[1] // TILE_N)
        first, _, _ = cute.arch.block_idx()
        blocks, _, _ = cute.arch.grid_dim()

        if warp == LOADER:
            alone = cute.make_layout(1)
            to_a, from_a = cpasync.tma_partition(
                tma_a, 0, alone, cute.group_modes(staged_a, 0, 3), cute.group_modes(tiles_a, 0, 3)
            )
            to_b, from_b = cpasync.tma_partition(
                tma_b, 0, alone, cute.group_modes(staged_b, 0, 3), cute.group_modes(tiles_b, 0, 3)
            )
            filled = cutlass.Int32(0)
            for tile in range(first, tiles, blocks):
                for step in range(steps):
                    # A fresh barrier counts as just past phase 1: the first round does not wait.
                    stage, phase = filled % STAGES, filled // STAGES % 2
                    cute.arch.mbarrier_wait(empty + stage, phase ^ 1)
                    with cute.arch.elect_one():
                        cute.arch.mbarrier_arrive_and_expect_tx(full + stage, (TILE_M + TILE_N) * TILE_K * 2)
                    source_a, source_b = from_a[None, tile % rows, step], from_b[None, tile // rows, step]
                    cute.copy(tma_a, source_a, to_a[None, stage], tma_bar_ptr=full + stage)
                    cute.copy(tma_b, source_b, to_b[None, stage], tma_bar_ptr=full + stage)
                    filled += 1
        if warp == MULTIPLIER:
            self.multiply(tiled_mma, staged_a, staged_b, sums, full, empty, complete, taken, steps, tiles)
        if warp < WRITERS:
            turn = cutlass.Int32(0)
            for tile in range(first, tiles, blocks):
                which, phase = turn % SETS, turn // SETS % 2
                tile_c = mma_slice.partition_C(cute.local_tile(c, TILE[:2], (tile % rows, tile // rows)))
                cute.arch.mbarrier_wait(complete + which, phase)
                self.write(sums[None, None, None, which], tile_c, taken + which, thread)
                turn += 1

        cute.arch.sync_threads()
        if warp == 0:
            cute.arch.dealloc_tmem(tmem, SETS * TILE_N)

    @cute.jit
    def multiply(self, tiled_mma, staged_a, staged_b, sums, full, empty, complete, taken, steps, tiles):
        """Compute every tile of this block; one warp runs this."""
        fragment_a, fragment_b = tiled_mma.make_fragment_A(staged_a), tiled_mma.make_fragment_B(staged_b)
        first, _, _ = cute.arch.block_idx()
        blocks, _, _ = cute.arch.grid_dim()
        read, turn = cutlass.Int32(0), cutlass.Int32(0)
        for _ in range(first, tiles, blocks):
            which = turn % SETS
            own_sums = sums[None, None, None, which]
            cute.arch.mbarrier_wait(taken + which, turn // SETS % 2 ^ 1)
            for step in range(steps):
                stage, phase = read % STAGES, read // STAGES % 2
                cute.arch.mbarrier_wait(full + stage, phase)
                for k in cutlass.range_constexpr(cute.size(fragment_a, mode=[2])):
                    tiled_mma.set(tcgen05.Field.ACCUMULATE, step > 0 if k == 0 else True)
                    slice_a, slice_b = fragment_a[None, None, k, stage], fragment_b[None, None, k, stage]
                    cute.gemm(tiled_mma, own_sums, slice_a, slice_b, own_sums)
                with cute.arch.elect_one():
                    tcgen05.commit(empty + stage)
                read += 1
            with cute.arch.elect_one():
                tcgen05.commit(complete + which)
            turn += 1

    @cute.jit
    def write(self, sums, tile_c, taken, thread):
        """Round one tile and write it; its tensor memory is free before that."""
        load = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x64), cutlass.Float32)
        tiled_load = tcgen05.make_tmem_copy(load, sums)
        load_slice = tiled_load.get_slice(thread)
        target = load_slice.partition_D(tile_c)
        loaded = cute.make_rmem_tensor(target.shape, cutlass.Float32)
        cute.copy(tiled_load, load_slice.partition_S(sums), loaded)
        cute.arch.fence_view_async_tmem_load()
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive(taken)
        rounded = cute.make_rmem_tensor(target.shape, cutlass.Float16)
        rounded.store(loaded.load().to(cutlass.Float16))
        cute.autovec_copy(rounded, target)


def reference(a, b, c):
    """The expected `c`."""
    return (a.astype("float32") @ b.astype("float32").T).astype("float16")
