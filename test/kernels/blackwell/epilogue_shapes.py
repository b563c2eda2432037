"""Epilogues of a GEMM for Blackwell data-centre GPUs: c = relu(a @ b.T + bias), through tensor memory and back.

Exercises loads and stores of tensor memory by all shapes and several repetitions, of f32 and of f16 in a column each:
what one shape stores, another loads. TMA writes the result, part by part.
"""

# cutecc: entry = "epilogue_shapes"
# cutecc: target = "sm_100a"
# cutecc: args.a = "f16[?M{div=8}=200, ?K{div=8}=72] align=16"
# cutecc: args.b = "f16[?N{div=8}=200, ?K{div=8}] align=16"
# cutecc: args.bias = "f32[?N]"
# cutecc: args.c = "f16[?M, ?N{div=8}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: tolerance = 2e-3
# cutecc: bytes = "2 * (M * K + N * K + M * N) + 4 * N"
# cutecc: flops = "2 * M * N * K"

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, tcgen05
from cutlass.utils import LayoutEnum, sm100

x2, x4, x8, x16, x32 = (tcgen05.Repetition(count) for count in (2, 4, 8, 16, 32))
F32_ROUNDS = (  # loads of sums, stores of what is made of them, and loads of that
    (tcgen05.Ld32x32bOp(x32), tcgen05.St32x32bOp(x16), tcgen05.Ld16x64bOp(x8)),
    (tcgen05.Ld16x64bOp(x16), tcgen05.St16x64bOp(x16), tcgen05.Ld16x128bOp(x4)),
    (tcgen05.Ld16x128bOp(x4), tcgen05.St16x128bOp(x4), tcgen05.Ld16x256bOp(x2)),
    (tcgen05.Ld16x256bOp(x2), tcgen05.St16x256bOp(x2), tcgen05.Ld32x32bOp(x8)),
    (tcgen05.Ld16x32bx2Op(x8), tcgen05.St16x32bx2Op(x8), tcgen05.Ld32x32bOp(x16)),
)
PACK, UNPACK = tcgen05.Pack.PACK_16b_IN_32b, tcgen05.Unpack.UNPACK_32b_IN_16b
F16_ROUNDS = (  # the same with f16 in the middle, of which a register has two columns
    (tcgen05.Ld32x32bOp(x32), tcgen05.St32x32bOp(x16, UNPACK), tcgen05.Ld16x64bOp(x4, PACK)),
    (tcgen05.Ld32x32bOp(x4), tcgen05.St32x32bOp(x2, UNPACK), tcgen05.Ld16x128bOp(x2, PACK)),
)
PART = 32  # columns of a round
PARTS = len(F32_ROUNDS) + len(F16_ROUNDS)
TILE_M, TILE_N, TILE_K = TILE = 128, PART * PARTS, 64
COLUMNS = 256
THREADS = 128


@cute.kernel
def gemm_kernel(
    tma_a: cute.CopyAtom,
    a: cute.Tensor,
    tma_b: cute.CopyAtom,
    b: cute.Tensor,
    bias: cute.Tensor,
    tma_c: cute.CopyAtom,
    c: cute.Tensor,
    tiled_mma: cute.TiledMma,
    a_layout: cute.ComposedLayout,
    b_layout: cute.ComposedLayout,
    c_layout: cute.ComposedLayout,
):
    thread, _, _ = cute.arch.thread_idx()
    block_m, block_n, _ = cute.arch.block_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())

    allocator = cutlass.utils.SmemAllocator()
    loaded, multiplied = (allocator.allocate_array(cutlass.Int64) for _ in range(2))
    tmem_address = allocator.allocate_array(cutlass.Int32)
    staged_a, staged_b, staged_c = (
        allocator.allocate_tensor(cutlass.Float16, layout.outer, 1024, swizzle=layout.inner)
        for layout in (a_layout, b_layout, c_layout)
    )
    if warp == 0:
        cute.arch.alloc_tmem(COLUMNS, tmem_address)
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
    phase = cutlass.Int32(0)
    for step in range(cute.size(tiles_a, mode=[3])):
        if warp == 0:
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(loaded, (TILE_M + TILE_N) * TILE_K * 2)
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

    # Parts of the sums, of tensor memory with f16 in their place, of the bias, and of c, in shared memory.
    parts = cute.local_tile(sums[(None, None), 0, 0], (TILE_M, PART), (0, None))
    columns = cute.local_tile(cute.make_identity_tensor((TILE_M, TILE_N)), (TILE_M, PART), (0, None))
    for part in cutlass.range_constexpr(PARTS):
        is_f32 = part < len(F32_ROUNDS)
        load, store, load_again = (F32_ROUNDS + F16_ROUNDS)[part]
        values = take(load, parts[None, None, part], thread)
        places = taken_by(load, parts[None, None, part], columns[None, None, part], thread)
        for i in cutlass.range_constexpr(cute.size(values)):
            column = block_n * TILE_N + places[i][1]
            shift = bias[column] if column < bias.shape[0] else cutlass.Float32(0)
            values[i] = cute.arch.fmax(values[i] + shift, 0.0)
        middle = parts[None, None, part]
        if cutlass.const_expr(not is_f32):
            middle = as_halves(middle)
        put(store, values, middle, thread)
        cute.arch.sync_threads()
        results = take(load_again, middle, thread)
        target = taken_by(load_again, middle, staged_c[None, None, part], thread)
        rounded = cute.make_rmem_tensor(results.shape, cutlass.Float16)
        rounded.store(results.load().to(cutlass.Float16))
        cute.autovec_copy(rounded, target)

    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    if warp == 0:
        tiles_c = cute.local_tile(cute.local_tile(c, TILE[:2], (block_m, block_n)), (TILE_M, PART), (0, None))
        from_c, to_c = cpasync.tma_partition(
            tma_c, 0, alone, cute.group_modes(staged_c, 0, 2), cute.group_modes(tiles_c, 0, 2)
        )
        for part in cutlass.range_constexpr(PARTS):
            cute.copy(tma_c, from_c[None, part], to_c[None, part])
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0, read=True)
        cute.arch.dealloc_tmem(tmem, COLUMNS)


