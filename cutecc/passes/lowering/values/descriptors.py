"""TMA descriptors, built on the host: eight words that say what tensor it is, and which box of it one copy moves.

`cutecc.emulator.tensor_map` has the layout. The other eight words are the driver's own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cutecc.errors import Error
from cutecc.ir.mlir import arith, ir, nvvm
from cutecc.ir.structs import with_member
from cutecc.ir.types import CopyAtom, Scalar
from cutecc.ir.types.values import Element
from cutecc.layout import ComposedLayout, Layout, Swizzle, Symbolic, coalesce, join
from cutecc.layout.basis import Basis
from cutecc.layout.integers import Integer, add, multiply
from cutecc.layout.tuples import leaves
from cutecc.passes.lowering.values.integers import (
    Predicate,
    compare,
    constant,
    poison,
    resize,
    word,
)
from cutecc.passes.lowering.values.pointers import integer_address
from cutecc.passes.lowering.values.vector_accesses import Tensor

DESCRIPTOR = "!llvm.struct<(array<16 x i64>)>"
"""LLVM's type of one."""
WORDS = 8
"""Of 64 bits, of one, that are used."""
_MADE_BY_CUTE = 2
_BY_128_BYTES = 2
"""How L2 fetches what is read."""
_LARGE = 1 << 17
"""Bytes of a tensor from which on bit 21 of the second word is set."""
_WORD = 32
UNIT = 16
"""Bytes, that strides and rows of boxes are multiples of."""
_MOST_MODES = 5
_MOST_SWIZZLED = 3
"""Bits that a swizzle flips at most, in rows of 128 bytes; with fewer bits, of half as many."""
_FORMATS = {
    "U8": 0,
    "U16": 1,
    "U32": 2,
    "S32": 3,
    "U64": 4,
    "S64": 5,
    "F16_RN": 6,
    "F32_RN": 7,
    "F32_FTZ_RN": 8,
    "F64_RN": 9,
    "BF16_RN": 10,
    "TF32_RN": 7 | 1 << 9,
    "TF32_FTZ_RN": 8 | 1 << 9,
}
"""The bits from the seventh on: the type of an element, and nine above it whether it is rounded to tf32."""

_REDUCED = {"f16": "F16_RN", "bf16": "BF16_RN", "f32": "F32_RN", "f64": "F64_RN"}
"""By the element that a reduction adds: the format."""


