"""What of a program depends on what memory holds when it begins: branches, and addresses.

A register does where an instruction computes it from one that does, or reads it from a state space that holds such
values: global memory always, shared and local memory once something is copied or stored there that does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecc.emulator.checks.registers import accumulators_of, guard_of, slots_of, successors, uses_of
from cutecc.ptx.syntax import Address

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cutecc.emulator.instructions.form import Form
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.program import Program

_SPACES = ("global", "shared", "local", "param", "const")
_LOADS = ("ld", "ldu", "ldmatrix", "wmma.load")
_STORES = ("st", "stmatrix", "wmma.store")
_BRANCHES = ("bra", "brx")
_UNKNOWN = ("mbarrier", "elect")
"""Whose results say when something happens, or which thread is meant: not what memory holds."""


class LoadedData:
    """Of one program."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._holding = {"global", ""}
        """State spaces of such values; an address without one may be of global memory."""
        self._reads = [
            _bits([*use.reads, *guard_of(each), *accumulators_of(each)])
            for each, use in zip(program.operations, uses_of(program), strict=True)
        ]
        self._writes = [_bits(use.writes) for use in uses_of(program)]
        self._before = self._flow()
        """By operation, the registers that depend on such values when it begins, a bit each."""

    def loops(self) -> Iterator[Operation]:
        """The branches that end a loop, or go on with it, by such a value."""
        branches = list(_branches(self._program))
        loops = [(target, operation.index) for operation, target in branches if target <= operation.index]
        for operation, target in branches:
            index = operation.index
            if self._is_decided(operation) and any(
                start <= index <= end and (target <= index or target > end) for start, end in loops
            ):
                yield operation

    def addresses(self) -> Iterator[Operation]:
        """Accesses to global and shared memory, and copies, at a place that such a value says: gathers and scatters."""
        for operation in self._program.operations:
            places = (each for each in operation.operands if isinstance(each, Address))
            if _accesses_memory(operation.form) and self._before[operation.index] & _bits(slots_of(operation, places)):
                yield operation

    def decided(self) -> Iterator[Operation]:
        """Branches and accesses to memory of which such a value says whether they are taken, without `loops`."""
        loops = {each.index for each in self.loops()}
        for operation in self._program.operations:
            form = operation.form
            if operation.index in loops or operation.index in self._program.polls:
                continue
            is_meant = form.opcode in (*_BRANCHES, "ret", "exit") or _accesses_memory(form)
            if is_meant and self._is_decided(operation):
                yield operation

    def _is_decided(self, operation: Operation) -> bool:
        """Whether such a value says whether an instruction is executed, or where a branch goes."""
        by = self._reads[operation.index] if operation.form.opcode == "brx" else _bits(guard_of(operation))
        return bool(self._before[operation.index] & by)

    def _flow(self) -> list[int]:
        """Follow values along all ways that control may go, until nothing new depends on what memory holds."""
        follows = successors(self._program)
        before = [0] * len(follows)
        holding = -1
        while holding != len(self._holding):
            holding = len(self._holding)
            work, seen = [0] if follows else [], [False] * len(follows)
            while work:
                index = work.pop()
                seen[index] = True
                after = self._after(index, before[index])
                for target in follows[index]:
                    if after & ~before[target] or not seen[target]:
                        before[target] |= after
                        work.append(target)
        return before

    def _after(self, index: int, before: int) -> int:
        """The registers that depend on such values behind an operation."""
        operation = self._program.operations[index]
        form, writes = operation.form, self._writes[index]
        spaces = _spaces(form)
        depends = bool(before & self._reads[index]) or self._loads(form, spaces)
        if form.opcode == "cp" and spaces[:2] == ["shared", "global"]:
            self._holding.add("shared")
        if depends and form.operation in _STORES:
            self._holding.update(spaces[:1] or ("shared", "local"))
        if depends and form.opcode not in _UNKNOWN:
            return before | writes
        return before if operation.instruction.guard is not None else before & ~writes

    def _loads(self, form: Form, spaces: list[str]) -> bool:
        """Whether an instruction reads from memory what depends on it."""
        if form.operation == "ldmatrix" or (form.opcode == "wgmma" and form.has("mma_async")):
            return "shared" in self._holding
        return form.operation in _LOADS and (spaces[0] if spaces else "") in self._holding


def _branches(program: Program) -> Iterator[tuple[Operation, int]]:
    """Each but those that poll, with the index of an operation that it goes to."""
    follows = successors(program)
    for operation in program.operations:
        if operation.form.opcode in _BRANCHES and operation.index not in program.polls:
            for target in follows[operation.index]:
                if target != operation.index + 1 or len(follows[operation.index]) == 1:
                    yield operation, target


def _accesses_memory(form: Form) -> bool:
    """Whether it is an access to global or shared memory, or a copy between the two."""
    if form.opcode == "cp":
        return bool(_spaces(form))
    return form.operation in (*_LOADS, *_STORES) and _spaces(form)[:1] not in _OF_THREADS


_OF_THREADS = (["local"], ["param"], ["const"])


def _spaces(form: Form) -> list[str]:
    """State spaces that it names, that of a copy's target first."""
    return [space for each in form.modifiers if (space := each.partition("::")[0]) in _SPACES]


def _bits(slots: Iterable[int]) -> int:
    found = 0
    for slot in slots:
        found |= 1 << slot
    return found
