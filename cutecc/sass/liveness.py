"""Which registers hold a value that is still needed, at each instruction of a SASS function.

By the usual backward analysis over basic blocks. A guarded write keeps the old value where the guard is false, so it
ends no life. A call of one of the compiler's subroutines needs what the subroutine reads, and what lives behind the
call that it does not write. What is taken and given by the ABI, by calls of other functions and by a function that is
no kernel itself, is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cutecc.sass.blocks import ControlFlow, control_flow
from cutecc.sass.effects import effects
from cutecc.sass.functions import SassFunction

_Registers = frozenset[str]
_NONE: _Registers = frozenset()


@dataclass(frozen=True)
class Liveness:
    """The registers of every kind that live before and after each instruction, by its number in the function."""

    before: tuple[frozenset[str], ...]
    after: tuple[frozenset[str], ...]
    occupied: tuple[int, ...]
    """How many of `R0` to `R254` hold a value at each: what lives before or after it, and what it writes for nobody."""

    @property
    def peak(self) -> int:
        """The most that are occupied."""
        return max(self.occupied, default=0)


def liveness(function: SassFunction, flow: ControlFlow | None = None) -> Liveness:
    """The registers that live in a function; `flow` is its control flow, where that is known already."""
    solver = _Solver(function, control_flow(function) if flow is None else flow)
    before, after = solver.solve()
    occupied = (
        sum(1 for each in before[index] | after[index] | writes if each.startswith("R"))
        for index, writes in enumerate(solver.writes)
    )
    return Liveness(tuple(before), tuple(after), tuple(occupied))


@dataclass(frozen=True)
class _Summary:
    """What a subroutine does to what lives."""

    needed: _Registers = _NONE
    """Before it, whatever lives behind it."""
    kept: _Registers = _NONE
    """Of all registers, those that live before it when they live behind it."""


class _Solver:
    def __init__(self, function: SassFunction, flow: ControlFlow) -> None:
        found = [effects(each.text) for each in function.instructions]
        self._flow = flow
        self._reads = [frozenset(each.reads) for each in found]
        self.writes = [frozenset(each.writes) for each in found]
        self._conditional = [each.is_conditional for each in found]
        self._returns = [each.opcode.startswith("RET") for each in found]
        self._summaries = self._summarized()

    def _summarized(self) -> dict[int, _Summary]:
        """By its first block the summary of each subroutine; those that call others need theirs first."""
        everything = _NONE.union(*self._reads, *self.writes)
        self._summaries = dict.fromkeys(self._flow.subroutines, _Summary())
        while True:
            found = {
                entry: _Summary(*(self._at_entry(entry, returned) for returned in (_NONE, everything)))
                for entry in self._flow.subroutines
            }
            if found == self._summaries:
                return found
            self._summaries = found

    def _at_entry(self, entry: int, returned: _Registers) -> _Registers:
        blocks = self._flow.subroutines[entry]
        return self._backward(blocks, dict.fromkeys(blocks, returned))[0][self._flow.blocks[entry].first]

    def solve(self) -> tuple[list[_Registers], list[_Registers]]:
        """What lives before and after each instruction."""
        calls = [each for each in self._flow.blocks if each.callee is not None]
        returned: dict[int, _Registers] = {}
        while True:
            before, after = self._backward(range(len(self._flow.blocks)), returned)
            found: dict[int, _Registers] = {}
            for call in calls:
                for number in self._flow.subroutines[call.callee or 0]:
                    found[number] = found.get(number, _NONE) | after[call.end - 1]
            if found == returned:
                return before, after
            returned = found

    def _backward(
        self, numbers: Iterable[int], returned: Mapping[int, _Registers]
    ) -> tuple[list[_Registers], list[_Registers]]:
        """The analysis over some blocks, with what lives behind the return in each."""
        before, after = [_NONE] * len(self._reads), [_NONE] * len(self._reads)
        blocks = [(number, self._flow.blocks[number]) for number in sorted(numbers, reverse=True)]
        seen: set[int] = set()
        changed = True
        while changed:
            changed = False
            for number, block in blocks:
                live = _NONE.union(*(before[self._flow.blocks[each].first] for each in block.successors))
                if self._returns[block.end - 1]:
                    live |= returned.get(number, _NONE)
                if number in seen and live == after[block.end - 1]:
                    continue
                seen.add(number)
                changed = True
                for index in reversed(range(block.first, block.end)):
                    after[index] = live
                    called = block.callee if index == block.end - 1 else None
                    live = before[index] = self._across(index, live, called)
        return before, after

    def _across(self, index: int, live: _Registers, called: int | None) -> _Registers:
        """What lives before an instruction, by what does behind it."""
        survives = live - self.writes[index]
        if called is not None:
            summary = self._summaries[called]
            survives = summary.needed | (live & summary.kept)
        return self._reads[index] | survives | (live if self._conditional[index] else _NONE)
