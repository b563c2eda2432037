"""TMA descriptors, built on the host: eight words that say what tensor it is, and which box of it one copy moves.

`cutecc.emulator.tensor_map` has the layout. The other eight words are the driver's own.
"""

from __future__ import annotations

from collections.abc import Sequence

from cutecc.errors import Error
from cutecc.ir.mlir import arith, ir, nvvm
from cutecc.ir.structs import with_member
from cutecc.ir.types import CopyAtom, Scalar
from cutecc.ir.types.values import Element
from cutecc.layout import ComposedLayout, Layout, Swizzle
from cutecc.passes.lowering.values.integers import (
    Predicate,
    compare,
    constant,
    poison,
    resize,
    word,
)
from cutecc.passes.lowering.values.leaves import DESCRIPTOR
from cutecc.passes.lowering.values.pointers import integer_address
from cutecc.passes.lowering.values.tma_modes import MOST_MODES, UNIT, Mode, format_bits
from cutecc.passes.lowering.values.vector_accesses import Tensor

WORDS = 8
"""Of 64 bits, of one, that are used."""
_IM2COL = 1
_MADE_BY_CUTE = 2
_BY_128_BYTES = 2
"""How L2 fetches what is read."""
_LARGE = 1 << 17
"""Bytes of a tensor from which on bit 21 of the second word is set."""
_WORD = 32
_SWIZZLES = {**{Swizzle(bits, 4, 3): bits for bits in range(4)}, Swizzle(2, 5, 2): 3 | 1 << 6}
"""The bits from the thirteenth on: how long rows are, and six above it what stays together, 16 bytes or 32."""
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
    **{"U4": 11, "U4_UNPACK_U8": 12, "U6_UNPACK_U8": 13},
}
"""The bits from the seventh on: the type of an element, and nine above it whether it is rounded to tf32."""

_REDUCED = {"f16": "F16_RN", "bf16": "BF16_RN", "f32": "F32_RN", "f64": "F64_RN"}
"""By the element that a reduction adds: the format."""


def descriptor(atom: CopyAtom, tensor: Tensor, found: Sequence[Mode], shared: Layout | ComposedLayout) -> ir.Value:
    """The descriptor of `tensor`, of modes `found`, for boxes that lie in shared memory as `shared` says.

    It is of type `DESCRIPTOR`.

    Raises `Error` for what TMA cannot copy.
    """
    words = tensor_words(atom, tensor, found, shared)
    return joined([*words, constant(sum(mode.box - 1 << 8 * at for at, mode in enumerate(found[1:])), 64)])


def tensor_words(
    atom: CopyAtom,
    tensor: Tensor,
    found: Sequence[Mode],
    shared: Layout | ComposedLayout,
    steps: Sequence[ir.Value] | None = None,
) -> list[ir.Value]:
    """All words of a descriptor but the last; for im2col the `steps` from element to element, of each mode, are `i64`s.

    Raises `Error` for what TMA cannot copy.
    """
    name = _format(atom, tensor.element)
    swizzle = shared.inner if isinstance(shared, ComposedLayout) else Swizzle(0, 4, 3)
    if not isinstance(swizzle, Swizzle) or swizzle not in _SWIZZLES:
        raise Error(f"TMA cannot write the swizzle of {shared}")
    bits = format_bits(name)
    _check_boxes(found, bits, swizzle)
    sizes = [mode.size for mode in found]
    strides = [mode.stride for mode in found[1:] if mode.stride is not None]
    kind = _MADE_BY_CUTE | (len(found) - 1) << 4 | _FORMATS[name] << 7 | _SWIZZLES[swizzle] << 13 | _BY_128_BYTES << 17
    kind |= 0 if steps is None else _IM2COL
    apart = [shifted(_less_one(step), _WORD + 3 * at) for at, step in enumerate(steps or ())]
    return [
        # What a pointer has below 16 bytes, TMA does not see.
        arith.andi(integer_address(tensor.pointer, 64), constant(-16, 64)),
        either([constant(kind, 64), shifted(_is_large(bits, sizes, strides), 21), *_low(strides[:1], 32)]),
        either([*_low(strides[1:2], 0), *_low(strides[2:3], 32)]),
        either([*_low(strides[3:4], 0), *(_high(stride, _WORD + 4 * at) for at, stride in enumerate(strides))]),
        either([_last(size, _WORD * at) for at, size in enumerate(sizes[:2])]),
        either([_last(size, _WORD * at) for at, size in enumerate(sizes[2:4])]),
        either([*(_last(size, 0) for size in sizes[4:]), *apart, word(found[0].box - 1 << 56)]),
    ]


def replace_tensor(pointer: ir.Value, tensor: Tensor, found: Sequence[Mode]) -> None:
    """`tensormap.replace`: have a descriptor in memory describe another tensor, with modes `found`.

    All that is left of five modes are of one element.
    """

    def field(name: str, value: ir.Value, order: int | None = None) -> None:
        which = ir.Attribute.parse(f"#nvvm<tensormap_field {name}>")
        nvvm.tensormap_replace(which, pointer, new_value=value, ord=order)

    field("global_address", integer_address(tensor.pointer, 64))
    for index in range(MOST_MODES):
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
    if swizzle.bits and row > (width := 1 << swizzle.base + swizzle.bits):
        raise Error(f"the rows of the TMA box {boxes} have {row} bytes, more than its swizzle of {width}")


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
    return shifted(arith.andi(_less_one(size), constant((1 << _WORD) - 1, 64)), position)


def _low(strides: Sequence[ir.Value], position: int) -> list[ir.Value]:
    """Of strides, which are multiples of 16 bytes, the lowest 32 bits behind those."""
    sixteenths = [arith.divui(stride, constant(UNIT, 64)) for stride in strides]
    mask = constant((1 << _WORD) - 1, 64)
    return [shifted(arith.andi(each, mask), position) for each in sixteenths]


def _high(stride: ir.Value, position: int) -> ir.Value:
    """The four bits above these."""
    above = arith.shrui(stride, constant(_WORD + 4, 64))
    return shifted(arith.andi(above, constant(15, 64)), position)


def shifted(value: ir.Value, position: int) -> ir.Value:
    """A word with `value` from a bit on."""
    return arith.shli(value, constant(position, 64)) if position else value


def either(values: Sequence[ir.Value]) -> ir.Value:
    """A word with the bits of all of these."""
    if not values:
        return constant(0, 64)
    found, *others = values
    for other in others:
        found = arith.ori(found, other)
    return found


def joined(words: Sequence[ir.Value]) -> ir.Value:
    """The descriptor of eight words."""
    type = ir.Type.parse(DESCRIPTOR)
    zeros = [constant(0, 64)] * (16 - len(words))
    found = poison(type)
    for index, value in enumerate([*words, *zeros]):
        found = with_member(found, value, 0, index)
    return found


def _format(atom: CopyAtom, element: Element) -> str:
    """What TMA takes a tensor's numbers for: the atom says it, and of a reduction, which adds them, the element.

    So the wheel has it, where the kernel asks for another type in the place of the element's. Raises `Error`.
    """
    name = atom.parameters["tma_format"]
    if not isinstance(element, Scalar) or "reduce" not in atom.kind:
        return name
    own = _REDUCED.get(element.name)
    if format_bits(name) != element.bits or (own is None and name[0] not in "US"):
        raise Error(f"TMA reduces no {element} as {name}")
    return name if own is None or name.startswith(own.removesuffix("RN")) else own
