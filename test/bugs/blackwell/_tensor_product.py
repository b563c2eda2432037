"""One tile of a product on sm_100: operands by tensor copies, one multiplication of a K block, and the way back.

What the kernels beside this differ in they have themselves.
"""

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, tcgen05

M, N, K = 128, 64, 64
THREADS = 128
COLUMNS = 64
BYTES = (M + N) * K * 2


def multiplication():
    """An instruction of 128×64×16 elements of f16, from shared memory."""
    op = tcgen05.MmaF16BF16Op(
        cutlass.Float16,
        cutlass.Float32,
        (M, N, 16),
        tcgen05.CtaGroup.ONE,
        tcgen05.OperandSource.SMEM,
        OperandMajorMode.K,
        OperandMajorMode.K,
    )
    return cute.make_tiled_mma(op)


def layouts(tiled_mma):
    """Of the operands in shared memory, one stage."""
    tile = (M, N, K)
    a = cutlass.utils.sm100.make_smem_layout_a(tiled_mma, tile, cutlass.Float16, 1)
    b = cutlass.utils.sm100.make_smem_layout_b(tiled_mma, tile, cutlass.Float16, 1)
    return a, b


def copies(tiled_mma, a, b, a_layout, b_layout):
    """Atoms and tensors of the copies of both operands."""
    load = cpasync.CopyBulkTensorTileG2SOp()
    tile = (M, N, K)
    a_stage, b_stage = (cute.slice_(each, (None, None, None, 0)) for each in (a_layout, b_layout))
    tma_a, a_tma = cute.nvgpu.make_tiled_tma_atom_A(load, a, a_stage, tile, tiled_mma)
    tma_b, b_tma = cute.nvgpu.make_tiled_tma_atom_B(load, b, b_stage, tile, tiled_mma)
    return tma_a, a_tma, tma_b, b_tma


def sums_of(tiled_mma, place):
    """The accumulator at a place of tensor memory."""
    return cute.make_tensor(place, tiled_mma.make_fragment_C(tiled_mma.partition_shape_C((M, N))).layout)


def parts(tma, staged, tiles):
    """What a tensor copy takes: in shared and in global memory."""
    return cpasync.tma_partition(
        tma, 0, cute.make_layout(1), cute.group_modes(staged, 0, 3), cute.group_modes(tiles, 0, 3)
    )


def transfer(sums, tile_c, thread):
    """A load of the accumulator by four warps: the copy, its source, its target in global memory, registers."""
    load = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x32, tcgen05.Pack.NONE), cutlass.Float32)
    tiled = tcgen05.make_tmem_copy(load, sums)
    part = tiled.get_slice(thread)
    target = part.partition_D(tile_c)
    return tiled, part.partition_S(sums), target, cute.make_rmem_tensor(target.shape, cutlass.Float32)


def reference(a, b, c):
    """The expected `c`."""
    return a.astype("float32") @ b.astype("float32").T


def narrow_layout(tiled_mma):
    """Of A in shared memory, with a swizzle of 64 bytes: two pieces beside each other along K."""
    atom = tcgen05.make_smem_layout_atom(tcgen05.SmemLayoutAtomKind.K_SW64, cutlass.Float16)
    shape = cute.append(tiled_mma.partition_shape_A(cute.dice((M, N, K), (1, None, 1))), 1)
    return tcgen05.tile_to_mma_shape(atom, shape, order=(1, 2, 3))
