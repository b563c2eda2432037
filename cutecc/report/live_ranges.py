"""Registers of SASS by the values in them, so that code differs only where it does with other registers too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cutecc.report.flow import flow_of
from cutecc.sass import SassFunction
from cutecc.sass.blocks import control_flow
from cutecc.sass.effects import effects

_Definition = tuple[int, str]
"""An instruction, or one of the two below, and a register that it writes."""
_BEGINNING = -1
"""What is in a register when the function begins."""
_TOO_MANY = -2
"""One of more definitions than data flow follows."""


@dataclass(frozen=True)
class InstructionValues:
    """The values in the registers of an instruction, as numbers of live ranges."""

    written: int
    """How many operands, from the first, are written."""
    reads: list[int]
    """In the order of the registers that it reads."""
    writes: list[int]

    def encoded(self, start: int = 0) -> list[int]:
        """As `Listing.values` has it: how many operands are written and registers are read, then the numbers.

        They begin with `start`.
        """
        return [self.written, len(self.reads), *(start + each for each in (*self.reads, *self.writes))]


def live_ranges(function: SassFunction) -> list[InstructionValues]:
    """The values of each instruction. Definitions that one use may read are one live range, with one number."""
    flow = control_flow(function)
    data = flow_of(function, flow)
    ranges = _Ranges()
    read: list[list[_Definition]] = []
    for index, of_each in enumerate(data.readings):
        found: list[_Definition] = []
        for register, sources in of_each.items():
            unknown = _TOO_MANY if (index, register) in data.too_many else _BEGINNING
            first, *others = [(each, register) for each in sorted(sources)] or [(unknown, register)]
            for other in others:
                ranges.join(first, other)
            found.append(first)
        read.append(found)
    done = [effects(each.text) for each in function.instructions]
    return [
        InstructionValues(
            each.written,
            [ranges.number(definition) for definition in read[index]],
            [ranges.number((index, register)) for register in each.writes],
        )
        for index, each in enumerate(done)
    ]


class _Ranges:
    """Sets of definitions that are joined, and numbers for them in the order in which they are asked for."""

    def __init__(self) -> None:
        self._parents: dict[_Definition, _Definition] = {}
        self._numbers: dict[_Definition, int] = {}

    def join(self, one: _Definition, other: _Definition) -> None:
        self._parents[self._root(other)] = self._root(one)

    def number(self, definition: _Definition) -> int:
        return self._numbers.setdefault(self._root(definition), len(self._numbers))

    def _root(self, definition: _Definition) -> _Definition:
        *path, root = self._path(definition)
        for each in path:
            self._parents[each] = root
        return root

    def _path(self, definition: _Definition) -> Iterator[_Definition]:
        yield definition
        while (parent := self._parents.get(definition, definition)) != definition:
            definition = parent
            yield definition
