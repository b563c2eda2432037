# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""The `wgmma` of every type, and the layouts in shared memory that it reads."""

from __future__ import annotations

from dataclasses import dataclass

import cutlass
from cutlass import cute
from cutlass._mlir.dialects import cute_nvgpu
from cutlass.cute.atom import make_atom
from cutlass.cute.nvgpu import OperandMajorMode, warpgroup
from cutlass.cute.nvgpu.warpgroup.mma import MmaTraits

from cutecc.operations.description import GemmDescription
from cutecc.operations.kernels.numeric import numeric
from cutecc.operations.kernels.operand_copies import is_read_along_k
from cutecc.operations.operand import Operand

_SWIZZLES = ((128, "SW128"), (64, "SW64"), (32, "SW32"), (16, "INTER"))
"""Bytes of a row of each swizzle that `wgmma` and TMA know."""


class Tf32Traits(MmaTraits):
    """What the DSL asks of an atom; all of it is the same for every type."""


@dataclass(frozen=True)
class MmaTf32Op(warpgroup.mma.MmaOp):
    """`wgmma` on f32 in shared memory, of which it reads the upper 19 bits; both operands along K."""

    descriptive_name = "warpgroup-level TF32 MMA operation"

    def __init__(self, shape: tuple[int, int, int]) -> None:
        along_k = OperandMajorMode.K
        source = warpgroup.OperandSource.SMEM
        super().__init__(cutlass.TFloat32, cutlass.TFloat32, cutlass.Float32, shape, source, along_k, along_k)

    def _make_trait(self, *, loc=None, ip=None, **_):
        multiplied = cutlass.TFloat32.mlir_type
        atom = cute_nvgpu.MmaAtomSM90Type.get(
            cute.core._pack_shape(self.shape_mnk, loc=loc, ip=ip).type.attribute,
            *(self.a_major_mode._to_ir(), self.b_major_mode._to_ir()),
            *(multiplied, multiplied, cutlass.Float32.mlir_type, self.a_src._to_ir()),
        )
        return Tf32Traits(make_atom(atom, [cutlass.Boolean(False).ir_value(loc=loc, ip=ip)], loc=loc, ip=ip))


def make_tiled_mma(description: GemmDescription, n: int) -> cute.TiledMma:
    """The `wgmma` of a description, for one warpgroup, with `n` columns."""
    instruction = description.instruction
    shape = (64, n, instruction.shape[2])
    if instruction.a == "tf32":
        return cute.make_tiled_mma(MmaTf32Op(shape))
    a, b, accumulator = (numeric(each) for each in (instruction.a, instruction.b, instruction.accumulator))
    majors = (_major(description, "a"), _major(description, "b"))
    source = warpgroup.OperandSource.SMEM
    if a.width == 16:
        return cute.make_tiled_mma(warpgroup.MmaF16BF16Op(a, accumulator, shape, source, *majors))
    operation = warpgroup.MmaI8Op if instruction.a == "i8" else warpgroup.MmaF8Op
    return cute.make_tiled_mma(operation(a, b, accumulator, shape, source, *majors))


def staged_layout(operand: Operand, shape: tuple[int, ...], is_k_major: bool) -> cute.ComposedLayout:
    """A tile (rows, K) or tiles (rows, K, stage) of an operand in shared memory, contiguous as TMA reads it."""
    along, order = ("K", (0, 1, 2)) if is_k_major else ("MN", (1, 0, 2))
    atom = swizzled_atom(numeric(operand.dtype), shape[1 if is_k_major else 0], along)
    return cute.tile_to_shape(atom, shape, order=order[: len(shape)])


def swizzled_atom(dtype: type[cutlass.Numeric], contiguous: int, along: str) -> cute.ComposedLayout:
    """The widest swizzled atom whose rows, contiguous `along` K or MN, divide `contiguous` elements."""
    kind = next(name for row, name in _SWIZZLES if contiguous * dtype.width % (row * 8) == 0)
    return warpgroup.make_smem_layout_atom(getattr(warpgroup.SmemLayoutAtomKind, f"{along}_{kind}"), dtype)


def _major(description: GemmDescription, name: str) -> OperandMajorMode:
    return OperandMajorMode.K if is_read_along_k(description, name) else OperandMajorMode.MN
