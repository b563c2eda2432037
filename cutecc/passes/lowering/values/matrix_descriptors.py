"""Descriptors by which `wgmma` finds a matrix in shared memory: where it begins, and how its core matrices lie.

A core matrix is 8 rows of 16 bytes. Units of 16 bytes count everything here: the address, both offsets, and the steps
between descriptors of one tensor. Bits, as PTX's manual has them under "Matrix Descriptor Format": 0 to 13 the address,
16 to 29 the leading offset, 32 to 45 the stride offset, 62 and 63 the swizzle.
"""

from __future__ import annotations

from typing import Any

from cutecc.errors import Error
from cutecc.ir.mlir import arith, ir
from cutecc.layout import Layout, coalesce, join, logical_divide, recast_layout
from cutecc.passes.lowering.values.integers import constant, word
from cutecc.passes.lowering.values.pointers import integer_address
from cutecc.passes.lowering.values.vector_accesses import Tensor

_UNIT = 16
"""Bytes."""
_ROWS = 8
_FIELD = (1 << 14) - 1
_SWIZZLES = {0: 0, 1: 3, 2: 2, 3: 1}
"""By the bits that a swizzle flips: the descriptor's number for it. Rows are 16, 32, 64 and 128 bytes."""
_HINT = "warpgroup.make_smem_layout_atom gives layouts that wgmma reads, for cute.tile_to_shape, by the operand's major"


def matrix_descriptor(tensor: Tensor, major: str) -> ir.Value:
    """The descriptor, an `i64`, of the matrix that the first mode of `tensor` is: M or N by K.

    It is contiguous along K with the `major` `k`, along the other mode with `mn`. Raises `Error` for a layout that no
    descriptor can say.
    """
    swizzle = tensor.swizzle
    bits = 0 if swizzle is None else swizzle.bits
    if swizzle is not None and bits and (bits not in _SWIZZLES or (swizzle.base, swizzle.shift) != (4, 3)):
        raise Error(f"wgmma reads no matrix with the swizzle {swizzle}", hints=[_HINT])
    if not isinstance(tensor.layout, Layout) or len(tensor.layout[0]) != 2:
        raise Error(f"wgmma reads no matrix of the layout {tensor.layout}", hints=[_HINT])
    matrix = join(tensor.layout[0][0], tensor.layout[0][1])
    leading, stride = _offsets(matrix, tensor.element.bits, major, 1 << bits)
    fixed = leading << 16 | stride << 32 | _SWIZZLES[bits] << 62
    address = integer_address(tensor.pointer, 32)
    unit = arith.shrui(address, constant(_UNIT.bit_length() - 1, 32))
    low = arith.andi(unit, constant(_FIELD, 32))
    wide = arith.extui(ir.IntegerType.get_signless(64), low)
    return arith.ori(wide, word(fixed))


def _offsets(matrix: Layout, bits: int, major: str, row: int) -> tuple[int, int]:
    """The leading and the stride offset of a matrix of elements of `bits`, in rows of `row` units."""
    units: Any = recast_layout(8 * _UNIT, bits, matrix)
    divided = logical_divide(units, (_ROWS, 2) if major == "k" else (row, _ROWS))
    (inner, groups), (across, further) = ([_step(mode) for mode in (part[0], part[1])] for part in divided)
    if major == "k":
        # Eight rows, and within a swizzled row one unit after the other; without a swizzle columns lie anywhere.
        lies_right = inner in (0, row) and (row == 1 or across in (0, 1))
    else:
        lies_right = across == row and (row == 1 or inner == 1)
    if not lies_right or max(groups, across, further) > _FIELD:
        swizzled = "without a swizzle" if row == 1 else f"swizzled in rows of {_UNIT * row} bytes"
        raise Error(
            f"wgmma reads no {major}-major matrix, {swizzled}, whose units of {_UNIT} bytes lie as {units}",
            hints=[_HINT],
        )
    if major == "k":
        return across, groups
    return (groups, further) if row > 1 else (further, groups)


def _step(mode: Layout) -> int:
    """How far the next is in a mode; 0 where it is the only one."""
    flat = coalesce(mode)
    if flat.size == 1:
        return 0
    if not isinstance(flat.stride, int):
        raise Error(f"wgmma reads no matrix whose units of {_UNIT} bytes lie as {mode} in one direction", hints=[_HINT])
    return flat.stride
