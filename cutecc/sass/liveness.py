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

_Registers = int
"""A set of registers: a bit for each, in the order of `Liveness.names`."""
_NONE: _Registers = 0


class Liveness:
    """The registers of every kind that live before and after each instruction, by its number in the function."""

    def __init__(self, names: list[str], before: list[int], after: list[int], writes: list[int]) -> None:
        self._names = names
        self._before, self._after = before, after
        plain = sum(1 << bit for bit, name in enumerate(names) if name.startswith("R"))
        self.occupied = [
            ((lives | goes_on | written) & plain).bit_count()
            for lives, goes_on, written in zip(before, after, writes, strict=True)
        ]
        """How many of `R0` to `R254` hold a value at each: what lives before or after it, and what it writes."""
        self.peak = max(self.occupied, default=0)
        """The most that are occupied."""

    def before(self, index: int) -> frozenset[str]:
        """The names of those that live before an instruction."""
        return self._named(self._before[index])

    def after(self, index: int) -> frozenset[str]:
        """The names of those that live after it."""
        return self._named(self._after[index])

    def _named(self, registers: _Registers) -> frozenset[str]:
        return frozenset(name for bit, name in enumerate(self._names) if registers >> bit & 1)


def liveness(function: SassFunction, flow: ControlFlow | None = None) -> Liveness:
    """The registers that live in a function; `flow` is its control flow, where that is known already."""
    solver = _Solver(function, control_flow(function) if flow is None else flow)
    return Liveness([*solver.bits], *solver.solve(), solver.writes)


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
        self.bits: dict[str, int] = {}
        """By name the number of its bit."""
        self._flow = flow
        self._reads = [self._set(each.reads) for each in found]
        self.writes = [self._set(each.writes) for each in found]
        self._conditional = [each.is_conditional for each in found]
        self._returns = [each.opcode.startswith("RET") for each in found]
        self._summaries = self._summarized()

    def _set(self, names: Iterable[str]) -> _Registers:
        return sum(1 << self.bits.setdefault(name, len(self.bits)) for name in names)

    def _summarized(self) -> dict[int, _Summary]:
        """By its first block the summary of each subroutine; those that call others need theirs first."""
        everything = (1 << len(self.bits)) - 1
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
                live = _NONE
                for each in block.successors:
                    live |= before[self._flow.blocks[each].first]
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
        survives = live if self._conditional[index] else live & ~self.writes[index]
        if called is not None:
            summary = self._summaries[called]
            survives = summary.needed | live & summary.kept | (live if self._conditional[index] else _NONE)
        return self._reads[index] | survives
