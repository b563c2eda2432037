"""Integer GEMM for Blackwell data-centre GPUs: bytes times bytes, exact in sums of 32 bits.

Exercises products of 64 rows, whose sums lie in half of the lanes, loads of 16 lanes, and a factor contiguous along N.
"""

# cutecc: entry = "gemm_int8"
# cutecc: target = "sm_100a"
# cutecc: args.a = "i8[?M{div=64}=128, ?K{div=16}=144] align=16"
# cutecc: args.b = "i8[?N{div=64}=128, ?K{div=16}] order=(0, 1) align=16"
# cutecc: args.c = "i32[?M{div=64}, ?N{div=64}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: tolerance = 0.0
# cutecc: bytes = "M * K + N * K + 4 * M * N"
# cutecc: flops = "2 * M * N * K"

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, tcgen05
from cutlass.utils import sm100

TILE_M, TILE_N, TILE_K = TILE = 64, 64, 128
COLUMNS = 64  # of tensor memory, one for each column of the tile
THREADS = 128


@cute.kernel
def gemm_kernel(
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
    block_m, block_n, _ = cute.arch.block_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())

    allocator = cutlass.utils.SmemAllocator()
    loaded, multiplied = (allocator.allocate_array(cutlass.Int64) for _ in range(2))
    tmem_address = allocator.allocate_array(cutlass.Int32)
    staged_a = allocator.allocate_tensor(cutlass.Int8, a_layout.outer, 1024, swizzle=a_layout.inner)
    staged_b = allocator.allocate_tensor(cutlass.Int8, b_layout.outer, 1024, swizzle=b_layout.inner)
    if warp == 0:
        cute.arch.alloc_tmem(COLUMNS, tmem_address)
        cute.arch.relinquish_tmem_alloc_permit()
    if thread == 0:
        cute.arch.mbarrier_init(loaded, 1)
        cute.arch.mbarrier_init(multiplied, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    tmem = cute.arch.retrieve_tmem_ptr(cutlass.Int32, 16, tmem_address)

    mma_slice = tiled_mma.get_slice(0)
    tiles_a = mma_slice.partition_A(cute.local_tile(a, (TILE_M, TILE_K), (block_m, None)))
    tiles_b = mma_slice.partition_B(cute.local_tile(b, (TILE_N, TILE_K), (block_n, None)))
    tile_c = mma_slice.partition_C(cute.local_tile(c, (TILE_M, TILE_N), (block_m, block_n)))
    fragment_a, fragment_b = tiled_mma.make_fragment_A(staged_a), tiled_mma.make_fragment_B(staged_b)
    sums = cute.make_tensor(tmem, tiled_mma.make_fragment_C(tile_c.shape).layout)
    alone = cute.make_layout(1)
    to_a, from_a = cpasync.tma_partition(
        tma_a, 0, alone, cute.group_modes(staged_a, 0, 3), cute.group_modes(tiles_a, 0, 3)
    )
    to_b, from_b = cpasync.tma_partition(
        tma_b, 0, alone, cute.group_modes(staged_b, 0, 3), cute.group_modes(tiles_b, 0, 3)
    )

    # Beyond K both factors arrive as zeros.
    phase = cutlass.Int32(0)
    for step in range(cute.size(tiles_a, mode=[3])):
        if warp == 0:
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(loaded, (TILE_M + TILE_N) * TILE_K)
            cute.copy(tma_a, from_a[None, step], to_a[None, 0], tma_bar_ptr=loaded)
            cute.copy(tma_b, from_b[None, step], to_b[None, 0], tma_bar_ptr=loaded)
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

    # 16 rows of the tile are in the first half of each warp's lanes.
    load = cute.make_copy_atom(tcgen05.Ld16x256bOp(tcgen05.Repetition.x4), cutlass.Int32)
    tiled_load = tcgen05.make_tmem_copy(load, sums)
    load_slice = tiled_load.get_slice(thread)
    target = load_slice.partition_D(tile_c)
    loaded_sums = cute.make_rmem_tensor(target.shape, cutlass.Int32)
    cute.copy(tiled_load, load_slice.partition_S(sums), loaded_sums)
    cute.arch.fence_view_async_tmem_load()
    cute.autovec_copy(loaded_sums, target)

    cute.arch.sync_threads()
    if warp == 0:
        cute.arch.dealloc_tmem(tmem, COLUMNS)


@cute.jit
def gemm_int8(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """c = a @ b.T for (M, K), (N, K) and (M, N) tensors, `b` contiguous along N; 64 divides M and N."""
    majors = OperandMajorMode.K, OperandMajorMode.MN
    op = tcgen05.MmaI8Op(cutlass.Int8, (TILE_M, TILE_N, 32), tcgen05.CtaGroup.ONE, tcgen05.OperandSource.SMEM, *majors)
    tiled_mma = cute.make_tiled_mma(op)
    a_layout = sm100.make_smem_layout_a(tiled_mma, TILE, cutlass.Int8, 1)
    b_layout = sm100.make_smem_layout_b(tiled_mma, TILE, cutlass.Int8, 1)
    load = cpasync.CopyBulkTensorTileG2SOp()
    tma_a, a_tma = cute.nvgpu.make_tiled_tma_atom_A(load, a, a_layout, TILE, tiled_mma)
    tma_b, b_tma = cute.nvgpu.make_tiled_tma_atom_B(load, b, b_layout, TILE, tiled_mma)
    gemm_kernel(tma_a, a_tma, tma_b, b_tma, c, tiled_mma, a_layout, b_layout).launch(
        grid=[c.shape[0] // TILE_M, c.shape[1] // TILE_N, 1], block=[THREADS, 1, 1]
    )


def reference(a, b, c):
    """The expected `c`."""
    return a.astype("int32") @ b.astype("int32").T
