"""Two products in a row for Blackwell data-centre GPUs: the result of the first is a factor of the second.

Exercises a first factor in tensor memory, where threads store it in the place of the sums that it was, in half as many
columns; and tensor memory that is loaded and stored between products.
"""

# cutecc: entry = "gemm_a_in_tmem"
# cutecc: target = "sm_100a"
# cutecc: args.a = "f16[?M{div=128}=256, 64] align=16"
# cutecc: args.b = "f16[?L{div=64}=128, 64] align=16"
# cutecc: args.d = "f16[64, ?L{div=64}] order=(0, 1) align=16"
# cutecc: args.c = "f32[?M{div=128}, 64] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: tolerance = 1e-3
# cutecc: bytes = "2 * 64 * (M + 2 * L) + 4 * 64 * M"
# cutecc: flops = "4 * M * 64 * L"

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, tcgen05
from cutlass.utils import sm100

TILE_M, TILE_N, TILE_K = TILE = 128, 64, 64  # of both products
COLUMNS = 128  # of tensor memory: sums of both
THREADS = 128


@cute.kernel
def gemm_kernel(
    tma_a: cute.CopyAtom,
    a: cute.Tensor,
    tma_b: cute.CopyAtom,
    b: cute.Tensor,
    tma_d: cute.CopyAtom,
    d: cute.Tensor,
    c: cute.Tensor,
    first_mma: cute.TiledMma,
    second_mma: cute.TiledMma,
    a_layout: cute.ComposedLayout,
    b_layout: cute.ComposedLayout,
    d_layout: cute.ComposedLayout,
):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())

    allocator = cutlass.utils.SmemAllocator()
    a_loaded, loaded, first_done, second_done = (allocator.allocate_array(cutlass.Int64) for _ in range(4))
    tmem_address = allocator.allocate_array(cutlass.Int32)
    staged_a, staged_b, staged_d = (
        allocator.allocate_tensor(cutlass.Float16, layout.outer, 1024, swizzle=layout.inner)
        for layout in (a_layout, b_layout, d_layout)
    )
    if warp == 0:
        cute.arch.alloc_tmem(COLUMNS, tmem_address)
        cute.arch.relinquish_tmem_alloc_permit()
    if thread == 0:
        for barrier in (a_loaded, loaded, first_done, second_done):
            cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    tmem = cute.arch.retrieve_tmem_ptr(cutlass.Float32, 16, tmem_address)

    # The weights, of 16 bits, replace the sums that they come from.
    first, second = first_mma.get_slice(0), second_mma.get_slice(0)
    sums_layout = first_mma.make_fragment_C(first_mma.partition_shape_C(TILE[:2])).layout
    weight_sums, sums = (cute.make_tensor(tmem + offset, sums_layout) for offset in (0, TILE_N))
    weights_layout = second_mma.make_fragment_A(second_mma.partition_shape_A((TILE_M, TILE_K))).layout
    weights = cute.make_tensor(cute.recast_ptr(tmem, dtype=cutlass.Float16), weights_layout)
    fragment_a, fragment_b = first_mma.make_fragment_A(staged_a), first_mma.make_fragment_B(staged_b)
    fragment_d = second_mma.make_fragment_B(staged_d)

    alone = cute.make_layout(1)
    tile_a = first.partition_A(cute.local_tile(a, (TILE_M, TILE_K), (block, None)))
    tiles_b = first.partition_B(cute.local_tile(b, (TILE_N, TILE_K), (None, 0)))
    tiles_d = second.partition_B(cute.local_tile(d, (TILE_N, TILE_K), (0, None)))
    (to_a, from_a), (to_b, from_b), (to_d, from_d) = (
        cpasync.tma_partition(tma, 0, alone, cute.group_modes(staged, 0, 3), cute.group_modes(tiles, 0, 3))
        for tma, staged, tiles in ((tma_a, staged_a, tile_a), (tma_b, staged_b, tiles_b), (tma_d, staged_d, tiles_d))
    )
    stage_bytes = 2 * TILE_N * TILE_K * 2
    if warp == 0:
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(a_loaded, TILE_M * TILE_K * 2)
        cute.copy(tma_a, from_a[None, 0], to_a[None, 0], tma_bar_ptr=a_loaded)
        cute.arch.mbarrier_wait(a_loaded, 0)

    phase = cutlass.Int32(0)
    for step in range(cute.size(tiles_b, mode=[3])):
        if warp == 0:
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(loaded, stage_bytes)
            cute.copy(tma_b, from_b[None, step], to_b[None, 0], tma_bar_ptr=loaded)
            cute.copy(tma_d, from_d[None, step], to_d[None, 0], tma_bar_ptr=loaded)
            cute.arch.mbarrier_wait(loaded, phase)
            for k in cutlass.range_constexpr(cute.size(fragment_a, mode=[2])):
                first_mma.set(tcgen05.Field.ACCUMULATE, k > 0)
                slice_a, slice_b = fragment_a[None, None, k, 0], fragment_b[None, None, k, 0]
                cute.gemm(first_mma, weight_sums, slice_a, slice_b, weight_sums)
            with cute.arch.elect_one():
                tcgen05.commit(first_done)
        cute.arch.mbarrier_wait(first_done, phase)
        round_in_place(weight_sums, thread)
        cute.arch.sync_threads()
        if warp == 0:
            for k in cutlass.range_constexpr(cute.size(weights, mode=[2])):
                second_mma.set(tcgen05.Field.ACCUMULATE, step > 0 if k == 0 else True)
                cute.gemm(second_mma, sums, weights[None, None, k], fragment_d[None, None, k, 0], sums)
            with cute.arch.elect_one():
                tcgen05.commit(second_done)
        cute.arch.mbarrier_wait(second_done, phase)
        phase ^= 1

    tiled_load = tcgen05.make_tmem_copy(
        cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x64), cutlass.Float32), sums
    )
    load_slice = tiled_load.get_slice(thread)
    target = load_slice.partition_D(first.partition_C(cute.local_tile(c, TILE[:2], (block, 0))))
    loaded_sums = cute.make_rmem_tensor(target.shape, cutlass.Float32)
    cute.copy(tiled_load, load_slice.partition_S(sums), loaded_sums)
    cute.arch.fence_view_async_tmem_load()
    cute.autovec_copy(loaded_sums, target)

    cute.arch.sync_threads()
    if warp == 0:
        cute.arch.dealloc_tmem(tmem, COLUMNS)


