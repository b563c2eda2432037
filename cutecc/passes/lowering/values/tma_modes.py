"""What TMA sees a tensor as: modes with a size, a step in bytes, and what one copy takes of them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cutecc.errors import Error
from cutecc.ir.mlir import arith, ir
from cutecc.ir.types import CopyAtom
from cutecc.layout import Layout, Symbolic, coalesce, join
from cutecc.layout.basis import Basis
from cutecc.layout.integers import Integer, add, multiply
from cutecc.layout.tuples import leaves
from cutecc.layout.tuples import modes as as_modes
from cutecc.passes.lowering.values.integers import constant
from cutecc.passes.lowering.values.vector_accesses import Tensor

UNIT = 16
"""Bytes, that strides and rows of boxes are multiples of."""
MOST_MODES = 5


@dataclass(frozen=True)
class Mode:
    """One mode of the tensor as TMA sees it, the innermost first."""

    size: ir.Value
    """Numbers of the atom's format, of which an element may have several, or one several elements; an `i64`."""
    stride: ir.Value | None
    """Bytes, an `i64`; `None` for the innermost, whose elements lie side by side."""
    box: int
    """Such numbers that one copy moves."""
    step: Integer
    """What the type says of the stride, in elements."""
    name: str
    """Which modes of the tensor it is, for messages."""


def modes(atom: CopyAtom, tensor: Tensor, blocks: int) -> list[Mode]:
    """How TMA sees `tensor`, which lies in global memory; `blocks` of a cluster load a share of each box.

    Raises `Error` for what TMA cannot copy.
    """
    shares = iter(shares_of([int(size) for size in leaves(atom.parameters["tma_gbasis"].shape)], blocks))
    along = _along(atom)
    return _modes(atom, tensor, along, [[next(shares) for _ in steps] for steps in along])


def pixel_modes(atom: CopyAtom, tensor: Tensor, box: int) -> list[Mode]:
    """How TMA sees the images of a convolution: `box` channels of one pixel are what a copy takes at once.

    Raises `Error` for what TMA cannot copy.
    """
    channel, pixel = image_steps(atom)
    shape = tensor.layout.shape
    for each in pixel.path:
        shape = as_modes(shape)[each]
    along = [[channel], *([Basis(1, (*pixel.path, mode))] for mode in range(len(as_modes(shape))))]
    return _modes(atom, tensor, along, [[box], *([1] for _ in along[1:])])


def image_steps(atom: CopyAtom) -> tuple[Basis, Basis]:
    """Steps along the channels, and along the pixels, of images that copies walk pixel by pixel.

    Raises `Error` where the atom says others.
    """
    basis = atom.parameters["tma_gbasis"]
    match basis.stride:
        case (Basis() as channel, Basis() as pixel):
            return channel, pixel
        case _:
            raise Error(f"the open lowering does not know the modes {basis} of images for TMA yet")


def _modes(
    atom: CopyAtom, tensor: Tensor, along: Sequence[Sequence[Basis]], boxes: Sequence[Sequence[int]]
) -> list[Mode]:
    """The modes for TMA, each by the modes of the tensor that it is along, and what one copy takes of those."""
    number = format_bits(atom.parameters["tma_format"])
    found: list[Mode] = []
    for index, (parts, steps, box) in enumerate(zip(_parts(tensor, along), along, boxes, strict=True)):
        size, step = _whole(parts)
        whole = f"{size}:{step}"
        if index:
            _check_follow(parts, box, step)
            if size != 1 and isinstance(step, int) and step * tensor.element.bits % (8 * UNIT):
                apart = step * tensor.element.bits // 8
                raise Error(f"steps along a mode for TMA, {whole}, are {apart} bytes, no multiple of {UNIT}")
            stride, wide = _bytes(tensor, step), _wide(tensor, size)
        else:
            packed = _packed(size, step, number, tensor.element.bits, whole if math.prod(box) > 1 else None)
            _check_follow(parts, [box[0] * packed, *box[1:]], step)
            stride, wide = None, _counted(_wide(tensor, size), packed, number, tensor.element.bits)
        found.append(Mode(wide, stride, math.prod(box), step, _name(steps)))
    return found


def _packed(size: Integer, step: Integer, number: int, bits: int, whole: str | None) -> int:
    """How many steps along the innermost mode, the `whole` of which a box has several numbers of, a number has.

    Raises `Error` where the numbers do not lie side by side, and where the last is a part of one.
    """
    packed = _steps_in_a_number(step, number, bits)
    # Of a step that only the caller knows it is asserted that it is 1: a number is one element then, or a part.
    if packed is None and (isinstance(step, int) or number > bits) and whole is not None:
        raise Error(f"the innermost mode for TMA, {whole}, is not contiguous in global memory")
    if packed and isinstance(size, int) and size % packed:
        raise Error(f"{size} elements along the innermost mode for TMA are no whole numbers of {packed} each")
    return packed or 1


