"""Descriptors by which tensor cores find a matrix in shared memory: where it begins, how its core matrices lie.

A core matrix is 8 rows of 16 bytes. Units of 16 bytes count everything here: the address, both offsets, and the steps
between descriptors of one tensor. Bits 0 to 13 are the address, 16 to 29 the leading offset, 32 to 45 the stride
offset; what follows differs by generation (PTX ISA, "Matrix Descriptor Format" of wgmma, "Shared memory descriptor" of
tcgen05).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from cutecc.errors import Error
from cutecc.ir.mlir import arith, ir
from cutecc.layout import Layout, Swizzle, coalesce, composition, join, logical_divide, recast_layout
from cutecc.passes.lowering.values.integers import constant, word
from cutecc.passes.lowering.values.pointers import integer_address
from cutecc.passes.lowering.values.vector_accesses import Tensor

_UNIT = 16
"""Bytes."""
_ROWS = 8
_FIELD = (1 << 14) - 1
_LEADING_IS_ABSOLUTE = 1 << 52
"""Of sm_103a: the leading offset is an address."""
_NONE = Swizzle(0, 4, 3)
_CHUNKS_OF_32_BYTES = Swizzle(2, 5, 2)
"""Flips pairs of units in rows of 128 bytes, over four rows."""


@dataclass(frozen=True)
class DescriptorFormat:
    """How descriptors of one generation say what all of them do."""

    reader: str
    """The instruction that reads them."""
    swizzles: Mapping[Swizzle, int] = field(hash=False)
    """The bits above the offsets that name each swizzle."""
    fixed: int
    """Bits that are set in each."""
    hint: str
    """Where to get layouts that it reads."""


WGMMA: Final = DescriptorFormat(
    "wgmma",
    {_NONE: 0, Swizzle(3, 4, 3): 1 << 62, Swizzle(2, 4, 3): 2 << 62, Swizzle(1, 4, 3): 3 << 62},
    0,
    "warpgroup.make_smem_layout_atom gives layouts that wgmma reads, for cute.tile_to_shape, by the operand's major",
)
TCGEN05: Final = DescriptorFormat(
    "tcgen05.mma",
    {
        _NONE: 0,
        _CHUNKS_OF_32_BYTES: 1 << 61,
        Swizzle(3, 4, 3): 2 << 61,
        Swizzle(2, 4, 3): 4 << 61,
        Swizzle(1, 4, 3): 6 << 61,
    },
    1 << 46,
    "tcgen05.make_smem_layout_atom gives layouts that tcgen05.mma reads, for tcgen05.tile_to_mma_shape, by the "
    "operand's major",
)


def matrix_descriptor(
    tensor: Tensor, major: str, format: DescriptorFormat, goes_on_at: ir.Value | None = None
) -> ir.Value:
    """The descriptor, an `i64`, of the matrix that the first mode of `tensor` is: M or N by K.

    It is contiguous along K with the `major` `k`, along the other mode with `mn`. Its second half may be elsewhere, at
    a pointer where it `goes_on_at`. Raises `Error` for a layout that no descriptor can say.
    """
    if not isinstance(tensor.layout, Layout) or len(tensor.layout[0]) != 2:
        raise Error(f"{format.reader} reads no matrix of the layout {tensor.layout}", hints=[format.hint])
    matrix = join(tensor.layout[0][0], tensor.layout[0][1])
    units: Any = recast_layout(8 * _UNIT, tensor.element.bits, matrix)
    return _described(tensor, units, major, format, goes_on_at)


def rows_descriptor(tensor: Tensor, rows: int, bits: int, format: DescriptorFormat) -> ir.Value:
    """The descriptor of the first `rows`, of `bits` each, that the first mode of `tensor` is, row by row.

    Raises `Error` for a layout that no descriptor can say.
    """
    if not isinstance(tensor.layout, Layout):
        raise Error(f"{format.reader} reads no matrix of the layout {tensor.layout}", hints=[format.hint])
    units: Any = recast_layout(8 * _UNIT, tensor.element.bits, tensor.layout[0])
    return _described(tensor, composition(units, Layout((rows, bits // 8 // _UNIT), (1, rows))), "k", format)


def _described(
    tensor: Tensor, units: Layout, major: str, format: DescriptorFormat, goes_on_at: ir.Value | None = None
) -> ir.Value:
    """The descriptor of the matrix of `units` that begins where `tensor` does."""
    swizzle = tensor.swizzle if tensor.swizzle is not None and tensor.swizzle.bits else _NONE
    if swizzle not in format.swizzles:
        raise Error(f"{format.reader} reads no matrix with the swizzle {swizzle}", hints=[format.hint])
    leading, stride = _offsets(units, major, swizzle, format)
    fixed = stride << 32 | format.swizzles[swizzle] | format.fixed
    address = _unit_of(tensor.pointer)
    if goes_on_at is None:
        return arith.ori(address, word(fixed | leading << 16))
    further = arith.shli(_unit_of(goes_on_at), constant(16, 64))
    return arith.ori(arith.ori(address, further), word(fixed | _LEADING_IS_ABSOLUTE))


def _unit_of(pointer: ir.Value) -> ir.Value:
    """Which unit of shared memory a pointer is to, an `i64` with as many bits as a descriptor has."""
    unit = arith.shrui(integer_address(pointer, 32), constant(_UNIT.bit_length() - 1, 32))
    return arith.extui(ir.IntegerType.get_signless(64), arith.andi(unit, constant(_FIELD, 32)))


def _offsets(units: Layout, major: str, swizzle: Swizzle, format: DescriptorFormat) -> tuple[int, int]:
    """The leading and the stride offset of a matrix."""
    # A row has as many units as the swizzle reaches over; the other swizzle goes over half as many rows.
    row = 1 << (swizzle.bits + swizzle.base - _NONE.base)
    rows = _ROWS if swizzle.base == _NONE.base else _ROWS // 2
    divided = logical_divide(units, (rows, 2) if major == "k" else (row, rows))
    steps = [_step(mode, format) for part in (divided[0], divided[1]) for mode in (part[0], part[1])]
    inner, groups, across, further = steps
    if major == "k":
        # Eight rows, and within a swizzled row one unit after the other; without a swizzle columns lie anywhere.
        lies_right = inner in (0, row) and (row == 1 or across in (0, 1))
    else:
        lies_right = across == row and (row == 1 or inner == 1)
    if not lies_right or max(groups, across, further) > _FIELD:
        swizzled = "without a swizzle" if row == 1 else f"swizzled in rows of {_UNIT * row} bytes"
        raise Error(
            f"{format.reader} reads no {major}-major matrix, {swizzled}, whose units of {_UNIT} bytes lie as {units}",
            hints=[format.hint],
        )
    if major == "k":
        return across, groups
    return (groups, further) if row > 1 else (further, groups)


def _step(mode: Layout, format: DescriptorFormat) -> int:
    """How far the next is in a mode; 0 where it is the only one."""
    flat = coalesce(mode)
    if flat.size == 1:
        return 0
    if not isinstance(flat.stride, int):
        raise Error(
            f"{format.reader} reads no matrix whose units of {_UNIT} bytes lie as {mode} in one direction",
            hints=[format.hint],
        )
    return flat.stride
