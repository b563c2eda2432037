"""GEMM on 6-bit floats for Blackwell data-centre GPUs: e3m2 times e2m3.

Exercises TMA that unpacks: in global memory four numbers take three bytes, in shared memory each takes a byte, and a
barrier counts what was packed.
"""

# cutecc: entry = "gemm_f6"
# cutecc: target = "sm_100a"
# cutecc: args.a = "u8[?M{div=128}=128, ?W{div=96}=192] align=32"
# cutecc: args.b = "u8[?N{div=64}=128, ?W] align=32"
# cutecc: args.c = "f32[?M, ?N] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: tolerance = 1e-5
# cutecc: bytes = "(M + N) * W + 4 * M * N"
# cutecc: flops = "2 * M * N * W * 4 // 3"

import cutlass
import numpy as np
from cutlass import cute
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, tcgen05
from cutlass.utils import sm100

TILE_M, TILE_N, TILE_K = TILE = 128, 64, 128
A, B = cutlass.Float6E3M2FN, cutlass.Float6E2M3FN
STAGED = cutlass.Uint8
THREADS = 128


@cute.kernel
def gemm_kernel(
    tma_a: cute.CopyAtom,
    a: cute.Tensor,
    tma_b: cute.CopyAtom,
    b: cute.Tensor,
    c: cute.Tensor,
    mma: cute.TiledMma,
    a_layout: cute.ComposedLayout,
    b_layout: cute.ComposedLayout,
):
    thread, _, _ = cute.arch.thread_idx()
    block_m, block_n, _ = cute.arch.block_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())

    allocator = cutlass.utils.SmemAllocator()
    loaded, multiplied = (allocator.allocate_array(cutlass.Int64) for _ in range(2))
    tmem_address = allocator.allocate_array(cutlass.Int32)
    staged_a = allocator.allocate_tensor(STAGED, a_layout.outer, 1024, swizzle=a_layout.inner)
    staged_b = allocator.allocate_tensor(STAGED, b_layout.outer, 1024, swizzle=b_layout.inner)
    if warp == 0:
        cute.arch.alloc_tmem(TILE_N, tmem_address)
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
    fragment_a, fragment_b = mma.make_fragment_A(staged_a), mma.make_fragment_B(staged_b)
    sums = cute.make_tensor(tmem, mma.make_fragment_C(tile_c.shape).layout)
    to_a, from_a = partition(tma_a, staged_a, tiles_a)
    to_b, from_b = partition(tma_b, staged_b, tiles_b)

    phase = cutlass.Int32(0)
    for step in range(cute.size(tiles_a, mode=[3])):
        if warp == 0:
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(loaded, (TILE_M + TILE_N) * TILE_K * 3 // 4)
            cute.copy(tma_a, from_a[None, step], to_a[None, 0], tma_bar_ptr=loaded)
            cute.copy(tma_b, from_b[None, step], to_b[None, 0], tma_bar_ptr=loaded)
            cute.arch.mbarrier_wait(loaded, phase)
            for k in cutlass.range_constexpr(cute.size(fragment_a, mode=[2])):
                mma.set(tcgen05.Field.ACCUMULATE, step > 0 if k == 0 else True)
                cute.gemm(mma, sums, fragment_a[None, None, k, 0], fragment_b[None, None, k, 0], sums)
            with cute.arch.elect_one():
                tcgen05.commit(multiplied)
        cute.arch.mbarrier_wait(multiplied, phase)
        # A warp that came late could miss two steps, and wait for ever.
        cute.arch.sync_threads()
        phase ^= 1

    load = tcgen05.Ld32x32bOp(tcgen05.Repetition.x64)
    tiled_load = tcgen05.make_tmem_copy(cute.make_copy_atom(load, cutlass.Float32), sums)
    load_slice = tiled_load.get_slice(thread)
    target = load_slice.partition_D(tile_c)
    in_registers = cute.make_rmem_tensor(target.shape, cutlass.Float32)
    cute.copy(tiled_load, load_slice.partition_S(sums), in_registers)
    cute.arch.fence_view_async_tmem_load()
    cute.autovec_copy(in_registers, target)
    cute.arch.sync_threads()
    if warp == 0:
        cute.arch.dealloc_tmem(tmem, TILE_N)


def partition(tma, staged, tiles):
    """What TMA copies to and from: (tile, stage) of shared memory, (tile, step) of coordinates."""
    alone = cute.make_layout(1)
    return cpasync.tma_partition(tma, 0, alone, cute.group_modes(staged, 0, 3), cute.group_modes(tiles, 0, 3))


@cute.jit
def gemm_f6(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """c = a @ b.T for (M, K), (N, K) and (M, N) tensors, of a and b the bytes; 128 divides M and K, 64 divides N."""
    a, b = numbers(a, A), numbers(b, B)
    k_major = OperandMajorMode.K
    shape = TILE_M, TILE_N, 32
    op = tcgen05.MmaF8F6F4Op(
        A, B, cutlass.Float32, shape, tcgen05.CtaGroup.ONE, tcgen05.OperandSource.SMEM, k_major, k_major
    )
    mma = cute.make_tiled_mma(op)
    a_layout = sm100.make_smem_layout_a(mma, TILE, STAGED, 1)
    b_layout = sm100.make_smem_layout_b(mma, TILE, STAGED, 1)
    load = cpasync.CopyBulkTensorTileG2SOp()
    tma_a, a_tma = cute.nvgpu.make_tiled_tma_atom_A(load, a, a_layout, TILE, mma)
    tma_b, b_tma = cute.nvgpu.make_tiled_tma_atom_B(load, b, b_layout, TILE, mma)
    gemm_kernel(tma_a, a_tma, tma_b, b_tma, c, mma, a_layout, b_layout).launch(
        grid=[c.shape[0] // TILE_M, c.shape[1] // TILE_N, 1], block=[THREADS, 1, 1]
    )


@cute.jit
def numbers(packed: cute.Tensor, element: cutlass.Constexpr):
    """The (rows, K) numbers of rows of bytes."""
    rows, width = packed.shape
    k = cute.assume(width // 3 * 4, 128)
    return cute.make_tensor(cute.recast_ptr(packed.iterator, dtype=element), cute.make_layout((rows, k), stride=(k, 1)))


def reference(a, b, c):
    """The expected `c`."""
    return unpacked(a, mantissa=2, bias=3) @ unpacked(b, mantissa=3, bias=1).T


def unpacked(packed, mantissa, bias):
    """The numbers in f32 of rows of bytes: of each, from its lowest bit, a mantissa, an exponent and a sign."""
    bits = np.unpackbits(packed, axis=1, bitorder="little").reshape(len(packed), -1, 6)
    code = (bits * (1 << np.arange(6))).sum(2)
    exponent, fraction = (code & 31) >> mantissa, code & ((1 << mantissa) - 1)
    significand = np.where(exponent == 0, fraction, fraction + (1 << mantissa))
    value = significand * 2.0 ** (np.maximum(exponent, 1) - bias - mantissa)
    return np.where(code & 32, -value, value).astype("float32")