def as_halves(tensor):
    """The same columns with an f16 in each, in the lower half."""
    pointer = cute.recast_ptr(tensor.iterator, dtype=cutlass.Float16)
    return cute.make_tensor(pointer, cute.make_layout(tensor.shape, stride=(2 << 16, 2)))


def taken_by(operation, source, tensor, thread):
    """What a thread has of `tensor` when it loads as much of `source`."""
    tiled_load = tcgen05.make_tmem_copy(cute.make_copy_atom(operation, source.element_type), source)
    return tiled_load.get_slice(thread).partition_D(tensor)


def take(operation, source, thread):
    """Load from tensor memory into registers."""
    tiled_load = tcgen05.make_tmem_copy(cute.make_copy_atom(operation, source.element_type), source)
    places = tiled_load.get_slice(thread).partition_D(cute.make_identity_tensor(source.shape))
    values = cute.make_rmem_tensor(places.shape, source.element_type)
    cute.copy(tiled_load, tiled_load.get_slice(thread).partition_S(source), values)
    cute.arch.fence_view_async_tmem_load()
    return values


def put(operation, values, target, thread):
    """Store in tensor memory, as its type."""
    tiled_store = tcgen05.make_tmem_copy(cute.make_copy_atom(operation, target.element_type), target)
    places = tiled_store.get_slice(thread).partition_S(cute.make_identity_tensor(target.shape))
    rounded = cute.make_rmem_tensor(places.shape, target.element_type)
    for i in range(cute.size(values)):
        rounded[i] = values[i].to(target.element_type)
    cute.copy(tiled_store, rounded, tiled_store.get_slice(thread).partition_D(target))
    cute.arch.fence_view_async_tmem_store()


@cute.jit
def epilogue_shapes(a: cute.Tensor, b: cute.Tensor, bias: cute.Tensor, c: cute.Tensor):
    """c = relu(a @ b.T + bias) for (M, K), (N, K), (N) and (M, N) tensors."""
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
    c_layout = sm100.make_smem_layout_epi(cutlass.Float16, LayoutEnum.ROW_MAJOR, (TILE_M, PART), PARTS)
    load, store = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileS2GOp()
    tma_a, a_tma = cute.nvgpu.make_tiled_tma_atom_A(load, a, a_layout, TILE, tiled_mma)
    tma_b, b_tma = cute.nvgpu.make_tiled_tma_atom_B(load, b, b_layout, TILE, tiled_mma)
    tma_c, c_tma = cpasync.make_tiled_tma_atom(store, c, c_layout, (TILE_M, PART))
    gemm_kernel(tma_a, a_tma, tma_b, b_tma, bias, tma_c, c_tma, tiled_mma, a_layout, b_layout, c_layout).launch(
        grid=[cute.ceil_div(c.shape[0], TILE_M), cute.ceil_div(c.shape[1], TILE_N), 1], block=[THREADS, 1, 1]
    )


def reference(a, b, bias, c):
    """The expected `c`."""
    import numpy as np

    return np.maximum(a.astype("float32") @ b.astype("float32").T + bias, 0).astype("float16")
