"""Where undefined bits come from: the reads of what nothing has written, and numbers for sets of these.

A value that is made of two comes from what either comes from. Each register of a gang has a number for each thread, so
that sets are joined for all threads at once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cutecc.emulator.checks.finding import FindingKind
from cutecc.emulator.machine.lanes import Array, Mask

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.gang import Gang

_MOST = 4
"""Reads of one value that are told: a sum over padding comes from as many as it has terms."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A read of something that nothing has written."""

    kind: FindingKind
    operation: Operation
    text: str
    gang: Gang
    mask: Mask
    address: Callable[[int, int], str] | None = None

    @property
    def place(self) -> Hashable:
        """The same for all that one missing write is the reason of: unrolling makes many instructions of a line, and
        several lines read a fragment."""
        location = self.operation.instruction.location
        if location is None:
            return self.operation.index
        is_named = "\n" in self.text
        return (self.kind, self.text) if is_named else (self.kind, self.text, location.file, location.line)


class Origins:
    """Sets of reads, by number; 0 is the empty one."""

    def __init__(self) -> None:
        self._sets: list[tuple[Origin, ...]] = [()]
        """Of each instruction one read."""
        self._unions: dict[tuple[int, int], int] = {}

    def number(self, origin: Origin) -> int:
        """That of a new set with this read alone."""
        self._sets.append((origin,))
        return len(self._sets) - 1

    def of(self, number: int) -> Sequence[Origin]:
        return self._sets[number]

    def join(self, one: Array, two: Array) -> Array:
        """The numbers of values that come from two, by thread."""
        result = np.maximum(one, two)
        differ = (one != two) & (one > 0) & (two > 0)
        if differ.any():
            for pair in set(zip(one[differ].tolist(), two[differ].tolist(), strict=True)):
                result[differ & (one == pair[0]) & (two == pair[1])] = self._union(*pair)
        return result

    def _union(self, one: int, two: int) -> int:
        found = self._unions.get((one, two))
        if found is not None:
            return found
        first, second = [{(each.kind, each.operation.index): each for each in self._sets[n]} for n in (one, two)]
        both = {**first, **second}
        number = one if len(first) >= len(second) else two
        if len(self._sets[number]) < len(both) <= _MOST:
            number = len(self._sets)
            self._sets.append((*sorted(both.values(), key=lambda each: each.operation.index),))
        self._unions[one, two] = number
        return number
