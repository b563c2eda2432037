"""How instructions hand undefined bits on, and which make use of them: hooks around steps. See `undefined`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from cutecc.emulator.checks.registers import accumulators_of, slots_of, unproven_reads, uses_of
from cutecc.emulator.checks.undefined import Undefined, ones
from cutecc.emulator.machine.lanes import Array, Lanes, Mask
from cutecc.ptx.syntax import Immediate, Operand, Register, Vector

if TYPE_CHECKING:
    from cutecc.emulator.checks.registers import Use
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.instructions.table import Step
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.program import Program

Hook = Callable[["Gang", Lanes], None]
Hooks = tuple[list[Hook], list[Hook]]
"""What to do before a step and after it."""
Shadows = Callable[["Gang", Lanes], "dict[int, Array | None] | None"]
"""Shadows of results, given that an operand is undefined in part; `None` where the result is wholly undefined then."""

LOADS = {"ld", "ldmatrix"}
STORES = {"st", "stmatrix"}
_ELSEWHERE = {"param", "const", "global"}
"""State spaces of what is always defined."""
_USES = {
    *("atom", "red", "multimem", "cp", "wgmma", "mbarrier", "bar", "barrier", "fence", "membar", "tensormap"),
    *("prefetch", "setmaxnreg", "nanosleep", "griddepcontrol", "trap", "bra", "brx", "ret", "exit"),
}
_IGNORED = {"call"}
_OF_WARP = {"vote", "match", "redux"}
_SHIFTS = {"shl", "shr", "prmt", "shfl"}
"""They move the bits of some operands as the others say."""
_LOGIC = {"and", "or", "xor", "not"}
_NOT_A_NUMBER = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "f32": 32, "f64": 64}
"""Types of which all ones are no number, and their bits."""
_PACKED = {"f16x2": 16, "bf16x2": 16, "e4m3x2": 8, "e5m2x2": 8}
"""Types of two elements, and the bits of one."""


@lru_cache(maxsize=16)
def undefined_registers(program: Program) -> tuple[frozenset[int], frozenset[int]]:
    """The registers that may be read before they are written, and all that may come to hold undefined bits."""
    unwritten = frozenset(slot for slots in unproven_reads(program).values() for slot in slots)
    found = set(unwritten)
    uses = uses_of(program)
    for operation, use in zip(program.operations, uses, strict=True):
        if operation.form.opcode in LOADS and not _ELSEWHERE.intersection(operation.form.modifiers):
            found |= use.writes
    before = -1
    while before != len(found):
        before = len(found)
        for operation, use in zip(program.operations, uses, strict=True):
            if operation.form.opcode not in LOADS | _USES and not use.reads.isdisjoint(found):
                found |= use.writes
    return unwritten, frozenset(found)


def hooks(operation: Operation, step: Step, use: Use, undefined: Undefined, maybe: frozenset[int]) -> Hooks:
    """What to do around a step for undefined values; `maybe` are the registers that may have undefined bits."""
    form = operation.form
    opcode = form.opcode
    if opcode in LOADS:
        return _load(operation, use, undefined, maybe)
    if opcode in STORES:
        return _store(operation, step, undefined, maybe)
    reads = sorted(use.reads & maybe)
    results = sorted(use.writes & maybe)
    if opcode in _USES or opcode in _IGNORED or not (use.writes or opcode in _OF_WARP):
        before = [_using(operation, undefined, reads)] if reads and opcode not in _IGNORED else []
        added = sorted(accumulators_of(operation) & maybe)
        if added:
            before.append(_accumulating(operation, undefined, added))
        return before, [_clearing(undefined, results)] if results else []
    if not results:
        return [], []
    return [_computing(operation, step, undefined, reads, results)], []


def guard_hook(operation: Operation, undefined: Undefined, maybe: frozenset[int]) -> Hook | None:
    """Who has a guard that is undefined uses it."""
    guard = operation.instruction.guard
    slot = -1 if guard is None else operation.scope.slot(guard.register.name)
    return _using(operation, undefined, [slot]) if slot in maybe else None


# Memory.


def _load(operation: Operation, use: Use, undefined: Undefined, maybe: frozenset[int]) -> Hooks:
    addresses = sorted(use.reads & maybe)
    before = [_using(operation, undefined, addresses)] if addresses else []
    results = sorted(use.writes)
    if _ELSEWHERE.intersection(operation.form.modifiers):
        results = [slot for slot in results if slot in maybe]
        return before, [_clearing(undefined, results)] if results else []
    return [*before, _accessing(undefined)], [lambda gang, lanes: undefined.loaded(gang, lanes, results)]


def _store(operation: Operation, step: Step, undefined: Undefined, maybe: frozenset[int]) -> Hooks:
    address, value = operation.operands[:2]
    bases, slots = _slots(operation, [address], maybe), _slots(operation, [value], maybe)
    before = [_using(operation, undefined, bases)] if bases else []
    if not slots:
        return before, []
    every = sorted(slots_of(operation, [value]))
    after: Hook = lambda gang, lanes: undefined.stored(gang, lanes, operation, step, slots, every)  # noqa: E731
    return [*before, _accessing(undefined)], [after]


def _accessing(undefined: Undefined) -> Hook:
    return lambda gang, lanes: undefined.begin(gang, lanes)


# Uses.


def _using(operation: Operation, undefined: Undefined, slots: Iterable[int]) -> Hook:
    return lambda gang, lanes: undefined.used(gang, slots, lanes.mask, operation)


def _accumulating(operation: Operation, undefined: Undefined, slots: Iterable[int]) -> Hook:
    """`scale-d`, behind D, A and B and of a sparse A its metadata and selector, says whether D is added to."""
    adds = operation.reader(operation.operands[5 if operation.form.has("sp") else 3], "pred")
    return lambda gang, lanes: undefined.used(gang, slots, lanes.mask & adds(gang), operation)


def _clearing(undefined: Undefined, slots: Iterable[int]) -> Hook:
    def hook(gang: Gang, lanes: Lanes) -> None:
        for slot in slots:
            undefined.assign(gang, slot, lanes.mask, None, None)

    return hook


# Results.


def _computing(operation: Operation, step: Step, undefined: Undefined, reads: list[int], results: list[int]) -> Hook:
    """Before the step, as it may write its own operands."""
    shadows = _shadows(operation, step, undefined, reads, results)
    nothing: dict[int, Array | None] = dict.fromkeys(results)
    of_warp = operation.form.opcode in _OF_WARP or operation.form.opcode == "mma"

    def hook(gang: Gang, lanes: Lanes) -> None:
        present = undefined.of(gang).shadows
        if not present:
            return
        found = None
        if shadows is not None and any(slot in present for slot in reads):
            found = shadows(gang, lanes)
        undefined.computed(gang, lanes, operation, reads, nothing if found is None else found, of_warp)

    return hook


def _shadows(
    operation: Operation, step: Step, undefined: Undefined, reads: list[int], results: list[int]
) -> Shadows | None:
    form, operands = operation.form, operation.operands
    opcode, sources = form.opcode, operands[1:]
    if opcode == "mov" and all(_only_registers(each) for each in sources):
        return _moving(operation, step, undefined, reads, [], results)
    if opcode in _SHIFTS:
        moved = sources[:2] if opcode == "prmt" else sources[:1]
        if all(isinstance(each, Register) or each == Immediate("integer", 0) for each in moved):
            data = _slots(operation, moved, None)
            rest = [slot for slot in _slots(operation, sources[len(moved) :], None) if slot in reads]
            return None if set(rest) & set(data) else _moving(operation, step, undefined, data, rest, results)
    if opcode == "movmatrix":
        return _moving(operation, step, undefined, reads, [], results)
    if opcode == "cvt" and all(each[:1] in "sub" and each[1:].isdigit() for each in form.modifiers):
        return _moving(operation, step, undefined, reads, [], results)
    if opcode == "cvt" and len(sources) == 2 and form.modifiers[-2] in _PACKED:
        return _packing(operation, undefined, _PACKED[form.modifiers[-2]], results[0])
    if opcode == "selp":
        return _selecting(operation, undefined, results[0])
    if opcode in _LOGIC and len(results) == 1:
        return _logic(operation, undefined, results[0])
    if opcode == "dp2a":
        return _dot_product(operation, undefined, results[0])
    if opcode == "mma":
        return _multiplying(operation, step, undefined, results)
    if any(each in _PACKED for each in form.modifiers) and opcode not in ("cvt", "setp", "set"):
        bits = next(_PACKED[each] for each in form.modifiers if each in _PACKED)
        return _elementwise(undefined, bits, reads, results)
    return None


def _moving(
    operation: Operation, step: Step, undefined: Undefined, data: list[int], rest: list[int], results: list[int]
) -> Shadows:
    """By executing the step on shadows. What the other operands say has to be defined."""

    def shadows(gang: Gang, lanes: Lanes) -> dict[int, Array | None] | None:
        values = undefined.of(gang)
        if any(slot in values.shadows for slot in rest):
            return None
        replaced = {slot: undefined.shadow(gang, slot) for slot in data}
        found = undefined.run(gang, lanes, step, replaced, results)
        return None if found is None else {**found}

    return shadows


def _packing(operation: Operation, undefined: Undefined, bits: int, result: int) -> Shadows:
    """`cvt.f16x2.f32 d, a, b`: a is the upper half."""
    upper, lower = [_slots(operation, [each], None) for each in operation.operands[1:]]
    mask = (1 << bits) - 1

    def shadows(gang: Gang, lanes: Lanes) -> dict[int, Array | None]:
        high, low = [
            np.logical_or.reduce([undefined.shadow(gang, slot) != 0 for slot in slots] or [np.zeros(gang.shape, bool)])
            for slots in (upper, lower)
        ]
        dtype = undefined.width(result)
        return {result: np.where(high, dtype.type(mask << bits), 0).astype(dtype) | np.where(low, dtype.type(mask), 0)}

    return shadows


def _selecting(operation: Operation, undefined: Undefined, result: int) -> Shadows:
    """As the predicate says; all is undefined where that is."""
    first, second, condition = operation.operands[1:]
    read = operation.reader(condition, "pred")
    decides = _slots(operation, [condition], None)

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
        return {result: np.where((a | (b & read) | c) != 0, ones((), dtype), np.zeros((), dtype))}

    return shadows


def _multiplying(operation: Operation, step: Step, undefined: Undefined, results: list[int]) -> Shadows | None:
    """By executing it with numbers that are none in the place of undefined elements, and 0 elsewhere."""
    types = operation.form.modifiers[-4:]
    if operation.form.has("sp") or not all(each in _NOT_A_NUMBER for each in types):
        return None
    sources = [
        (slot, _NOT_A_NUMBER[type_])
        for operand, type_ in zip(operation.operands[1:4], types[1:], strict=True)
        for slot in _slots(operation, [operand], None)
    ]
    every = _slots(operation, operation.operands[:1], None)
    bits = _NOT_A_NUMBER[types[0]]

    def shadows(gang: Gang, lanes: Lanes) -> dict[int, Array | None] | None:
        replaced = {slot: _whole(undefined.shadow(gang, slot), size) for slot, size in sources}
        found = undefined.run(gang, lanes, step, replaced, every)
        if found is None:
            return None
        numbers = {slot: np.isnan(np.ascontiguousarray(found[slot]).view(f"f{bits // 8}")) for slot in results}
        return {slot: _spread(each, bits, undefined.width(slot)) for slot, each in numbers.items()}

    return shadows


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
    return np.where(mask, ones((), np.dtype(f"u{bits // 8}")), np.zeros((), f"u{bits // 8}")).view(dtype)


def _shadow_of(operation: Operation, undefined: Undefined, gang: Gang, operand: Operand, dtype: np.dtype[Any]) -> Array:
    slots = _slots(operation, [operand], None)
    return undefined.shadow(gang, slots[0]).astype(dtype) if slots else np.zeros(gang.shape, dtype)


def _only_registers(operand: Operand) -> bool:
    return isinstance(operand, Register) or (
        isinstance(operand, Vector) and not any(isinstance(each, Immediate) for each in operand.items)
    )


def _slots(operation: Operation, operands: Iterable[Operand], maybe: frozenset[int] | None) -> list[int]:
    """The registers in operands, each once; with `maybe` only those that are there."""
    return [slot for slot in dict.fromkeys(slots_of(operation, operands)) if maybe is None or slot in maybe]