@dataclass(frozen=True)
class Mode:
    """One mode of the tensor as TMA sees it, the innermost first."""

    size: ir.Value
    """Numbers of the atom's format, which a tensor's element may have several of; an `i64`."""
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
    basis = atom.parameters["tma_gbasis"]
    bits = _bits(atom.parameters["tma_format"])
    shares = iter(_shares([int(size) for size in leaves(basis.shape)], blocks))
    found: list[Mode] = []
    for index, parts in enumerate(_parts(atom, tensor)):
        size, step = _whole(parts)
        box = [next(shares) for _ in parts]
        _check_follow(parts, box, step)
        if index == 0 and isinstance(step, int) and step != 1 and math.prod(box) > 1:
            raise Error(f"the innermost mode for TMA, {size}:{step}, is not contiguous in global memory")
        if index and size != 1 and isinstance(step, int) and step * tensor.element.bits % (8 * UNIT):
            apart = step * tensor.element.bits // 8
            raise Error(f"steps along a mode for TMA, {size}:{step}, are {apart} bytes, no multiple of {UNIT}")
        stride = None if index == 0 else _bytes(tensor, step)
        name = _name(list(leaves(atom.parameters["tma_gbasis"][index].stride)))
        wide = _wide(tensor, size)
        if index == 0 and bits < tensor.element.bits:
            # It counts numbers of the format, as boxes and coordinates do.
            wide = arith.muli(wide, constant(tensor.element.bits // bits, 64))
        found.append(Mode(wide, stride, math.prod(box), step, name))
    return found


def steps(atom: CopyAtom, tensor: Tensor, coordinates: Layout) -> list[ir.Value]:
    """How far a step along a mode of `tensor` leads in the coordinates of TMA, where the type does not say it.

    So it is where a mode for TMA is made of several of the tensor, or where the innermost is of an unknown stride.
    """
    wholes = [_whole(parts) for parts in _parts(atom, tensor)]
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


def _parts(atom: CopyAtom, tensor: Tensor) -> list[list[Layout]]:
    """Of each mode that TMA sees, the innermost first, the modes of the tensor that it is made of."""
    basis = atom.parameters["tma_gbasis"]
    layout = tensor.layout
    if not isinstance(layout, Layout):
        raise Error(f"a tensor of the swizzled layout {layout} in global memory cannot be copied by TMA")
    if len(basis) > _MOST_MODES:
        raise Error(f"the tensor has {len(basis)} modes for TMA, and a descriptor has at most {_MOST_MODES}")
    return [[_part(layout, step) for step in leaves(basis[index].stride)] for index in range(len(basis))]


def _name(steps: Sequence[Basis]) -> str:
    """The modes of a tensor that steps along one mode for TMA are along, such as `mode 0` or `modes 0 and 1`."""
    paths = [".".join(map(str, step.path)) for step in steps]
    return f"mode {paths[0]}" if len(paths) == 1 else f"modes {', '.join(paths[:-1])} and {paths[-1]}"


def _bits(name: str) -> int:
    """Of a number of a format, which has them in its name."""
    return int("".join(filter(str.isdigit, name)))


def _format(atom: CopyAtom, element: Element) -> str:
    """What TMA takes a tensor's numbers for: the atom says it, and of a reduction, which adds them, the element.

    So the wheel has it, where the kernel asks for another type in the place of the element's. Raises `Error`.
    """
    name = atom.parameters["tma_format"]
    if name not in _FORMATS:
        raise Error(f"TMA on sm_90 has no elements of format {name}")
    if not isinstance(element, Scalar) or "reduce" not in atom.kind:
        return name
    own = _REDUCED.get(element.name)
    if _bits(name) != element.bits or (own is None and name[0] not in "US"):
        raise Error(f"TMA reduces no {element} as {name}")
    return name if own is None or name.startswith(own.removesuffix("RN")) else own


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


def _shares(box: list[int], blocks: int) -> list[int]:
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


def descriptor(atom: CopyAtom, tensor: Tensor, found: Sequence[Mode], shared: Layout | ComposedLayout) -> ir.Value:
    """The descriptor of `tensor`, of modes `found`, for boxes that lie in shared memory as `shared` says.

    It is of type `DESCRIPTOR`.

    Raises `Error` for what TMA cannot copy.
    """
    name = _format(atom, tensor.element)
    swizzle = shared.inner if isinstance(shared, ComposedLayout) else Swizzle(0, 4, 3)
    if not isinstance(swizzle, Swizzle) or (swizzle.base, swizzle.shift) != (4, 3) or swizzle.bits > _MOST_SWIZZLED:
        raise Error(f"TMA cannot write the swizzle of {shared}")
    bits = _bits(name)
    _check_boxes(found, bits, swizzle)
    sizes = [mode.size for mode in found]
    strides = [mode.stride for mode in found[1:] if mode.stride is not None]
    kind = _MADE_BY_CUTE | (len(found) - 1) << 4 | _FORMATS[name] << 7 | swizzle.bits << 13 | _BY_128_BYTES << 17
    boxes = [mode.box - 1 for mode in found] + [0] * (_MOST_MODES - len(found))
    words = [
        # What a pointer has below 16 bytes, TMA does not see.
        arith.andi(integer_address(tensor.pointer, 64), constant(-16, 64)),
        _or([constant(kind, 64), _shifted(_is_large(bits, sizes, strides), 21), *_low(strides[:1], 32)]),
        _or([*_low(strides[1:2], 0), *_low(strides[2:3], 32)]),
        _or([*_low(strides[3:4], 0), *(_high(stride, _WORD + 4 * at) for at, stride in enumerate(strides))]),
        _or([_last(size, _WORD * at) for at, size in enumerate(sizes[:2])]),
        _or([_last(size, _WORD * at) for at, size in enumerate(sizes[2:4])]),
        _or([*(_last(size, 0) for size in sizes[4:]), word(boxes[0] << 56)]),
        constant(sum(box << 8 * at for at, box in enumerate(boxes[1:])), 64),
    ]
    return _joined(words)


def replace_tensor(pointer: ir.Value, tensor: Tensor, found: Sequence[Mode]) -> None:
    """`tensormap.replace`: have a descriptor in memory describe another tensor, with modes `found`.

    All that is left of five modes are of one element.
    """

    def field(name: str, value: ir.Value, order: int | None = None) -> None:
        which = ir.Attribute.parse(f"#nvvm<tensormap_field {name}>")
        nvvm.tensormap_replace(which, pointer, new_value=value, ord=order)

    field("global_address", integer_address(tensor.pointer, 64))
    for index in range(_MOST_MODES):
        mode = found[index] if index < len(found) else None
        size = resize(mode.size, 32) if mode is not None else constant(1, 32)
        field("global_dim", size, index)
        if index:
            stride = mode.stride if mode is not None else None
            field("global_stride", constant(0, 64) if stride is None else stride, index - 1)


def _check_boxes(found: Sequence[Mode], bits: int, swizzle: Swizzle) -> None:
    boxes = "×".join(str(mode.box) for mode in found)
    if any(not 1 <= mode.box <= 256 for mode in found):
        raise Error(f"a TMA box has at most 256 elements along a mode, not {boxes}")
    row = found[0].box * bits // 8
    if row % UNIT:
        raise Error(f"the rows of the TMA box {boxes} have {row} bytes, no multiple of {UNIT}")
    if swizzle.bits and row > 16 << swizzle.bits:
        raise Error(f"the rows of the TMA box {boxes} have {row} bytes, more than its swizzle of {16 << swizzle.bits}")


def _is_large(bits: int, sizes: Sequence[ir.Value], strides: Sequence[ir.Value]) -> ir.Value:
    end = arith.divui(arith.muli(sizes[0], constant(bits, 64)), constant(8, 64))
    for size, stride in zip(sizes[1:], strides, strict=True):
        end = arith.addi(end, arith.muli(_less_one(size), stride))
    large = compare(Predicate.ABOVE, end, constant(_LARGE - 1, 64))
    return arith.extui(ir.IntegerType.get_signless(64), large)


def _less_one(size: ir.Value) -> ir.Value:
    return arith.subi(size, constant(1, 64))


def _last(size: ir.Value, position: int) -> ir.Value:
    """The last index along a mode, 32 bits of it, at a bit of a word."""
    return _shifted(arith.andi(_less_one(size), constant((1 << _WORD) - 1, 64)), position)


def _low(strides: Sequence[ir.Value], position: int) -> list[ir.Value]:
    """Of strides, which are multiples of 16 bytes, the lowest 32 bits behind those."""
    sixteenths = [arith.divui(stride, constant(UNIT, 64)) for stride in strides]
    mask = constant((1 << _WORD) - 1, 64)
    return [_shifted(arith.andi(each, mask), position) for each in sixteenths]


def _high(stride: ir.Value, position: int) -> ir.Value:
    """The four bits above these."""
    above = arith.shrui(stride, constant(_WORD + 4, 64))
    return _shifted(arith.andi(above, constant(15, 64)), position)


def _shifted(value: ir.Value, position: int) -> ir.Value:
    return arith.shli(value, constant(position, 64)) if position else value


def _or(values: Sequence[ir.Value]) -> ir.Value:
    if not values:
        return constant(0, 64)
    found, *others = values
    for other in others:
        found = arith.ori(found, other)
    return found


def _joined(words: Sequence[ir.Value]) -> ir.Value:
    type = ir.Type.parse(DESCRIPTOR)
    zeros = [constant(0, 64)] * (16 - len(words))
    found = poison(type)
    for index, value in enumerate([*words, *zeros]):
        found = with_member(found, value, 0, index)
    return found
