"""A product of one tile by `wgmma`: what the kernels beside this file have in common."""

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import OperandMajorMode, warpgroup

THREADS = 128
ROWS, COLUMNS, DEPTH = 64, 16, 64
STEPS = DEPTH // 16


def stage(*operands):
    """Copy operands of f16 to shared memory, swizzled, each thread eight elements of a row at a time."""
    thread, _, _ = cute.arch.thread_idx()
    atom = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW128, cutlass.Float16)
    allocator = cutlass.utils.SmemAllocator()
    found = []
    for operand in operands:
        layout = cute.tile_to_shape(atom, operand.shape, order=(0, 1))
        staged = allocator.allocate_tensor(cutlass.Float16, layout.outer, 1024, swizzle=layout.inner)
        for first in range(0, operand.shape[0], THREADS * 8 // DEPTH):
            row, piece = first + thread // 8, thread % 8
            cute.autovec_copy(
                cute.local_tile(operand[row, None], (8,), (piece,)),
                cute.local_tile(staged[row, None], (8,), (piece,)),
            )
        found.append(staged)
    return found


def make_product(staged_a, staged_b):
    """The instruction, what it reads in each of `STEPS`, and this thread's part of the sums that it adds to."""
    major = OperandMajorMode.K
    op = warpgroup.MmaF16BF16Op(
        cutlass.Float16, cutlass.Float32, (ROWS, COLUMNS, 16), warpgroup.OperandSource.SMEM, major, major
    )
    tiled_mma = cute.make_tiled_mma(op)
    tiled_mma.set(warpgroup.Field.ACCUMULATE, True)
    operand_a = tiled_mma.make_fragment_A(tiled_mma.get_slice(0).partition_A(staged_a))
    operand_b = tiled_mma.make_fragment_B(tiled_mma.get_slice(0).partition_B(staged_b))
    sums = cute.make_rmem_tensor(tiled_mma.partition_shape_C((ROWS, COLUMNS)), cutlass.Float32)
    return tiled_mma, operand_a, operand_b, sums
