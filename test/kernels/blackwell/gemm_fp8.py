"""GEMM on 8-bit floats for Blackwell data-centre GPUs: e4m3 times e5m2, into sums of f32 and into sums of f16.

Exercises factors of two types, the first contiguous along M; two products of what was loaded once; and sums of 16 bits,
two of which a load puts into one register.
"""

# cutecc: entry = "gemm_fp8"
# cutecc: target = "sm_100a"
# cutecc: args.a = "f8E4M3FN[?M{div=128}=128, ?K{div=16}=144] order=(0, 1) align=16"
# cutecc: args.b = "f8E5M2[?N{div=64}=128, ?K{div=16}] align=16"
# cutecc: args.c = "f32[?M{div=128}, ?N{div=64}] align=16"
# cutecc: args.half = "f16[?M{div=128}, ?N{div=64}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["c", "half"]
# cutecc: tolerance = 4e-3
# cutecc: bytes = "M * K + N * K + 6 * M * N"
# cutecc: flops = "4 * M * N * K"

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, tcgen05
from cutlass.utils import sm100

TILE_M, TILE_N, TILE_K = TILE = 128, 64, 128
A, B = cutlass.Float8E4M3FN, cutlass.Float8E5M2
THREADS = 128


@cute.kernel
def gemm_kernel(
    tma_a: cute.CopyAtom,
    a: cute.Tensor,
    tma_b: cute.CopyAtom,
    b: cute.Tensor,
    c: cute.Tensor,
    half: cute.Tensor,
    mma: cute.TiledMma,
    half_mma: cute.TiledMma,
    a_layout: cute.ComposedLayout,
    b_layout: cute.ComposedLayout,
):
    thread, _, _ = cute.arch.thread_idx()
    block_m, block_n, _ = cute.arch.block_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())

    allocator = cutlass.utils.SmemAllocator()
    loaded, multiplied = (allocator.allocate_array(cutlass.Int64) for _ in range(2))
    tmem_address = allocator.allocate_array(cutlass.Int32)
    staged_a = allocator.allocate_tensor(A, a_layout.outer, 1024, swizzle=a_layout.inner)
    staged_b = allocator.allocate_tensor(B, b_layout.outer, 1024, swizzle=b_layout.inner)
    if warp == 0:
        cute.arch.alloc_tmem(2 * TILE_N, tmem_address)
        cute.arch.relinquish_tmem_alloc_permit()
    if thread == 0:
        cute.arch.mbarrier_init(loaded, 1)
        cute.arch.mbarrier_init(multiplied, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    tmem = cute.arch.retrieve_tmem_ptr(cutlass.Float32, 16, tmem_address)

    mma_slice = mma.get_slice(0)
    tiles_a = mma_slice.partition_A(cute.local_tile(a, (TILE_M, TILE_K), (block_m, None)))
    tiles_b = mma_slice.partition_B(cute.local_tile(b, (TILE_N, TILE_K), (block_n, None)))
    tile_c = mma_slice.partition_C(cute.local_tile(c, (TILE_M, TILE_N), (block_m, block_n)))
    tile_half = mma_slice.partition_C(cute.local_tile(half, (TILE_M, TILE_N), (block_m, block_n)))
    fragment_a, fragment_b = mma.make_fragment_A(staged_a), mma.make_fragment_B(staged_b)
    # Sums of 16 bits take a column each, too: the lower half of it.
    half_tmem = cute.recast_ptr(tmem + TILE_N, dtype=cutlass.Float16)
    sums = cute.make_tensor(tmem, mma.make_fragment_C(tile_c.shape).layout)
    half_sums = cute.make_tensor(half_tmem, half_mma.make_fragment_C(tile_c.shape).layout)
    alone = cute.make_layout(1)
    to_a, from_a = cpasync.tma_partition(
        tma_a, 0, alone, cute.group_modes(staged_a, 0, 3), cute.group_modes(tiles_a, 0, 3)
    )
    to_b, from_b = cpasync.tma_partition(
        tma_b, 0, alone, cute.group_modes(staged_b, 0, 3), cute.group_modes(tiles_b, 0, 3)
    )

    phase = cutlass.Int32(0)
    for step in range(cute.size(tiles_a, mode=[3])):
        if warp == 0:
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(loaded, (TILE_M + TILE_N) * TILE_K)
            cute.copy(tma_a, from_a[None, step], to_a[None, 0], tma_bar_ptr=loaded)
            cute.copy(tma_b, from_b[None, step], to_b[None, 0], tma_bar_ptr=loaded)
            cute.arch.mbarrier_wait(loaded, phase)
            for k in cutlass.range_constexpr(cute.size(fragment_a, mode=[2])):
                mma.set(tcgen05.Field.ACCUMULATE, step > 0 if k == 0 else True)
                half_mma.set(tcgen05.Field.ACCUMULATE, step > 0 if k == 0 else True)
                slice_a, slice_b = fragment_a[None, None, k, 0], fragment_b[None, None, k, 0]
                cute.gemm(mma, sums, slice_a, slice_b, sums)
                cute.gemm(half_mma, half_sums, slice_a, slice_b, half_sums)
            with cute.arch.elect_one():
                tcgen05.commit(multiplied)
        cute.arch.mbarrier_wait(multiplied, phase)
        # A warp that came late could miss two steps, and wait for ever.
        cute.arch.sync_threads()
        phase ^= 1

    store(tcgen05.Ld32x32bOp(tcgen05.Repetition.x64), sums, tile_c, thread)
    store(tcgen05.Ld32x32bOp(tcgen05.Repetition.x32, tcgen05.Pack.PACK_16b_IN_32b), half_sums, tile_half, thread)
    cute.arch.sync_threads()
    if warp == 0:
        cute.arch.dealloc_tmem(tmem, 2 * TILE_N)


@cute.jit
def store(load, sums, tile, thread):
    """Sums of a tile go from tensor memory through registers to `tile`, in global memory, as they are."""
    tiled_load = tcgen05.make_tmem_copy(cute.make_copy_atom(load, sums.element_type), sums)
    load_slice = tiled_load.get_slice(thread)
    target = load_slice.partition_D(tile)
    loaded = cute.make_rmem_tensor(target.shape, sums.element_type)
    cute.copy(tiled_load, load_slice.partition_S(sums), loaded)
    cute.arch.fence_view_async_tmem_load()
    cute.autovec_copy(loaded, target)


@cute.jit
def gemm_fp8(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, half: cute.Tensor):
    """c = half = a @ b.T for (M, K), (N, K) and (M, N) tensors, `a` contiguous along M; 128 divides M, 64 divides N."""
    mma, half_mma = make_mma(cutlass.Float32), make_mma(cutlass.Float16)
    a_layout = sm100.make_smem_layout_a(mma, TILE, A, 1)
    b_layout = sm100.make_smem_layout_b(mma, TILE, B, 1)
    load = cpasync.CopyBulkTensorTileG2SOp()
    tma_a, a_tma = cute.nvgpu.make_tiled_tma_atom_A(load, a, a_layout, TILE, mma)
    tma_b, b_tma = cute.nvgpu.make_tiled_tma_atom_B(load, b, b_layout, TILE, mma)
    gemm_kernel(tma_a, a_tma, tma_b, b_tma, c, half, mma, half_mma, a_layout, b_layout).launch(
        grid=[c.shape[0] // TILE_M, c.shape[1] // TILE_N, 1], block=[THREADS, 1, 1]
    )


def make_mma(sums: type[cutlass.Numeric]) -> cute.TiledMma:
    """Products of 32 of K at a time, with such sums."""
    majors = OperandMajorMode.MN, OperandMajorMode.K
    shape = TILE_M, TILE_N, 32
    op = tcgen05.MmaF8F6F4Op(A, B, sums, shape, tcgen05.CtaGroup.ONE, tcgen05.OperandSource.SMEM, *majors)
    return cute.make_tiled_mma(op)


def reference(a, b, c, half):
    """The expected `c` and `half`."""
    product = a.astype("float32") @ b.astype("float32").T
    return product, product.astype("float16")
