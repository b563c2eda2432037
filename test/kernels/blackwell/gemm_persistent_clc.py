"""GEMM for Blackwell data-centre GPUs: a cluster that is done takes over one which has not started yet.

Exercises cluster launch control: requests to cancel the launch of a cluster, whose answer arrives in both blocks of the
one that asked, while these compute the tile before.
"""

# cutecc: entry = "gemm_persistent_clc"
# cutecc: target = "sm_100a"
# cutecc: args.a = "f16[?M{div=256}=512, ?K{div=8}=72] align=16"
# cutecc: args.b = "f16[?N{div=32}=96, ?K{div=8}] align=16"
# cutecc: args.c = "f32[?M{div=256}, ?N{div=32}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: tolerance = 1e-4
# cutecc: bytes = "2 * (M * K + N * K) + 4 * M * N"
# cutecc: flops = "2 * M * N * K"

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, tcgen05
from cutlass.utils import sm100

TILE_M, TILE_N, TILE_K = TILE = 128, 32, 64
CLUSTER = 2  # blocks, of neighbouring rows of tiles
ANSWER_BYTES = 16
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
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    rank = cute.arch.make_warp_uniform(cute.arch.block_idx_in_cluster())

    allocator = cutlass.utils.SmemAllocator()
    loaded, multiplied, answered = (allocator.allocate_array(cutlass.Int64) for _ in range(3))
    answer = allocator.allocate(ANSWER_BYTES, byte_alignment=ANSWER_BYTES)
    tmem_address = allocator.allocate_array(cutlass.Int32)
    staged_a = allocator.allocate_tensor(cutlass.Float16, a_layout.outer, 1024, swizzle=a_layout.inner)
    staged_b = allocator.allocate_tensor(cutlass.Float16, b_layout.outer, 1024, swizzle=b_layout.inner)
    if warp == 0:
        cute.arch.alloc_tmem(TILE_N, tmem_address)
        cute.arch.relinquish_tmem_alloc_permit()
    if thread == 0:
        cute.arch.mbarrier_init(loaded, 1)
        cute.arch.mbarrier_init(multiplied, 1)
        cute.arch.mbarrier_init(answered, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    tmem = cute.arch.retrieve_tmem_ptr(cutlass.Float32, 16, tmem_address)

    mma_slice = tiled_mma.get_slice(0)
    fragment_a, fragment_b = tiled_mma.make_fragment_A(staged_a), tiled_mma.make_fragment_B(staged_b)
    sums = cute.make_tensor(tmem, tiled_mma.make_fragment_C(tiled_mma.partition_shape_C(TILE[:2])).layout)
    tiles_a = mma_slice.partition_A(cute.local_tile(a, (TILE_M, TILE_K), (None, None)))
    tiles_b = mma_slice.partition_B(cute.local_tile(b, (TILE_N, TILE_K), (None, None)))
    alone = cute.make_layout(1)
    to_a, from_a = cpasync.tma_partition(
        tma_a, 0, alone, cute.group_modes(staged_a, 0, 3), cute.group_modes(tiles_a, 0, 3)
    )
    to_b, from_b = cpasync.tma_partition(
        tma_b, 0, alone, cute.group_modes(staged_b, 0, 3), cute.group_modes(tiles_b, 0, 3)
    )
    load = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x32), cutlass.Float32)
    tiled_load = tcgen05.make_tmem_copy(load, sums)
    load_slice = tiled_load.get_slice(thread)

    tile_m, tile_n, _ = cute.arch.block_idx()
    has_tile = cutlass.Boolean(True)
    phase, turn = cutlass.Int32(0), cutlass.Int32(0)
    while has_tile:
        # Both blocks have read the last answer and wait for the next one, which the first asks for.
        if thread == 0:
            cute.arch.mbarrier_arrive_and_expect_tx(answered, ANSWER_BYTES)
        cute.arch.cluster_arrive()
        cute.arch.cluster_wait()
        if warp == 0 and rank == 0:
            with cute.arch.elect_one():
                cute.arch.issue_clc_query(answered, answer)

        for step in range(cute.size(tiles_a, mode=[4])):
            if warp == 0:
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive_and_expect_tx(loaded, (TILE_M + TILE_N) * TILE_K * 2)
                cute.copy(tma_a, from_a[None, tile_m, step], to_a[None, 0], tma_bar_ptr=loaded)
                cute.copy(tma_b, from_b[None, tile_n, step], to_b[None, 0], tma_bar_ptr=loaded)
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

        target = load_slice.partition_D(mma_slice.partition_C(cute.local_tile(c, TILE[:2], (tile_m, tile_n))))
        loaded_sums = cute.make_rmem_tensor(target.shape, cutlass.Float32)
        cute.copy(tiled_load, load_slice.partition_S(sums), loaded_sums)
        cute.arch.fence_view_async_tmem_load()
        cute.autovec_copy(loaded_sums, target)

        # The answer names the first block of a cluster that does not start any more; it says no when all have.
        cute.arch.mbarrier_wait(answered, turn % 2)
        first_m, tile_n, _, is_cancelled = cute.arch.clc_response(answer)
        cute.arch.fence_proxy("async.shared", space="cta")
        tile_m = first_m + rank
        has_tile = is_cancelled != 0
        turn += 1

    cute.arch.sync_threads()
    if warp == 0:
        cute.arch.dealloc_tmem(tmem, TILE_N)


@cute.jit
def gemm_persistent_clc(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """c = a @ b.T for (M, K), (N, K) and (M, N) tensors; 256 divides M and 32 divides N."""
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
    # A block for every tile: the hardware starts as many as fit, and those take over the others.
    gemm_kernel(tma_a, a_tma, tma_b, b_tma, c, tiled_mma, a_layout, b_layout).launch(
        grid=[c.shape[0] // TILE_M, c.shape[1] // TILE_N, 1], block=[THREADS, 1, 1], cluster=[CLUSTER, 1, 1]
    )


def reference(a, b, c):
    """The expected `c`."""
    return a.astype("float32") @ b.astype("float32").T
