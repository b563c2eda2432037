"""Half-precision GEMM with `mma.sync`: cp.async into swizzled stages, `ldmatrix` into registers, any M and N.

Exercises tiled MMA with a permutation, swizzled composed layouts, retiling, predicated asynchronous copies.
"""

# cutecc: entry = "gemm_sm80"
# cutecc: target = "sm_80"
# cutecc: args.a = "f16[?M=200, ?K{div=8}=104] align=16"
# cutecc: args.b = "f16[?N=136, ?K{div=8}] align=16"
# cutecc: args.c = "f32[?M, ?N]"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: tolerance = 5e-4
# cutecc: bytes = "2 * (M * K + N * K) + 4 * M * N"
# cutecc: flops = "2 * M * N * K"

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync, warp

TILE_M, TILE_N, TILE_K = 64, 64, 32
STAGES = 3
THREADS = 128
WIDTH = 8  # elements a cp.async moves


@cute.jit
def fetch(
    tiled_copy: cute.TiledCopy, source: cute.Tensor, target: cute.Tensor, coordinates: cute.Tensor, shape: cute.Shape
):
    """Start to copy one tile; pieces outside `shape` are filled with zeros."""
    inside = cute.make_rmem_tensor((1, *coordinates.shape[1:]), cutlass.Boolean)
    for row in cutlass.range_constexpr(inside.shape[1]):
        for column in cutlass.range_constexpr(inside.shape[2]):
            inside[0, row, column] = cute.elem_less(coordinates[0, row, column], shape)
    cute.copy(tiled_copy, source, target, pred=inside)


@cute.kernel
def gemm_kernel(
    a: cute.Tensor,
    b: cute.Tensor,
    c: cute.Tensor,
    staged_layout: cute.ComposedLayout,
    tiled_copy: cute.TiledCopy,
    tiled_mma: cute.TiledMma,
):
    thread, _, _ = cute.arch.thread_idx()
    block_m, block_n, _ = cute.arch.block_idx()

    allocator = cutlass.utils.SmemAllocator()
    staged_a = allocator.allocate_tensor(a.element_type, staged_layout, byte_alignment=128)
    staged_b = allocator.allocate_tensor(b.element_type, staged_layout, byte_alignment=128)

    # Global to shared memory: (piece, rows, columns, step along K) for this thread.
    tile_a, tile_b = (TILE_M, TILE_K), (TILE_N, TILE_K)
    copy_slice = tiled_copy.get_slice(thread)
    from_a = copy_slice.partition_S(cute.local_tile(a, tile_a, (block_m, None)))
    from_b = copy_slice.partition_S(cute.local_tile(b, tile_b, (block_n, None)))
    to_a, to_b = copy_slice.partition_D(staged_a), copy_slice.partition_D(staged_b)
    coord_a = cute.local_tile(cute.make_identity_tensor(a.shape), tile_a, (block_m, None))
    coord_b = cute.local_tile(cute.make_identity_tensor(b.shape), tile_b, (block_n, None))
    coord_a, coord_b = copy_slice.partition_S(coord_a), copy_slice.partition_S(coord_b)
    steps = cute.size(from_a, mode=[3])

    # Shared memory to registers, four 8 x 8 matrices a warp at a time.
    mma_slice = tiled_mma.get_slice(thread)
    fragment_a = tiled_mma.make_fragment_A(mma_slice.partition_A(staged_a[None, None, 0]))
    fragment_b = tiled_mma.make_fragment_B(mma_slice.partition_B(staged_b[None, None, 0]))
    matrices = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), a.element_type)
    load_a, load_b = cute.make_tiled_copy_A(matrices, tiled_mma), cute.make_tiled_copy_B(matrices, tiled_mma)
    source_a = load_a.get_slice(thread).partition_S(staged_a)
    source_b = load_b.get_slice(thread).partition_S(staged_b)
    target_a, target_b = load_a.retile(fragment_a), load_b.retile(fragment_b)

    tile_c = cute.local_tile(c, (TILE_M, TILE_N), (block_m, block_n))
    thread_c = mma_slice.partition_C(tile_c)
    sums = cute.make_rmem_tensor(tiled_mma.partition_shape_C((TILE_M, TILE_N)), cutlass.Float32)
    sums.fill(0.0)

    for stage in cutlass.range_constexpr(STAGES - 1):
        if stage < steps:
            whole = (None, None, None, stage)
            fetch(tiled_copy, from_a[whole], to_a[whole], coord_a[whole], a.shape)
            fetch(tiled_copy, from_b[whole], to_b[whole], coord_b[whole], b.shape)
        cute.arch.cp_async_commit_group()

    for step in range(steps):
        cute.arch.cp_async_wait_group(STAGES - 2)
        cute.arch.sync_threads()
        ahead = step + STAGES - 1
        if ahead < steps:
            source, target = (None, None, None, ahead), (None, None, None, ahead % STAGES)
            fetch(tiled_copy, from_a[source], to_a[target], coord_a[source], a.shape)
            fetch(tiled_copy, from_b[source], to_b[target], coord_b[source], b.shape)
        cute.arch.cp_async_commit_group()

        stage = step % STAGES
        for k in cutlass.range_constexpr(cute.size(fragment_a, mode=[2])):
            part = (None, None, k)
            cute.copy(load_a, source_a[None, None, k, stage], target_a[part])
            cute.copy(load_b, source_b[None, None, k, stage], target_b[part])
            cute.gemm(tiled_mma, sums, fragment_a[part], fragment_b[part], sums)

    coord_c = cute.local_tile(cute.make_identity_tensor(c.shape), (TILE_M, TILE_N), (block_m, block_n))
    coord_c = mma_slice.partition_C(coord_c)
    for i in cutlass.range_constexpr(cute.size(sums)):
        if cute.elem_less(coord_c[i], c.shape):
            thread_c[i] = sums[i]


@cute.jit
def gemm_sm80(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """c = a @ b.T for (M, K), (N, K) and (M, N) tensors."""
    # 8 rows of 64 bytes, the 16-byte columns exclusive-ored with the row: no bank conflicts for ldmatrix.
    rows = cute.make_ordered_layout((8, TILE_K), order=(1, 0))
    atom = cute.make_composed_layout(cute.make_swizzle(2, 3, 3), 0, rows)
    staged_layout = cute.tile_to_shape(atom, (TILE_M, TILE_K, STAGES), order=(0, 1, 2))

    piece = cute.make_copy_atom(
        cpasync.CopyG2SOp(cache_mode=cpasync.LoadCacheMode.GLOBAL),
        a.element_type,
        num_bits_per_copy=WIDTH * a.element_type.width,
    )
    threads = cute.make_ordered_layout((THREADS * WIDTH // TILE_K, TILE_K // WIDTH), order=(1, 0))
    tiled_copy = cute.make_tiled_copy_tv(piece, threads, cute.make_ordered_layout((1, WIDTH), order=(1, 0)))

    # Four warps as 2 x 2; each takes two products of 8 columns, 16 apart, so that one ldmatrix serves both.
    op = warp.MmaF16BF16Op(a.element_type, cutlass.Float32, (16, 8, 16))
    tiled_mma = cute.make_tiled_mma(op, (2, 2, 1), permutation_mnk=(32, 32, 16))

    gemm_kernel(a, b, c, staged_layout, tiled_copy, tiled_mma).launch(
        grid=[cute.ceil_div(c.shape[0], TILE_M), cute.ceil_div(c.shape[1], TILE_N), 1], block=[THREADS, 1, 1]
    )


def reference(a, b, c):
    """The expected `c`."""
    return a.astype("float32") @ b.astype("float32").T
