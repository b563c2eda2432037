"""What a pass did to each operation: the words of a history, and what makes each true."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Container
from dataclasses import dataclass, field
from typing import Literal

from cutecc.report.matching import Matches

Fate = Literal["removed", "merged", "folded", "rewritten", "unrolled", "copied", "appeared", "changed", "moved"]
"""Of operations before:

- `removed`: nothing used it, or only what was removed with it.
- `merged`: what used it uses an operation of the same text instead.
- `folded`: what used it takes a constant or another value that was there, or was itself rewritten to do without; of
  one with regions, its body is left without it.
- `rewritten`: operations of other names have taken its place; a lowering, or a pattern.
- `changed`: has other attributes or types.
- `moved`: is out of a region that is still there, or in one that was there before.

Of operations after:

- `unrolled`: is a copy of one in a loop, beside another of the same.
- `copied`: is a copy, of code that is inlined, peeled off a loop or specialized.
- `appeared`: is none of these.
"""


_MOST_ORIGINALS = 64
"""Of operations that are alike, so many are looked at for one that another is a copy of."""


@dataclass
class Change:
    """What a pass did to the operations of one place."""

    counts: Counter[Fate] = field(default_factory=Counter[Fate])
    rewritten_to: int = 0
    """Operations in the place of those that are `rewritten`."""
    into: set[int] = field(default_factory=set[int])
    """The places of those that others are merged into, `-1` where that has none."""
    times: set[int] = field(default_factory=set[int])
    """Of `unrolled` and `copied`, how many there are of what was one; 0 where that is no whole number."""


class Fates:
    """What a pass did, by the places of operations."""

    def __init__(self, matches: Matches) -> None:
        self.matches = self._matches = matches
        self._before, self._after = matches.before, matches.after
        self.changes: defaultdict[int, Change] = defaultdict(Change)
        self._new: defaultdict[int, list[int]] = defaultdict(list)
        """By place."""
        for number in matches.new:
            self._new[self._after.places[number]].append(number)
        self._fates: dict[int, Fate] = {}
        self._instead: dict[int, int] = {}
        """Which operation after stands for one that is gone."""
        self.gone: dict[int, Fate] = {}
        """Of each operation before that is gone."""
        self.taken: dict[int, int] = {}
        """By operation that is gone, one after whose result is taken instead of its own."""
        self.originals: dict[int, int] = {}
        """By operation after that is a copy, what it is a copy of, before."""
        self.unrolled: set[int] = set()
        """Those of the copies that are turns of a loop."""
        self._gone()
        self._came()
        for number in matches.changed:
            self.changes[self._before.places[number]].counts["changed"] += 1
        self.moved = self._moved()
        for number in self.moved:
            self.changes[self._before.places[number]].counts["moved"] += 1
        self.changes.pop(-1, None)

    def _gone(self) -> None:
        gone = set(self._matches.gone)
        self._opened = self._find_opened(gone)
        users = self._users(gone)
        # Those that use an operation stand behind it.
        backwards = sorted(gone, reverse=True)
        dead = set[int]()
        for number in backwards:
            if self._before.has_results(number) and dead.issuperset(users[number]):
                dead.add(number)
        # What was dead is not what was rewritten, unless nothing else was there.
        alive = {self._before.places[number] for number in gone - dead}
        for number in backwards:
            is_source = number not in dead or self._before.places[number] not in alive
            self._fates[number] = self._fate(number, users[number], is_source)
        stands_for = Counter(self._instead.values())
        for number, fate in self._fates.items():
            change = self.changes[self._before.places[number]]
            instead = self._instead.get(number)
            if instead is not None and (instead in self._matches.back or stands_for[instead] > 1):
                fate = "merged"
                change.into.add(self._after.places[instead])
            elif instead is not None:
                # Made anew and for this one alone, it is another.
                fate = "folded"
            self.gone[number] = fate
            change.counts[fate] += 1

    def _users(self, gone: set[int]) -> defaultdict[int, list[int]]:
        """By operation that is gone, those that used it."""
        users: defaultdict[int, list[int]] = defaultdict(list)
        for number, uses in enumerate(self._before.uses if gone else ()):
            if not gone.isdisjoint(uses):
                for each in gone.intersection(uses[1:]):
                    users[each].append(number)
        return users

    def _fate(self, number: int, users: list[int], is_source: bool) -> Fate:
        here = self._before.places[number]
        is_source = is_source and here >= 0 and here in self._new
        instead = self._all_taken_instead(number, users)
        equal = next((each for each in instead if self._equals(number, each)), None)
        if equal is not None:
            self._instead[number] = self.taken[number] = equal
            return "merged"
        if not instead:
            return "rewritten" if is_source else self._without_another(number, users)
        new = [each for each in instead.difference(self._matches.back) if not self._after.is_constant(each)]
        self.taken[number] = min(new or instead)
        return "rewritten" if is_source and new else "folded"

    def _without_another(self, number: int, users: list[int]) -> Fate:
        """The fate of an operation in whose place there is none."""
        around = self._before.parents[number]
        if number in self._opened or (around in self._opened and not self._before.has_results(number)):
            return "folded"
        return "removed" if all(self._fates.get(user) == "removed" for user in users) else "folded"

    def _all_taken_instead(self, number: int, users: list[int]) -> set[int]:
        return {each for user in users for each in self._taken_instead(number, user) if each is not None}

    def _taken_instead(self, number: int, user: int) -> list[int | None]:
        """The operations whose results a user of one that is gone, or what stands for that user, takes instead."""
        after = self._matches.to.get(user, self._instead.get(user))
        if after is None:
            return []
        old, new = self._before.uses[user][1:], self._after.uses[after][1:]
        if len(old) != len(new):
            return []
        now = [each for was, each in zip(old, new, strict=True) if was == number]
        # A pattern may have put them in another order, as constants to the right.
        others = {self._matches.to.get(each) for each in old}
        return [each for each in now if each not in others] or [each for each in new if each not in others] or now

    def _equals(self, before: int, after: int) -> bool:
        """Whether an operation after is what one that is gone was, by its text and what is known of its operands."""
        if self._after.texts[after] != self._before.texts[before]:
            return False
        operands = zip(self._before.uses[before][1:], self._after.uses[after][1:], strict=False)
        return all(self._matches.to.get(was, now) == now for was, now in operands)

    def _find_opened(self, gone: set[int]) -> set[int]:
        """The operations with regions that are gone while something of their bodies is still there."""
        around = {each: last for each, last in self._before.last.items() if each in gone}
        kept = sorted(each for each in self._matches.to if each is not None) if around else []
        return {each for each, last in around.items() if bisect_left(kept, each) < bisect_left(kept, last)}

    def _came(self) -> None:
        for place, numbers in self._new.items():
            change = self.changes[place]
            if change.counts["rewritten"]:
                change.rewritten_to = len(numbers)
                continue
            for number in numbers:
                change.counts[self._origin(number, change)] += 1

    def _origin(self, number: int, change: Change) -> Fate:
        key = self._after.places[number], self._after.texts[number]
        here, there = self._before.by_key.get(key, []), self._after.by_key[key]
        original = next((each for each in here[:_MOST_ORIGINALS] if self._is_copy(number, each)), None)
        if original is None:
            return "appeared"
        self.originals[number] = original
        times, rest = divmod(len(there), len(here))
        change.times.add(0 if rest else times)
        around = self._after.parents[number]
        beside = (each for each in there if each != number and self._after.parents[each] == around)
        is_unrolled = self._before.loop(original) is not None and next(beside, None) is not None
        if is_unrolled:
            self.unrolled.add(number)
        return "unrolled" if is_unrolled else "copied"

    def _is_copy(self, copy: int, original: int) -> bool:
        """Whether what a new operation uses is what another used, or a copy of that, or made for one turn of a loop."""
        before, after = self._before, self._after
        loop = before.loop(original)
        region, *operands = zip(before.uses[original], after.uses[copy], strict=False)
        if loop is None and all(self._matches.to.get(was) == now for was, now in (region, *operands)):
            # Made twice at once.
            return False
        return all(
            self._matches.to.get(was) == now
            or was == loop
            or now in self.originals
            or (now is not None and after.is_constant(now))
            for was, now in operands
        )

    def _moved(self) -> list[int]:
        """Those before that are in another region after, of regions that are there in both."""
        matches = self._matches
        before, after = self._before.parents, self._after.parents
        outer = {each: matches.to.get(_around(each, before, matches.to)) for each in set(before)}
        inner = {each: _around(each, after, matches.back) for each in set(after)}
        return [
            here
            for here, there in matches.to.items()
            if here is not None and outer[before[here]] != inner[after[there]]
        ]


def _around(number: int | None, parents: list[int | None], known: Container[int]) -> int | None:
    """The innermost of an operation and those around it that is `known`."""
    while number is not None and number not in known:
        number = parents[number]
    return number
