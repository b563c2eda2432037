"""Which registers an instruction reads and writes, and reads of registers that nothing may have written.

Where control may go is known from the program. So for most reads it is certain that a write came before; only the
others are looked at while the program runs. The accumulators of `wgmma` are read where its `scale-d` is true.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from cutecc.emulator.instructions.operation import Operation
from cutecc.emulator.machine.program import Program
from cutecc.ptx.syntax import Address, Operand, Register, Symbol, registers_in

_NO_RESULT = {"bar", "barrier", "nanosleep", "brx", "bra", "setmaxnreg", "ret", "exit"}
"""Opcodes whose first operand is read though it may be a register. (Of others it is an address, where it is read.)"""


@dataclass(frozen=True, slots=True)
class Use:
    """The registers of one operation, by slot."""

    reads: frozenset[int]
    writes: frozenset[int]


def use_of(operation: Operation) -> Use:
    """What an operation reads, without its guard and without accumulators, and what it writes."""
    form, operands = operation.form, operation.operands
    if form.opcode == "call":
        # Its results are written by the copies that come with it.
        return Use(frozenset(), frozenset(slots_of(operation, operands)))
    writes = bool(operands) and not isinstance(operands[0], Address)
    if form.opcode in _NO_RESULT and not form.has("red"):
        writes = False
    results = int(writes)
    if form.opcode == "tcgen05":
        results = 0 if not form.has("ld") else 2 if form.has("red") else 1
    read, written = operands[results:], operands[:results]
    return Use(frozenset(slots_of(operation, read)), frozenset(slots_of(operation, written)))


def accumulators_of(operation: Operation) -> frozenset[int]:
    """The registers that a `wgmma.mma_async` reads and writes."""
    if operation.form.opcode != "wgmma" or not operation.form.has("mma_async"):
        return frozenset()
    return frozenset(slots_of(operation, operation.operands[:1]))


def is_accumulator(operation: Operation, slot: int) -> bool:
    """Whether a register that an operation reads is what a multiplication adds to."""
    if operation.form.opcode == "wgmma":
        return slot in accumulators_of(operation)
    addends = operation.operands[3:4] if operation.form.operation in ("mma", "wmma.mma", "fma", "mad") else ()
    return slot in slots_of(operation, addends)


def slots_of(operation: Operation, operands: Iterable[Operand]) -> Iterator[int]:
    """The registers in some of an operation's operands."""
    return (operation.scope.slot(name) for name in registers_in(operands))


@lru_cache(maxsize=16)
def uses_of(program: Program) -> list[Use]:
    """Of all of a program's operations."""
    return [use_of(operation) for operation in program.operations]


@lru_cache(maxsize=16)
def unproven_reads(program: Program) -> dict[int, frozenset[int]]:
    """By operation: the registers that it reads, and that may be written by nothing at that time."""
    uses = uses_of(program)
    follows = successors(program)
    starts = {0} | {target for targets in follows for target in targets}
    starts |= {index + 1 for index, targets in enumerate(follows) if targets != (index + 1,)}
    starts = sorted(starts)
    ends = dict(zip(starts, [*starts[1:], len(uses)], strict=True))
    written = {start: _written(program, uses, start, end) for start, end in ends.items()}
    known = _written_at(written, ends, follows)
    found: dict[int, frozenset[int]] = {}
    for start, before in known.items():
        for index in range(start, ends[start]):
            operation = program.operations[index]
            reads = uses[index].reads | guard_of(operation) | accumulators_of(operation)
            missing = frozenset(slot for slot in reads if not before >> slot & 1)
            if missing:
                found[index] = missing
            if operation.instruction.guard is None:
                before |= _bits(uses[index].writes)
    return found


def _written_at(
    written: Mapping[int, int], ends: Mapping[int, int], follows: Sequence[tuple[int, ...]]
) -> dict[int, int]:
    """What is certainly written when a block begins: the fewest sets that agree with all ways into it."""
    known: dict[int, int] = {0: 0}
    work = [0]
    while work:
        start = work.pop()
        after = known[start] | written[start]
        for target in follows[ends[start] - 1]:
            old = known.get(target)
            new = after if old is None else old & after
            if new != old:
                known[target] = new
                work.append(target)
    return known


def _written(program: Program, uses: list[Use], start: int, end: int) -> int:
    """What operations certainly write: not those that have a guard."""
    result = 0
    for index in range(start, end):
        if program.operations[index].instruction.guard is None:
            result |= _bits(uses[index].writes)
    return result


def _bits(slots: frozenset[int]) -> int:
    result = 0
    for slot in slots:
        result |= 1 << slot
    return result


def guard_of(operation: Operation) -> frozenset[int]:
    """The register that an operation is predicated on, if it is."""
    guard = operation.instruction.guard
    return frozenset() if guard is None else frozenset({operation.scope.slot(guard.register.name)})


@lru_cache(maxsize=16)
def successors(program: Program) -> list[tuple[int, ...]]:
    """By operation: where control may go; into a function that is called, and from its end to behind each call."""
    operations = program.operations
    places: dict[int, int] = {}
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for operation in operations:
        places.setdefault(id(operation.instruction), operation.index)
        name = operation.scope.function.name
        first.setdefault(name, operation.index)
        last[name] = operation.index

    def place(operation: Operation, label: str) -> int:
        function = operation.scope.function
        number = function.labels[label]
        instructions = function.instructions
        return places[id(instructions[number])] if number < len(instructions) else last[function.name]

    found: list[tuple[int, ...]] = []
    for operation in operations:
        index, guarded = operation.index, operation.instruction.guard is not None
        targets: list[int] = []
        match operation.form.opcode:
            case "bra":
                targets = [place(operation, _name(operation.operands[0]))]
            case "brx":
                labels = operation.scope.function.branch_targets[_name(operation.operands[1])]
                targets = [*(place(operation, label) for label in labels), index + 1]
            case "ret":
                name = operation.scope.function.name
                own = first[name]
                targets = [back for calls in program.calls.values() for back, start in calls.items() if start == own]
            case "exit":
                pass
            case "call" if index in program.calls:
                targets = [*program.calls[index].values()]
            case _:
                targets = [program.jumps.get(index, index + 1)]
        if guarded:
            targets.append(index + 1)
        found.append(tuple(dict.fromkeys(target for target in targets if target < len(operations))))
    return found


def _name(operand: Operand) -> str:
    assert isinstance(operand, (Symbol, Register))
    return operand.name
