"""Products of several sizes in one launch for Blackwell data-centre GPUs: each group of a's rows has a b of its own.

Exercises tiles that blocks find on the device, from where the groups end; copies that begin at any row; and an epilogue
that is clipped at the last row of a group.
"""

# cutecc: entry = "Gemm(blocks=3)"
# cutecc: target = "sm_103a"
# cutecc: args.a = "f16[?M=200, ?K{div=8}=72] align=16"
# cutecc: args.b = "f16[?N{div=64}=64, ?K{div=8}, ?G=4] order=(1, 0, 2) align=16"
# cutecc: args.ends = "i32[?G]"
# cutecc: args.c = "f32[?M, ?N{div=64}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: tolerance = 1e-4
# cutecc: bytes = "2 * (M * K + G * N * K) + 4 * M * N"
# cutecc: flops = "2 * M * N * K"

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, tcgen05
from cutlass.utils import sm100

TILE_M, TILE_N, TILE_K = TILE = 128, 64, 64
THREADS = 128


class Gemm:
    """c = a @ b[:, :, g].T for the rows of each group g of (M, K), (N, K, G) and (M, N) tensors; 64 divides N.

    Group g has the rows from where the one before ends up to `ends[g]`, the last one all that are left; it may have
    none. Ends are taken modulo M + 1, and as the largest so far. `blocks` is how many are launched.
    """

    def __init__(self, blocks: int = 148):
        self.blocks = blocks

    @cute.jit
    def __call__(self, a: cute.Tensor, b: cute.Tensor, ends: cute.Tensor, c: cute.Tensor):
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
        a_layout = sm100.make_smem_layout_a(tiled_mma, TILE, cutlass.Float16, 1)
        b_layout = sm100.make_smem_layout_b(tiled_mma, TILE, cutlass.Float16, 1)
        load = cpasync.CopyBulkTensorTileG2SOp()
        tma_a, a_tma = cute.nvgpu.make_tiled_tma_atom_A(load, a, a_layout, TILE, tiled_mma)
        tma_b, b_tma = cute.nvgpu.make_tiled_tma_atom_B(load, b, b_layout, TILE, tiled_mma)
        self.kernel(tma_a, a_tma, tma_b, b_tma, ends, c, tiled_mma, a_layout, b_layout).launch(
            grid=[self.blocks, 1, 1], block=[THREADS, 1, 1]
        )

    @cute.kernel
    def kernel(
        self,
        tma_a: cute.CopyAtom,
        a: cute.Tensor,
        tma_b: cute.CopyAtom,
        b: cute.Tensor,
        ends: cute.Tensor,
        c: cute.Tensor,
        tiled_mma: cute.TiledMma,
        a_layout: cute.ComposedLayout,
        b_layout: cute.ComposedLayout,
    ):
        thread, _, _ = cute.arch.thread_idx()
        tile, _, _ = cute.arch.block_idx()
        blocks, _, _ = cute.arch.grid_dim()
        warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())

        allocator = cutlass.utils.SmemAllocator()
        loaded, multiplied = (allocator.allocate_array(cutlass.Int64) for _ in range(2))
        tmem_address = allocator.allocate_array(cutlass.Int32)
        staged_a = allocator.allocate_tensor(cutlass.Float16, a_layout.outer, 1024, swizzle=a_layout.inner)
        staged_b = allocator.allocate_tensor(cutlass.Float16, b_layout.outer, 1024, swizzle=b_layout.inner)
        if warp == 0:
            cute.arch.alloc_tmem(TILE_N, tmem_address)
            cute.arch.relinquish_tmem_alloc_permit()
        if thread == 0:
            cute.arch.mbarrier_init(loaded, 1)
            cute.arch.mbarrier_init(multiplied, 1)
            cute.arch.mbarrier_init_fence()
        cute.arch.sync_threads()
        tmem = cute.arch.retrieve_tmem_ptr(cutlass.Float32, 16, tmem_address)

        mma_slice = tiled_mma.get_slice(0)
        fragment_a, fragment_b = tiled_mma.make_fragment_A(staged_a), tiled_mma.make_fragment_B(staged_b)
        sums = cute.make_tensor(tmem, tiled_mma.make_fragment_C(tiled_mma.partition_shape_C(TILE[:2])).layout)
        tiles_b = mma_slice.partition_B(cute.local_tile(b, (TILE_N, TILE_K), (None, None, None)))
        alone = cute.make_layout(1)
        to_b, from_b = cpasync.tma_partition(
            tma_b, 0, alone, cute.group_modes(staged_b, 0, 3), cute.group_modes(tiles_b, 0, 3)
        )
        load = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x64), cutlass.Float32)
        tiled_load = tcgen05.make_tmem_copy(load, sums)
        load_slice = tiled_load.get_slice(thread)
        places = load_slice.partition_D(mma_slice.partition_C(cute.make_identity_tensor(TILE[:2])))

        phase = cutlass.Int32(0)
        group, row, end, tile_n = find_tile(tile, ends, c)
        while group < cute.size(ends):
            # The first row is any; those of the next group are loaded too, and not stored.
            rows_a = cute.domain_offset((row, 0), a)
            tiles_a = mma_slice.partition_A(cute.local_tile(rows_a, (TILE_M, TILE_K), (0, None)))
            to_a, from_a = cpasync.tma_partition(
                tma_a, 0, alone, cute.group_modes(staged_a, 0, 3), cute.group_modes(tiles_a, 0, 3)
            )
            for step in range(cute.size(tiles_a, mode=[3])):
                if warp == 0:
                    with cute.arch.elect_one():
                        cute.arch.mbarrier_arrive_and_expect_tx(loaded, (TILE_M + TILE_N) * TILE_K * 2)
                    cute.copy(tma_a, from_a[None, step], to_a[None, 0], tma_bar_ptr=loaded)
                    cute.copy(tma_b, from_b[None, tile_n, step, group], to_b[None, 0], tma_bar_ptr=loaded)
                    cute.arch.mbarrier_wait(loaded, phase)
                    for k in cutlass.range_constexpr(cute.size(fragment_a, mode=[2])):
                        tiled_mma.set(tcgen05.Field.ACCUMULATE, step > 0 if k == 0 else True)
                        cute.gemm(tiled_mma, sums, fragment_a[None, None, k, 0], fragment_b[None, None, k, 0], sums)
                    with cute.arch.elect_one():
                        tcgen05.commit(multiplied)
                cute.arch.mbarrier_wait(multiplied, phase)
                # A warp that came late could miss two steps, and wait for ever.
                cute.arch.sync_threads()
                phase ^= 1

            loaded_sums = cute.make_rmem_tensor(places.shape, cutlass.Float32)
            cute.copy(tiled_load, load_slice.partition_S(sums), loaded_sums)
            cute.arch.fence_view_async_tmem_load()
            own_row = row + places[0][0]
            if own_row < end:
                cute.autovec_copy(loaded_sums, cute.local_tile(c[own_row, None], (TILE_N,), (tile_n,)))
            # The next product replaces the sums when every thread has them.
            cute.arch.sync_threads()
            tile += blocks
            group, row, end, tile_n = find_tile(tile, ends, c)

        if warp == 0:
            cute.arch.dealloc_tmem(tmem, TILE_N)


