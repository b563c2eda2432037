"""GEMM on f32 data rounded to tf32 for Blackwell data-centre GPUs: both factors transposed, not contiguous along K.

Exercises the swizzle of 128 bytes that moves 32 bytes at a time, the only one for transposed factors of 32 bits; TMA
that rounds; and an epilogue clipped at the edges.
"""

# cutecc: entry = "gemm_tf32_mn_major"
# cutecc: target = "sm_103a"
# cutecc: args.a = "f32[?M{div=4}=132, ?K=40] order=(0, 1) align=16"
# cutecc: args.b = "f32[?N{div=4}=72, ?K] order=(0, 1) align=16"
# cutecc: args.c = "f32[?M, ?N{div=4}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: tolerance = 1e-5
# cutecc: bytes = "4 * (M * K + N * K + M * N)"
# cutecc: flops = "2 * M * N * K"

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, tcgen05
from cutlass.utils import sm100

TILE_M, TILE_N, TILE_K = TILE = 128, 64, 32
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
    staged_a = allocator.allocate_tensor(cutlass.TFloat32, a_layout.outer, 1024, swizzle=a_layout.inner)
    staged_b = allocator.allocate_tensor(cutlass.TFloat32, b_layout.outer, 1024, swizzle=b_layout.inner)
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
    tiles_a = mma_slice.partition_A(cute.local_tile(a, (TILE_M, TILE_K), (block_m, None)))
    tiles_b = mma_slice.partition_B(cute.local_tile(b, (TILE_N, TILE_K), (block_n, None)))
    fragment_a, fragment_b = tiled_mma.make_fragment_A(staged_a), tiled_mma.make_fragment_B(staged_b)
    sums = cute.make_tensor(tmem, tiled_mma.make_fragment_C(tiled_mma.partition_shape_C(TILE[:2])).layout)
    alone = cute.make_layout(1)
    to_a, from_a = cpasync.tma_partition(
        tma_a, 0, alone, cute.group_modes(staged_a, 0, 3), cute.group_modes(tiles_a, 0, 3)
    )
    to_b, from_b = cpasync.tma_partition(
        tma_b, 0, alone, cute.group_modes(staged_b, 0, 3), cute.group_modes(tiles_b, 0, 3)
    )

    # What lies beyond M, N and K arrives as zeros.
    phase = cutlass.Int32(0)
    for step in range(cute.size(tiles_a, mode=[3])):
        if warp == 0:
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(loaded, (TILE_M + TILE_N) * TILE_K * 4)
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

    # A row of the tile a thread; groups of four columns are inside of c or outside.
    load = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x4), cutlass.Float32)
    tiled_load = tcgen05.make_tmem_copy(load, sums)
    load_slice = tiled_load.get_slice(thread)
    places = cute.local_tile(cute.make_identity_tensor(c.shape), TILE[:2], (block_m, block_n))
    source = load_slice.partition_S(sums)
    target = load_slice.partition_D(mma_slice.partition_C(cute.local_tile(c, TILE[:2], (block_m, block_n))))
    target_places = load_slice.partition_D(mma_slice.partition_C(places))
    loaded_sums = cute.make_rmem_tensor(target.shape, cutlass.Float32)
    cute.copy(tiled_load, source, loaded_sums)
    cute.arch.fence_view_async_tmem_load()
    for part in cutlass.range_constexpr(cute.size(target, mode=[1])):
        if cute.elem_less(target_places[0, part, 0, 0], c.shape):
            cute.autovec_copy(loaded_sums[None, part, 0, 0], target[None, part, 0, 0])

    cute.arch.sync_threads()
    if warp == 0:
        cute.arch.dealloc_tmem(tmem, TILE_N)


@cute.jit
def gemm_tf32_mn_major(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """c = a @ b.T for (M, K), (N, K) and (M, N) tensors, `a` contiguous along M and `b` along N; 4 divides both."""
    majors = OperandMajorMode.MN, OperandMajorMode.MN
    op = tcgen05.MmaTF32Op((TILE_M, TILE_N, 8), tcgen05.CtaGroup.ONE, tcgen05.OperandSource.SMEM, *majors)
    tiled_mma = cute.make_tiled_mma(op)
    a_layout = sm100.make_smem_layout_a(tiled_mma, TILE, cutlass.TFloat32, 1)
    b_layout = sm100.make_smem_layout_b(tiled_mma, TILE, cutlass.TFloat32, 1)
    load = cpasync.CopyBulkTensorTileG2SOp()
    # TMA rounds what it loads.
    tf32 = {"internal_type": cutlass.TFloat32}
    tma_a, a_tma = cute.nvgpu.make_tiled_tma_atom_A(load, a, a_layout, TILE, tiled_mma, **tf32)
    tma_b, b_tma = cute.nvgpu.make_tiled_tma_atom_B(load, b, b_layout, TILE, tiled_mma, **tf32)
    gemm_kernel(tma_a, a_tma, tma_b, b_tma, c, tiled_mma, a_layout, b_layout).launch(
        grid=[cute.ceil_div(c.shape[0], TILE_M), cute.ceil_div(c.shape[1], TILE_N), 1], block=[THREADS, 1, 1]
    )


def reference(a, b, c):
    """The expected `c`, from operands rounded to 10 bits of mantissa, halves to even."""
    bits = (each.view("uint32") for each in (a, b))
    a, b = ((each + 0xFFF + (each >> 13 & 1) & 0xFFFFE000).view("float32").astype("float64") for each in bits)
    return (a @ b.T).astype("float32")
