"""Half-precision GEMM for Blackwell data-centre GPUs: TMA, `tcgen05.mma` into tensor memory, and back to registers.

Exercises allocation of tensor memory, single-thread MMA with commit barriers, and tensor-memory loads.
"""

# cutecc: entry = "tcgen05_gemm"
# cutecc: target = "sm_100a"
# cutecc: args.a = "f16[?M{div=128}=256, ?K{div=8}=136] align=16"
# cutecc: args.b = "f16[?N{div=64}=128, ?K{div=8}] align=16"
# cutecc: args.c = "f32[?M{div=128}, ?N{div=64}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: tolerance = 1e-4
# cutecc: bytes = "2 * (M * K + N * K) + 4 * M * N"
# cutecc: flops = "2 * M * N * K"

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, tcgen05

TILE_M, TILE_N, TILE_K = 128, 64, 64
COLUMNS = 64  # of tensor memory: one for each column of the tile, of 128 lanes of 32 bits
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
    barriers = allocator.allocate_array(cutlass.Int64, 2)
    loaded, multiplied = barriers, barriers + 1
    tmem_address = allocator.allocate_array(cutlass.Int32, 1)
    staged_a = allocator.allocate_tensor(cutlass.Float16, a_layout.outer, byte_alignment=1024, swizzle=a_layout.inner)
    staged_b = allocator.allocate_tensor(cutlass.Float16, b_layout.outer, byte_alignment=1024, swizzle=b_layout.inner)

    if warp == 0:
        cute.arch.alloc_tmem(COLUMNS, tmem_address)
        cute.arch.relinquish_tmem_alloc_permit()
    if thread == 0:
        cute.arch.mbarrier_init(loaded, 1)
        cute.arch.mbarrier_init(multiplied, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    tmem = cute.arch.retrieve_tmem_ptr(cutlass.Float32, 16, tmem_address)

    # Operands as the MMA sees them, ((atom), m or n, k[, step]); the sums live in tensor memory.
    mma_slice = tiled_mma.get_slice(0)
    tiles_a = mma_slice.partition_A(cute.local_tile(a, (TILE_M, TILE_K), (block_m, None)))
    tiles_b = mma_slice.partition_B(cute.local_tile(b, (TILE_N, TILE_K), (block_n, None)))
    tile_c = mma_slice.partition_C(cute.local_tile(c, (TILE_M, TILE_N), (block_m, block_n)))
    fragment_a = tiled_mma.make_fragment_A(staged_a)
    fragment_b = tiled_mma.make_fragment_B(staged_b)
    sums_layout = tiled_mma.make_fragment_C(tiled_mma.partition_shape_C((TILE_M, TILE_N))).layout
    sums = cute.make_tensor(tmem, sums_layout)

    alone = cute.make_layout(1)
    to_a, from_a = cpasync.tma_partition(
        tma_a, 0, alone, cute.group_modes(staged_a, 0, 3), cute.group_modes(tiles_a, 0, 3)
    )
    to_b, from_b = cpasync.tma_partition(
        tma_b, 0, alone, cute.group_modes(staged_b, 0, 3), cute.group_modes(tiles_b, 0, 3)
    )
    stage_bytes = (TILE_M + TILE_N) * TILE_K * cutlass.Float16.width // 8

    # One stage: load, multiply, and wait for both before the next step.
    phase = cutlass.Int32(0)
    for step in range(cute.size(tiles_a, mode=[3])):
        if warp == 0:
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(loaded, stage_bytes)
            cute.copy(tma_a, from_a[None, step], to_a[None, 0], tma_bar_ptr=loaded)
            cute.copy(tma_b, from_b[None, step], to_b[None, 0], tma_bar_ptr=loaded)
            cute.arch.mbarrier_wait(loaded, phase)
            for k in cutlass.range_constexpr(cute.size(fragment_a, mode=[2])):
                # The very first product overwrites whatever tensor memory held.
                tiled_mma.set(tcgen05.Field.ACCUMULATE, step > 0 if k == 0 else True)
                cute.gemm(tiled_mma, sums, fragment_a[None, None, k, 0], fragment_b[None, None, k, 0], sums)
            with cute.arch.elect_one():
                tcgen05.commit(multiplied)
        cute.arch.mbarrier_wait(multiplied, phase)
        # A warp that came late could miss two steps, and wait for ever.
        cute.arch.sync_threads()
        phase ^= 1

    # Each warp reads its 32 lanes of tensor memory: one row of the tile a thread.
    load = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x32, tcgen05.Pack.NONE), cutlass.Float32)
    tiled_load = tcgen05.make_tmem_copy(load, sums)
    load_slice = tiled_load.get_slice(thread)
    source = load_slice.partition_S(sums)
    target = load_slice.partition_D(tile_c)
    fragment_c = cute.make_rmem_tensor(target.shape, cutlass.Float32)
    cute.copy(tiled_load, source, fragment_c)
    cute.arch.fence_view_async_tmem_load()
    cute.autovec_copy(fragment_c, target)

    cute.arch.sync_threads()
    if warp == 0:
        cute.arch.dealloc_tmem(tmem, COLUMNS)


@cute.jit
def tcgen05_gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """c = a @ b.T for (M, K), (N, K) and (M, N) tensors; 128 divides M and 64 divides N."""
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
    tile = (TILE_M, TILE_N, TILE_K)
    a_layout = cutlass.utils.sm100.make_smem_layout_a(tiled_mma, tile, cutlass.Float16, 1)
    b_layout = cutlass.utils.sm100.make_smem_layout_b(tiled_mma, tile, cutlass.Float16, 1)
    load = cpasync.CopyBulkTensorTileG2SOp()
    a_stage = cute.slice_(a_layout, (None, None, None, 0))
    b_stage = cute.slice_(b_layout, (None, None, None, 0))
    tma_a, a_tma = cute.nvgpu.make_tiled_tma_atom_A(load, a, a_stage, tile, tiled_mma)
    tma_b, b_tma = cute.nvgpu.make_tiled_tma_atom_B(load, b, b_stage, tile, tiled_mma)
    gemm_kernel(tma_a, a_tma, tma_b, b_tma, c, tiled_mma, a_layout, b_layout).launch(
        grid=[c.shape[0] // TILE_M, c.shape[1] // TILE_N, 1], block=[THREADS, 1, 1]
    )


def reference(a, b, c):
    """The expected `c`."""
    return a.astype("float32") @ b.astype("float32").T