@cute.jit
def find_tile(tile, ends: cute.Tensor, c: cute.Tensor):
    """The group of a tile, its first row, where the rows of the group end, and the column of tiles.

    Tiles count through the groups; behind the last one the group is as many as there are.
    """
    columns = c.shape[1] // TILE_N
    found_group, found_row, found_end = cutlass.Int32(cute.size(ends)), cutlass.Int32(0), cutlass.Int32(0)
    rows_before, tiles_before = cutlass.Int32(0), cutlass.Int32(0)
    for group in range(cute.size(ends)):
        end = cutlass.max((ends[group] & 0x7FFFFFFF) % (c.shape[0] + 1), rows_before)
        if group == cute.size(ends) - 1:
            end = c.shape[0]
        tiles = cute.ceil_div(end - rows_before, TILE_M) * columns
        if tiles_before <= tile and tile < tiles_before + tiles:
            found_group, found_end = group, end
            found_row = rows_before + (tile - tiles_before) // columns * TILE_M
        rows_before, tiles_before = end, tiles_before + tiles
    return found_group, found_row, found_end, tile % columns


def reference(a, b, ends, c):
    """The expected `c`."""
    import numpy as np

    ends = np.maximum.accumulate((ends & 0x7FFFFFFF) % (len(a) + 1))
    ends[-1] = len(a)
    expected, begin = np.empty(c.shape, "float32"), 0
    for group, end in enumerate(ends):
        expected[begin:end] = a[begin:end].astype("float32") @ b[:, :, group].astype("float32").T
        begin = end
    return expected