@cute.jit
def round_in_place(sums, thread):
    """Replace sums by f16 numbers, two in a column: a row a thread."""
    load = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x64), cutlass.Float32)
    tiled_load = tcgen05.make_tmem_copy(load, sums)
    load_slice = tiled_load.get_slice(thread)
    places = load_slice.partition_D(cute.make_identity_tensor(sums.shape))
    loaded = cute.make_rmem_tensor(places.shape, cutlass.Float32)
    cute.copy(tiled_load, load_slice.partition_S(sums), loaded)
    cute.arch.fence_view_async_tmem_load()

    words = cute.make_tensor(sums.iterator, cute.composition(sums.layout, cute.make_layout((TILE_M, TILE_N // 2))))
    store = cute.make_copy_atom(tcgen05.St32x32bOp(tcgen05.Repetition.x32), cutlass.Float32)
    tiled_store = tcgen05.make_tmem_copy(store, words)
    store_slice = tiled_store.get_slice(thread)
    places = store_slice.partition_S(cute.make_identity_tensor(words.shape))
    pairs = cute.make_rmem_tensor(places.shape, cutlass.Float32)
    rounded = cute.make_tensor(cute.recast_ptr(pairs.iterator, dtype=cutlass.Float16), loaded.layout)
    rounded.store(loaded.load().to(cutlass.Float16))
    cute.copy(tiled_store, pairs, store_slice.partition_D(words))
    cute.arch.fence_view_async_tmem_store()


@cute.jit
def gemm_a_in_tmem(a: cute.Tensor, b: cute.Tensor, d: cute.Tensor, c: cute.Tensor):
    """c = (a @ b.T) @ d.T for (M, 64), (L, 64), (64, L) and (M, 64) tensors; 128 divides M, 64 divides L."""
    first_mma = make_mma(tcgen05.OperandSource.SMEM, OperandMajorMode.K)
    second_mma = make_mma(tcgen05.OperandSource.TMEM, OperandMajorMode.MN)
    a_layout = sm100.make_smem_layout_a(first_mma, TILE, cutlass.Float16, 1)
    b_layout = sm100.make_smem_layout_b(first_mma, TILE, cutlass.Float16, 1)
    d_layout = sm100.make_smem_layout_b(second_mma, TILE, cutlass.Float16, 1)
    load = cpasync.CopyBulkTensorTileG2SOp()
    tma_a, a_tma = cute.nvgpu.make_tiled_tma_atom_A(load, a, a_layout, TILE, first_mma)
    tma_b, b_tma = cute.nvgpu.make_tiled_tma_atom_B(load, b, b_layout, TILE, first_mma)
    tma_d, d_tma = cute.nvgpu.make_tiled_tma_atom_B(load, d, d_layout, TILE, second_mma)
    gemm_kernel(
        tma_a, a_tma, tma_b, b_tma, tma_d, d_tma, c, first_mma, second_mma, a_layout, b_layout, d_layout
    ).launch(grid=[c.shape[0] // TILE_M, 1, 1], block=[THREADS, 1, 1])


def make_mma(source_of_a, major_of_b) -> cute.TiledMma:
    """Products with a first factor from there."""
    group, shape = tcgen05.CtaGroup.ONE, (TILE_M, TILE_N, 16)
    majors = OperandMajorMode.K, major_of_b
    op = tcgen05.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, shape, group, source_of_a, *majors)
    return cute.make_tiled_mma(op)


def reference(a, b, d, c):
    """The expected `c`."""
    weights = (a.astype("float32") @ b.astype("float32").T).astype("float16")
    return weights.astype("float32") @ d.astype("float32").T
