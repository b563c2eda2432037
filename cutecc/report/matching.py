"""Which operation of a module is which of the module that a pass left.

By place and text first; of several alike, by operands, which are matched before the operations that use them, and then
in order. Other names of values and another order are no difference.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from cutecc.report.operations import Operands, Operations


class Matches:
    """Operations before, and which they are after."""

    def __init__(self, before: Operations, after: Operations) -> None:
        self.before, self.after = before, after
        self.to: dict[int | None, int] = {}
        """By number before, the number after."""
        self.changed: list[int] = []
        """Of these, those before that have other attributes or types after."""
        self._alike()
        self.gone = [each for group in before.by_key.values() for each in group if each not in self.to]
        taken = set(self.to.values())
        self.new = [each for group in after.by_key.values() for each in group if each not in taken]
        if self.gone and self.new:
            self._otherwise()
        self.back = {there: here for here, there in self.to.items() if here is not None}
        """By number after, the number before."""

    def _alike(self) -> None:
        """Match those of one place and text."""
        several: dict[int, _Alike] = {}
        for key, here in self.before.by_key.items():
            there = self.after.by_key.get(key)
            if there is None:
                continue
            if len(here) == len(there):
                # Nearly always they are in the same order.
                self.to.update(zip(here, there, strict=True))
            if len(here) > 1 or len(there) > 1:
                several.update(dict.fromkeys(here, _Alike(here, there, self.after.operands)))
        left: list[int] = []
        for number in sorted(several):
            operands = self._operands(number)
            found = self.to.get(number)
            if found is not None and self.after.operands[found] == operands:
                continue
            alike = several[number]
            if found is not None:
                # Of the whole group, the order is another.
                for each in alike.before:
                    del self.to[each]
                for each in alike.before[: alike.before.index(number)]:
                    self._take(each, alike, left)
            self._take(number, alike, left)
        for number in left:
            if (found := several[number].take_first()) is not None:
                self.to[number] = found

    def _operands(self, number: int) -> Operands:
        """What the operands of an operation before are after."""
        return tuple(map(self.to.get, self.before.operands[number]))

    def _take(self, number: int, alike: _Alike, left: list[int]) -> None:
        found = alike.take(self._operands(number))
        if found is None:
            left.append(number)
        else:
            self.to[number] = found

    def _otherwise(self) -> None:
        """Match those of one name at a place, if there are as many after as before."""
        here, there = _by_name(self.before, self.gone), _by_name(self.after, self.new)
        for key, numbers in here.items():
            if len(numbers) == len(there.get(key, ())):
                self.to.update(zip(numbers, there[key], strict=True))
                self.changed += numbers
        changed = {self.to[each] for each in self.changed}
        self.gone = [each for each in self.gone if each not in self.to]
        self.new = [each for each in self.new if each not in changed]


def _by_name(operations: Operations, numbers: Iterable[int]) -> dict[tuple[int, str], list[int]]:
    found: defaultdict[tuple[int, str], list[int]] = defaultdict(list)
    for number in numbers:
        if operations.places[number] >= 0:
            found[operations.places[number], operations.name(number)].append(number)
    return found


class _Alike:
    """Operations of one place and text; each of those after is taken once."""

    def __init__(self, before: list[int], after: list[int], operands: list[Operands]) -> None:
        """`operands` are those of all operations after."""
        self.before = before
        self._after = after
        self._operands = operands
        self._next = 0
        self._taken: set[int] = set()
        self._by_operands: dict[Operands, list[int]] | None = None

    def take(self, operands: Operands) -> int | None:
        """One with these operands, if there is one; mostly that is the next one."""
        first = self._first()
        if first is None or self._operands[first] == operands:
            return self._take(first)
        if self._by_operands is None:
            self._by_operands = {}
            for number in reversed(self._after):
                self._by_operands.setdefault(self._operands[number], []).append(number)
        fitting = self._by_operands.get(operands, [])
        while fitting:
            if (number := fitting.pop()) not in self._taken:
                return self._take(number)
        return None

    def take_first(self) -> int | None:
        """The first one that is left."""
        return self._take(self._first())

    def _first(self) -> int | None:
        while self._next < len(self._after) and self._after[self._next] in self._taken:
            self._next += 1
        return self._after[self._next] if self._next < len(self._after) else None

    def _take(self, number: int | None) -> int | None:
        if number is not None:
            self._taken.add(number)
        return number
