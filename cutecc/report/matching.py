"""Which operation of a module is which of the module that a pass left.

By place and text first; of several alike, by the region around them and their operands, which are matched before the
operations that use them, and what is left in order. Other names of values and another order are no difference.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Hashable, Iterable, Mapping

from cutecc.report.definitions import Uses
from cutecc.report.operations import Operations


class Matches:
    """Operations before, and which they are after."""

    def __init__(self, before: Operations, after: Operations) -> None:
        self.before, self.after = before, after
        self._same: dict[int | None, int] = {}
        """By number before, the number after, also of one that equals it now that it is gone itself."""
        self.to: dict[int | None, int]
        """By number before, the number after."""
        if gone := self._match_alike():
            self.to = {each: found for each, found in self._same.items() if each not in gone}
        else:
            self.to = self._same
        self.gone = [each for group in before.by_key.values() for each in group if each not in self.to]
        taken = set(self.to.values())
        self.new = [each for group in after.by_key.values() for each in group if each not in taken]
        self.changed: set[int] = set()
        """Those before that have other attributes or types after."""
        if self.gone and self.new:
            self._match_changed()
        self.back: dict[int | None, int | None] = dict(zip(self.to.values(), self.to, strict=True))
        """By number after, the number before."""

    def uses(self, number: int) -> Uses:
        """What the region and the operands of an operation before are after."""
        return tuple(map(self._same.get, self.before.uses[number]))

    def _match_alike(self) -> set[int]:
        """Match those of one place and text, and give those of which there are fewer."""
        same = self._same
        uses_before, uses_after = self.before.uses, self.after.uses
        results_before, results_after = self.before.results, self.after.results
        equal = self._equal()
        groups = self._groups(equal)
        left: list[int] = []

        def take(number: int) -> None:
            wanted = self.uses(number), results_before.get(number)
            found = groups[number].take("uses", lambda each: (uses_after[each], results_after.get(each)), wanted)
            if found is None:
                left.append(number)
                found = equal.get(self.before.texts[number], {}).get((wanted[0][1:], wanted[1]))
            if found is not None:
                same[number] = found

        for number in sorted(groups):
            found = same.get(number)
            if found is None:
                take(number)
                continue
            uses = tuple(map(same.get, uses_before[number]))
            is_same = uses_after[found] == uses and results_after.get(found) == results_before.get(number)
            # Of an operand that is gone, nothing is known.
            if not is_same and None not in uses[1:]:
                # The whole group is in another order.
                group = groups[number].before
                for each in group:
                    del same[each]
                for each in group[: group.index(number) + 1]:
                    take(each)
        gone = set(left)
        left.sort()
        left = self._match_left(left, gone, groups, "operands", lambda uses: uses[1:])
        left = self._match_left(left, gone, groups, "region", lambda uses: uses[0])
        self._match_left(left, gone, groups, "order", lambda uses: None)
        return gone

    def _groups(self, equal: Container[str]) -> dict[int, _Group]:
        """The group of each operation of which there are several, or that may be one of the texts that are `equal`."""
        groups: dict[int, _Group] = {}
        for key, here in self.before.by_key.items():
            there = self.after.by_key.get(key, [])
            if len(here) == len(there):
                # Nearly always they are in the same order.
                self._same.update(zip(here, there, strict=True))
            if len(here) > 1 or len(there) > 1 or key[1] in equal:
                groups.update(dict.fromkeys(here, _Group(here, there)))
        return groups

    def _equal(self) -> dict[str, dict[Hashable, int]]:
        """Of the texts that there are fewer of at some place, the first operation after with each list of operands."""
        after = self.after
        fewer = {key[1] for key, here in self.before.by_key.items() if len(here) > len(after.by_key.get(key, ()))}
        found: dict[str, dict[Hashable, int]] = {}
        for (_, text), numbers in after.by_key.items():
            if text in fewer:
                known = found.setdefault(text, {})
                for number in numbers:
                    known.setdefault((after.uses[number][1:], after.results.get(number)), number)
        return found

    def _match_changed(self) -> None:
        """Match those of one name at a place, in one region first."""
        here, there = _by_name(self.before, self.gone), _by_name(self.after, self.new)
        groups: dict[int, _Group] = {}
        for key in here.keys() & there.keys():
            groups.update(dict.fromkeys(here[key], _Group(here[key], there[key])))
        gone = set(groups)
        left = self._match_left(sorted(groups), gone, groups, "region", lambda uses: uses[0])
        self._match_left(left, gone, groups, "order", lambda uses: None)
        self.changed = groups.keys() - gone
        self.to.update({each: self._same[each] for each in self.changed})
        taken = {self.to[each] for each in self.changed}
        self.gone = [each for each in self.gone if each not in self.changed]
        self.new = [each for each in self.new if each not in taken]

    def _match_left(
        self,
        left: list[int],
        gone: set[int],
        groups: Mapping[int, _Group],
        by: str,
        feature: Callable[[Uses], Hashable],
    ) -> list[int]:
        """Match those of which a feature of what they use agrees, and take them from `gone`; gives what is left."""
        still: list[int] = []
        uses_after = self.after.uses
        for number in left:
            group = groups[number]
            if not group.free:
                continue
            found = group.take(by, lambda each: feature(uses_after[each]), feature(self.uses(number)))
            if found is None:
                still.append(number)
            else:
                self._same[number] = found
                gone.remove(number)
        return still


def _by_name(operations: Operations, numbers: Iterable[int]) -> dict[tuple[int, str], list[int]]:
    found: defaultdict[tuple[int, str], list[int]] = defaultdict(list)
    for number in numbers:
        if operations.places[number] >= 0:
            found[operations.places[number], operations.name(number)].append(number)
    return found


class _Group:
    """Operations before, and those after that may be them, each of which is taken once."""

    def __init__(self, before: list[int], after: list[int]) -> None:
        self.before = before
        self._after = after
        self.free = set(after)
        self._by = ""
        self._index: dict[Hashable, list[int]] = {}

    def take(self, by: str, feature: Callable[[int], Hashable], wanted: Hashable) -> int | None:
        """The first one that is left whose feature is the wanted one; `by` is what the feature is called."""
        if self._by != by:
            self._by, self._index = by, {}
            for number in reversed(self._after):
                if number in self.free:
                    self._index.setdefault(feature(number), []).append(number)
        fitting = self._index.get(wanted)
        if not fitting:
            return None
        number = fitting.pop()
        self.free.remove(number)
        return number
