"""Which bits of an instruction's results are undefined, by those of its operands. See `undefined`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from cutecc.emulator.checks.registers import slots_of
from cutecc.emulator.checks.undefined import Undefined, ones, ones_where
from cutecc.emulator.instructions.form import matrix_types
from cutecc.emulator.instructions.types import DTYPES
from cutecc.emulator.machine.lanes import Array, Lanes, Mask
from cutecc.ptx.syntax import Immediate, Operand, Pair, Register, Vector
from cutecc.ptx.types import TYPE_BITS

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.instructions.table import Step
    from cutecc.emulator.machine.gang import Gang

Shadows = Callable[["Gang", Lanes], "dict[int, Array | None] | None"]
"""Shadows of results, given that an operand is undefined in part; `None` where the result is wholly undefined then."""

_MOVED = {
    **dict.fromkeys(("mov", "shl", "shr", "bfe", "brev", "shfl", "movmatrix"), 1),
    **dict.fromkeys(("shf", "bfi", "prmt"), 2),
}
"""Instructions that move the bits of so many operands, as the others say."""
_LOGIC = {"and", "or", "xor", "not"}
_SUMS = {"add", "sub", "neg", "mul", "mad"}
_WITH_A_NAN = ("f16", "bf16", "tf32", "e4m3", "e5m2", "f32", "f64")
"""Types of which all ones are no number."""
_PACKED = {f"{each}x2": TYPE_BITS[each] for each in ("f16", "bf16", "e4m3", "e5m2")}
"""Types of two elements, and the bits of one."""
_MADE = _PACKED | {"e2m1x2": 4} | dict.fromkeys(("e2m3x2", "e3m2x2", "ue8m0x2", "s2f6x2"), 8)
"""Those that a `cvt` makes of two `f32`."""
_WIDEST = np.dtype(np.uint64)


def shadows_of(
    operation: Operation, step: Step, undefined: Undefined, reads: list[int], results: list[int]
) -> Shadows | None:
    """How to find the shadows of `results`, where any of `reads` is undefined in part; `None` where one spoils all."""
    form, sources = operation.form, operation.operands[1:]
    opcode = form.operation
    moved = 1 if opcode == "cvt" and _are_integers(form.modifiers) else _MOVED.get(opcode, 0)
    if moved:
        return _moving(operation, step, undefined, sources[:moved], sources[moved:], results)
    if opcode == "cvt" and (make := _conversion(operation)):
        return make(operation, undefined, results[0])
    if opcode == "selp":
        return _selecting(operation, undefined, results[0])
    if opcode in _LOGIC and len(results) == 1:
        return _logic(operation, undefined, results[0])
    if opcode in _SUMS and _are_integers(set(form.modifiers) - {"lo"}):
        return _adding(operation, undefined, results[0])
    if opcode == "dp2a":
        return _dot_product(operation, undefined, results[0])
    if opcode in ("mma", "wmma.mma"):
        make = _scaling if form.has("block_scale") else _multiplying
        return make(operation, step, undefined, results)
    bits = next((_PACKED[each] for each in form.modifiers if each in _PACKED), None)
    if bits is not None and opcode not in ("cvt", "setp", "set"):
        return _elementwise(undefined, bits, reads, results)
    return None


def _conversion(operation: Operation) -> Callable[[Operation, Undefined, int], Shadows] | None:
    """How to find what a `cvt` between numbers of two formats, or into several in one register, makes."""
    form, sources = operation.form, operation.operands[1:]
    if len(sources) == 1 and form.type in DTYPES:
        return _converting
    return (
        _packing
        if form.has("pack") or (len(sources) == 2 and form.modifiers[-2] in _MADE and form.type == "f32")
        else None
    )


def _moving(
    operation: Operation,
    step: Step,
    undefined: Undefined,
    moved: tuple[Operand, ...],
    others: tuple[Operand, ...],
    results: list[int],
) -> Shadows | None:
    """By executing the step on shadows. What the other operands say has to be defined."""
    data, rest = _slots(operation, moved), _slots(operation, others)
    if set(data) & set(rest):
        return None
    # What constants make of the result, and the predicate of a shuffle, are not of shadows.
    is_mixed = isinstance(operation.operands[0], Pair) or not all(map(_is_moved_alone, moved))

    def shadows(gang: Gang, lanes: Lanes) -> dict[int, Array | None] | None:
        present = undefined.of(gang).shadows
        if any(slot in present for slot in rest):
            return None
        found = undefined.run(gang, lanes, step, {slot: undefined.shadow(gang, slot) for slot in data}, results)
        if found is None or not is_mixed:
            return None if found is None else {**found}
        zeros = {slot: np.zeros(gang.shape, undefined.width(slot)) for slot in data}
        without = undefined.run(gang, lanes, step, zeros, results)
        return None if without is None else {slot: found[slot] ^ without[slot] for slot in results}

    return shadows


def _is_moved_alone(operand: Operand) -> bool:
    items = operand.items if isinstance(operand, Vector) else (operand,)
    return all(isinstance(each, Register) or each == Immediate("integer", 0) for each in items)


def _converting(operation: Operation, undefined: Undefined, result: int) -> Shadows:
    """Each element by itself; of a wider register the low bits are read."""
    source = operation.form.type
    count = 2 if source in _PACKED else 1
    before, after = (8 * dtype.itemsize // count for dtype in (DTYPES[source], undefined.width(result)))
    elements = [(_low(before) << number * before, _low(after) << number * after) for number in range(count)]

    def shadows(gang: Gang, lanes: Lanes) -> dict[int, Array | None]:
        shadow, dtype = _shadow_of(operation, undefined, gang, operation.operands[1], _WIDEST), undefined.width(result)
        return {result: _union(dtype, [(shadow & _WIDEST.type(read), written) for read, written in elements])}

    return shadows


def _packing(operation: Operation, undefined: Undefined, result: int) -> Shadows:
    """`cvt.f16x2.f32 d, a, b`: a is the upper half; of `cvt.pack`, low bits of a third operand are above both."""
    form = operation.form
    bits = int(form.modifiers[2][1:]) if form.has("pack") else _MADE[form.modifiers[-2]]
    upper, lower, *others = operation.operands[1:]
    elements = [(lower, _low(bits)), (upper, _low(bits) << bits)]

    def shadows(gang: Gang, lanes: Lanes) -> dict[int, Array | None]:
        dtype = undefined.width(result)
        found = _union(
            dtype, [(_shadow_of(operation, undefined, gang, each, _WIDEST), written) for each, written in elements]
        )
        for each in others:
            found = found | (_shadow_of(operation, undefined, gang, each, dtype) << dtype.type(2 * bits))
        return {result: found}

    return shadows


def _union(dtype: np.dtype[Any], elements: Iterable[tuple[Array, int]]) -> Array:
    """Bits of the result, each where a shadow is not 0."""
    found: Array = np.zeros((), dtype)
    for shadow, written in elements:
        found = found | np.where(shadow != 0, np.full((), written, dtype), np.zeros((), dtype))
    return found


def _adding(operation: Operation, undefined: Undefined, result: int) -> Shadows:
    """Bits below all undefined ones of operands are defined: nothing is carried downwards."""
    sources = operation.operands[1:]

    def shadows(gang: Gang, lanes: Lanes) -> dict[int, Array | None]:
        dtype = undefined.width(result)
        found: Array = np.bitwise_or.reduce([_shadow_of(operation, undefined, gang, each, dtype) for each in sources])
        return {result: found | -found}

    return shadows


def _selecting(operation: Operation, undefined: Undefined, result: int) -> Shadows:
    """As the predicate says; all is undefined where that is."""
    first, second, condition = operation.operands[1:]
    read = operation.reader(condition, "pred")
    decides = _slots(operation, [condition])

    def shadows(gang: Gang, lanes: Lanes) -> dict[int, Array | None]:
        dtype = undefined.width(result)
        one, two = [_shadow_of(operation, undefined, gang, each, dtype) for each in (first, second)]
        found = np.where(read(gang), one, two)
        for slot in decides:
            found = np.where(undefined.shadow(gang, slot), ones((), dtype), found)
        return {result: found}

    return shadows


def _logic(operation: Operation, undefined: Undefined, result: int) -> Shadows:
    """A bit is defined that another operand alone decides on: 0 of an `and`, 1 of an `or`."""
    opcode, sources = operation.form.opcode, operation.operands[1:]
    type_ = operation.form.type
    readers = [operation.reader(each, type_) for each in sources]

    def shadows(gang: Gang, lanes: Lanes) -> dict[int, Array | None]:
        dtype = undefined.width(result)
        found = [_shadow_of(operation, undefined, gang, each, dtype) for each in sources]
        if opcode == "not":
            return {result: found[0]}
        one, two = found
        if opcode == "xor":
            return {result: one | two}
        a, b = [read(gang) for read in readers]
        if opcode == "or":
            a, b = ~a, ~b
        return {result: (one & two) | (one & b) | (two & a)}

    return shadows


def _dot_product(operation: Operation, undefined: Undefined, result: int) -> Shadows:
    """`dp2a` reads one half of its second operand."""
    read = np.uint32(0xFFFF if operation.form.has("lo") else 0xFFFF0000)
    dtype = np.dtype(np.uint32)

    def shadows(gang: Gang, lanes: Lanes) -> dict[int, Array | None]:
        a, b, c = [_shadow_of(operation, undefined, gang, each, dtype) for each in operation.operands[1:]]
        return {result: ones_where((a | (b & read) | c) != 0, dtype)}

    return shadows


def _multiplying(operation: Operation, step: Step, undefined: Undefined, results: list[int]) -> Shadows | None:
    """By executing it with numbers that are none in the place of undefined elements, and 0 elsewhere."""
    types = matrix_types(operation.form)
    if operation.form.has("sp") or not all(each in _WITH_A_NAN for each in types):
        return None
    sources = [
        (slot, TYPE_BITS[type_])
        for operand, type_ in zip(operation.operands[1:4], types[1:], strict=True)
        for slot in _slots(operation, [operand])
    ]
    every = _slots(operation, operation.operands[:1])

    def shadows(gang: Gang, lanes: Lanes) -> dict[int, Array | None] | None:
        replaced = {slot: _whole(undefined.shadow(gang, slot), size) for slot, size in sources}
        found = undefined.run(gang, lanes, step, replaced, every)
        return None if found is None else _no_numbers(undefined, found, TYPE_BITS[types[0]], results)

    return shadows


def _scaling(operation: Operation, step: Step, undefined: Undefined, results: list[int]) -> Shadows:
    """Of the scales some bytes of some threads count: as `_multiplying`, of matrices of 0. All else counts whole."""
    *_, of_a, _, of_b, _ = operation.operands
    scales, matrices = _slots(operation, [of_a, of_b]), _slots(operation, operation.operands[1:4])
    others = set(_slots(operation, operation.operands[1:])) - {*scales}
    every = _slots(operation, operation.operands[:1])

    def shadows(gang: Gang, lanes: Lanes) -> dict[int, Array | None] | None:
        if not others.isdisjoint(undefined.of(gang).shadows):
            return None
        replaced = {slot: np.zeros(gang.shape, undefined.width(slot)) for slot in matrices}
        replaced |= {slot: _whole(undefined.shadow(gang, slot), 8) for slot in scales}
        found = undefined.run(gang, lanes, step, replaced, every)
        return None if found is None else _no_numbers(undefined, found, 32, results)

    return shadows


def _no_numbers(
    undefined: Undefined, found: Mapping[int, Array], bits: int, results: list[int]
) -> dict[int, Array | None]:
    """Which floats of so many bits are none."""
    numbers = {slot: np.isnan(np.ascontiguousarray(found[slot]).view(f"f{bits // 8}")) for slot in results}
    return {slot: _spread(each, bits, undefined.width(slot)) for slot, each in numbers.items()}


def _elementwise(undefined: Undefined, bits: int, reads: list[int], results: list[int]) -> Shadows:
    """Each of the packed elements by itself."""

    def shadows(gang: Gang, lanes: Lanes) -> dict[int, Array | None]:
        found = np.bitwise_or.reduce([undefined.shadow(gang, slot).astype(np.uint32) for slot in reads])
        return {slot: _whole(found, bits).astype(undefined.width(slot)) for slot in results}

    return shadows


def _whole(shadow: Array, bits: int) -> Array:
    """Elements that are undefined in part, as a whole."""
    elements = np.ascontiguousarray(shadow).view(f"u{bits // 8}")
    return _spread(elements != 0, bits, shadow.dtype)


def _spread(mask: Mask, bits: int, dtype: np.dtype[Any]) -> Array:
    return ones_where(mask, np.dtype(f"u{bits // 8}")).view(dtype)


def _shadow_of(operation: Operation, undefined: Undefined, gang: Gang, operand: Operand, dtype: np.dtype[Any]) -> Array:
    slots = _slots(operation, [operand])
    return undefined.shadow(gang, slots[0]).astype(dtype) if slots else np.zeros(gang.shape, dtype)


def _low(bits: int) -> int:
    return (1 << bits) - 1


def _are_integers(types: Iterable[str]) -> bool:
    return all(each[:1] in "sub" and each[1:].isdigit() for each in types)


def _slots(operation: Operation, operands: Iterable[Operand]) -> list[int]:
    """The registers in operands, each once."""
    return [*dict.fromkeys(slots_of(operation, operands))]