def _counted(size: ir.Value, packed: int, number: int, bits: int) -> ir.Value:
    """A size in numbers of the format, as boxes and coordinates count."""
    found = arith.divui(size, constant(packed, 64)) if packed > 1 else size
    return arith.muli(found, constant(bits // number, 64)) if bits > number else found


def steps(atom: CopyAtom, tensor: Tensor, coordinates: Layout) -> list[ir.Value]:
    """How far a step along a mode of `tensor` leads in the coordinates of TMA, where the type does not say it.

    So it is where a mode for TMA is made of several of the tensor, or where the innermost is of an unknown stride.
    """
    wholes = [_whole(parts) for parts in _parts(tensor, _along(atom))]
    assert isinstance(tensor.layout, Layout)
    found: list[ir.Value] = []
    for step, stride in zip(leaves(coordinates.stride), leaves(tensor.layout.stride), strict=True):
        if not isinstance(step, Basis) or not isinstance(step.value, Symbolic):
            continue
        unit = wholes[step.path[0]][1] if step.path != (0,) else 1
        if isinstance(stride, int) and isinstance(unit, int):
            found.append(constant(stride // unit, step.value.width))
        elif isinstance(stride, Symbolic) and unit == 1:
            found.append(tensor.arithmetic.value(stride, step.value.width))
        else:
            raise Error(f"the open lowering does not know the step {step} of coordinates for TMA yet")
    return found


def _along(atom: CopyAtom) -> list[list[Basis]]:
    """Of each mode that TMA sees, the innermost first, the steps along modes of the tensor that it is made of."""
    basis = atom.parameters["tma_gbasis"]
    return [list(leaves(basis[index].stride)) for index in range(len(basis))]


def _parts(tensor: Tensor, along: Sequence[Sequence[Basis]]) -> list[list[Layout]]:
    """Of each mode that TMA sees the modes of the tensor that steps are along."""
    layout = tensor.layout
    if not isinstance(layout, Layout):
        raise Error(f"a tensor of the swizzled layout {layout} in global memory cannot be copied by TMA")
    if len(along) > MOST_MODES:
        raise Error(f"the tensor has {len(along)} modes for TMA, and a descriptor has at most {MOST_MODES}")
    return [[_part(layout, step) for step in steps] for steps in along]


def _name(steps: Sequence[Basis]) -> str:
    """The modes of a tensor that steps along one mode for TMA are along, such as `mode 0` or `modes 0 and 1`."""
    paths = [".".join(map(str, step.path)) for step in steps]
    return f"mode {paths[0]}" if len(paths) == 1 else f"modes {', '.join(paths[:-1])} and {paths[-1]}"


def format_bits(name: str) -> int:
    """Of a number of a format in global memory, which has them in its name."""
    found = re.match(r"[A-Z]+(\d+)", name)
    assert found is not None
    return int(found[1])


def _steps_in_a_number(step: Integer, number: int, bits: int) -> int | None:
    """How many steps of elements of `bits` a number has: 1 where that is one element, or a part of one.

    `None` where it has other elements between, or it is not known. Elements that the tensor's other modes have inside
    of a step are in the number too.
    """
    if step == 1 and number <= bits:
        return 1
    return number // (step * bits) if isinstance(step, int) and step > 0 and not number % (step * bits) else None


def _whole(parts: Sequence[Layout]) -> tuple[Integer, Integer]:
    """Size and stride, in elements, of the mode for TMA that reaches all that modes of the tensor reach."""
    whole = coalesce(join(*parts)) if len(parts) > 1 else parts[0]
    if isinstance(whole.stride, int | Symbolic):
        return whole.size, whole.stride
    found: list[tuple[Integer, int]] = []
    for part in parts:
        if not isinstance(part.stride, int):
            raise Error(f"the open lowering does not know one mode for TMA of several, {join(*parts)}, yet")
        found.append((part.size, part.stride))
    unit = math.gcd(*(stride for _, stride in found))
    # Every coordinate up to that of the last element, of those between which no element lies too.
    last: Integer = 0
    for size, stride in found:
        last = add(last, multiply(add(size, -1), stride // unit))
    return add(last, 1), unit


def _check_follow(parts: Sequence[Layout], box: Sequence[int], unit: Integer) -> None:
    """Raise `Error` where the elements of a box along one mode for TMA do not follow each other."""
    reached = 1
    for part, size in zip(parts, box, strict=True):
        if size > 1 and len(parts) > 1 and (not isinstance(unit, int) or part.stride != unit * reached):
            raise Error(
                f"a box of {'×'.join(map(str, box))} elements of the modes {join(*parts)}, which are one mode to TMA: "
                "its elements do not follow each other"
            )
        reached *= size


def shares_of(box: list[int], blocks: int) -> list[int]:
    """A box that so many blocks load together, the outermost modes divided among them."""
    shares = list(box)
    for mode in reversed(range(len(shares))):
        size = shares[mode]
        shares[mode] = -(-size // blocks)
        blocks = -(-blocks // size)
    return shares


def _part(layout: Layout, step: Any) -> Layout:
    """The mode of a tensor along which TMA counts when it steps by `step`."""
    if not isinstance(step, Basis) or step.value != 1:
        raise Error(f"the open lowering does not know the step {step} of a TMA box yet")
    for each in step.path:
        layout = layout[each]
    if isinstance(layout.shape, tuple):
        raise Error(f"a mode for TMA is made of several modes of the tensor, {layout}")
    return layout


def _wide(tensor: Tensor, number: Integer) -> ir.Value:
    return tensor.arithmetic.value(number, 64)


def _bytes(tensor: Tensor, stride: Integer) -> ir.Value:
    bits = arith.muli(_wide(tensor, stride), constant(tensor.element.bits, 64))
    return arith.divui(bits, constant(8, 64))
