"""How instructions hand undefined bits on, and which make use of them: hooks around steps.

See `undefined`, and `undefined_bits` for what a single instruction does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from cutecc.emulator.checks.origins import Origin
from cutecc.emulator.checks.registers import Use, accumulators_of, guard_of, slots_of, unproven_reads, uses_of
from cutecc.emulator.checks.undefined import Undefined
from cutecc.emulator.checks.undefined_bits import shadows_of
from cutecc.emulator.instructions.launch_control import is_first_block, success_of
from cutecc.emulator.instructions.types import DTYPES
from cutecc.emulator.machine.lanes import Array, Lanes
from cutecc.ptx.syntax import Operand

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.instructions.table import Step
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.program import Program

Hook = Callable[["Gang", Lanes], None]
Hooks = tuple[list[Hook], list[Hook]]
"""What to do before a step and after it."""

LOADS = {"ld", "ldmatrix", "wmma.load"}
STORES = {"st", "stmatrix", "wmma.store"}
_ELSEWHERE = {"param", "const", "global"}
"""State spaces of what is always defined."""
_USES = {
    *(
        "atom",
        "red",
        "multimem",
        "cp",
        "wgmma",
        "tcgen05",
        "mbarrier",
        "bar",
        "barrier",
        "fence",
        "membar",
        "tensormap",
    ),
    *("prefetch", "setmaxnreg", "nanosleep", "griddepcontrol", "trap", "bra", "brx", "ret", "exit"),
}
_IGNORED = {"call"}
_OF_WARP = {"vote", "match", "redux", "mma", "wmma.mma"}


@lru_cache(maxsize=16)
def undefined_registers(program: Program) -> tuple[frozenset[int], frozenset[int]]:
    """The registers that may be read before they are written, and all that may come to hold undefined bits."""
    unwritten = frozenset(slot for slots in unproven_reads(program).values() for slot in slots)
    found = set(unwritten)
    uses = uses_of(program)
    for operation, use in zip(program.operations, uses, strict=True):
        loads = operation.form.operation in LOADS and not _ELSEWHERE.intersection(operation.form.modifiers)
        if loads or is_first_block(operation.form):
            found |= use.writes
    before = -1
    while before != len(found):
        before = len(found)
        for operation, use in zip(program.operations, uses, strict=True):
            if operation.form.operation not in LOADS | _USES and not use.reads.isdisjoint(found):
                found |= use.writes
    return unwritten, frozenset(found)


def hooks(operation: Operation, step: Step, use: Use, undefined: Undefined, maybe: frozenset[int]) -> Hooks:
    """What to do around a step for undefined values; `maybe` are the registers that may have undefined bits."""
    form = operation.form
    opcode = form.operation
    if opcode in LOADS:
        return _load(operation, use, undefined, maybe)
    if opcode in STORES and not form.has("bulk"):
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
    computing = _computing(operation, step, undefined, reads, results)
    return [computing, _of_failed(operation, undefined, results)] if is_first_block(form) else [computing], []


def guard_hook(operation: Operation, undefined: Undefined, maybe: frozenset[int]) -> Hook | None:
    """Who has a guard that is undefined uses it."""
    slots = guard_of(operation) & maybe
    return _using(operation, undefined, slots) if slots else None


# Memory.


def _load(operation: Operation, use: Use, undefined: Undefined, maybe: frozenset[int]) -> Hooks:
    addresses = sorted(use.reads & maybe)
    before = [_using(operation, undefined, addresses)] if addresses else []
    results = sorted(use.writes)
    if _ELSEWHERE.intersection(operation.form.modifiers):
        results = [slot for slot in results if slot in maybe]
        return before, [_clearing(undefined, results)] if results else []
    return [*before, undefined.begin], [lambda gang, lanes: undefined.loaded(gang, lanes, results)]


def _store(operation: Operation, step: Step, undefined: Undefined, maybe: frozenset[int]) -> Hooks:
    address, value = operation.operands[:2]
    bases, slots = _slots(operation, [address], maybe), _slots(operation, [value], maybe)
    before = [_using(operation, undefined, bases)] if bases else []
    if not slots:
        return before, []
    every = sorted(slots_of(operation, [value]))
    type_ = operation.form.type
    # A wider register gives its low bits.
    low = 8 * DTYPES[type_].itemsize if operation.form.opcode == "st" and type_ in DTYPES else 64
    after: Hook = lambda gang, lanes: undefined.stored(gang, lanes, operation, step, slots, every, low)  # noqa: E731
    return [*before, undefined.begin], [after]


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
    shadows = shadows_of(operation, step, undefined, reads, results)
    nothing: dict[int, Array | None] = dict.fromkeys(results)
    of_warp = operation.form.operation in _OF_WARP

    def hook(gang: Gang, lanes: Lanes) -> None:
        present = undefined.of(gang).shadows
        if not present:
            return
        found = None
        if shadows is not None and any(slot in present for slot in reads):
            found = shadows(gang, lanes)
        undefined.computed(gang, lanes, operation, reads, nothing if found is None else found, of_warp)

    return hook


def _of_failed(operation: Operation, undefined: Undefined, results: list[int]) -> Hook:
    """A request to cancel a cluster that failed has no first block."""
    succeeded = success_of(operation)
    text = "takes the first block of a cluster from a request that failed, and uses it"

    def hook(gang: Gang, lanes: Lanes) -> None:
        failed = lanes.mask & ~succeeded(gang)
        if failed.any():
            undefined.made(gang, failed, results, Origin("launch-control", operation, text, gang, failed))

    return hook


def _slots(operation: Operation, operands: Iterable[Operand], maybe: frozenset[int]) -> list[int]:
    """Those of the registers in operands, each once."""
    return [slot for slot in dict.fromkeys(slots_of(operation, operands)) if slot in maybe]
