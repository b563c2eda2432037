"""Whose each instruction is, and how that is known.

The line table of a binary gives every instruction the line of the last directive before it, whoever made it. What LLVM
IR says is exact, for each of its instructions has a place of its own: so an instruction belongs to the line of the
table only if an operation of that line becomes such work (`cutecc.report.work`). The others are made for those: data
flow says for which.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from cutecc.report.work import ZERO, Kinds
from cutecc.support.locations import Owner, Place

Lines = tuple[tuple[str, int], ...]
"""A place without columns."""


_NOBODY = Owner(None, "unknown")


@dataclass
class Step:
    """An instruction as this module sees it."""

    kinds: Kinds
    place: Place | None
    """By the line table."""
    made_for: str = ""
    """What instructions of its kind are always made for by the compiler: `spill`, `convergence`, `prologue`."""
    users: list[int] = field(default_factory=list[int])
    """The instructions that read what it writes."""
    sources: list[int] = field(default_factory=list[int])
    """Those that wrote what it reads."""
    is_phi: bool = False
    """Whether a user may read what another instruction wrote instead."""


class Operation(NamedTuple):
    """An operation of LLVM IR."""

    place: Place
    kinds: Kinds
    zeros: int = 0
    """How many numbers it sets to 0."""


class Operations:
    """The work of each place of a function, as LLVM IR has it."""

    def __init__(self, operations: Sequence[Operation], *, columns: bool) -> None:
        """With `columns`, places are told apart by them."""
        self._columns = columns
        self._operations = operations
        last = {place: number for number, (place, _, _) in enumerate(operations)}
        self._last: dict[Place | Lines, int] = {}
        """Where in the order of LLVM IR each place is for the last time."""
        for place, number in last.items():
            key = self._key(place)
            self._last[key] = max(number, self._last.get(key, 0))
        self._kinds: defaultdict[Place | Lines, set[str]] = defaultdict(set)
        self._counts: Counter[tuple[Place | Lines, str]] = Counter()
        # Few differ by more than their place in the order.
        for (place, kinds), count in Counter((place, kinds) for place, kinds, _ in operations).items():
            for kind in kinds:
                self._counts[self.line(place), kind] += count
            self._kinds[self._key(place)] |= kinds
            if not columns:
                self._kinds[lines_of(place)[-1:]] |= kinds
        zeros: Counter[Place] = Counter()
        for place, _, zeroed in operations:
            if zeroed:
                zeros[place] += zeroed
        place, most = next(iter(zeros.most_common(1)), (None, 0))
        self.zeroed = place if 2 * most > zeros.total() else None
        """The place where most of what begins as 0 is set, if that is one."""

    def holds(self, place: Place, kinds: Kinds) -> bool:
        """Whether an operation at `place` becomes work of one of `kinds`."""
        if not kinds.isdisjoint(self._kinds.get(self._key(place), ())):
            return True
        return not self._columns and not kinds.isdisjoint(self._kinds.get(lines_of(place)[-1:], ()))

    def count(self, place: Place, kind: str) -> int:
        """How many operations of the user's line, or with columns at the place, become work of a kind."""
        return self._counts[self.line(place), kind]

    def line(self, place: Place) -> Place | Lines:
        """What operations are counted by."""
        return place if self._columns else lines_of(place)[-1:]

    def behind(self, place: Place, kinds: Kinds) -> Place | None:
        """The next place with an operation that becomes work of one of `kinds`, in the order of LLVM IR."""
        start = self._last.get(self._key(place))
        if start is None:
            return None
        following = self._operations[start + 1 : start + 1 + _NEAR]
        return next((each.place for each in following if not kinds.isdisjoint(each.kinds)), None)

    def _key(self, place: Place) -> Place | Lines:
        return place if self._columns else lines_of(place)


def lines_of(place: Place) -> Lines:
    """A place without its columns."""
    return tuple((frame.file, frame.line) for frame in place)


_ARITHMETIC: Kinds = frozenset({"integer"})
_SUMMING: Kinds = frozenset({"matrix", "float", "conversion"})
_UNMISTAKABLE: Kinds = frozenset({"mbarrier", "barrier", "bulk copy", "async copy", "matrix", "atomic", "warp"})
"""Kinds of which every instruction stands for an operation."""
_COUNTED: Kinds = _UNMISTAKABLE | {"global load", "global store", "shared load", "shared store", "special function"}
_NEAR = 64
"""How far behind a place in LLVM IR the operation is looked for that an instruction may stand for."""
_PHI: Kinds = frozenset({"phi"})
_MOST_USERS = 16
"""Of a copy, those that are asked for a phi's other values: its users all read the same ones."""
_TURNS = 4
"""Of the search through data flow: more than the loops that a value goes through."""


def owners(steps: Sequence[Step], operations: Operations) -> list[Owner]:
    """The owner of each instruction of a function."""
    found: list[Owner | None] = [_exact(step, operations) for step in steps]
    summed = _summed(steps)
    _follow(steps, found, operations, summed)
    for index, step in enumerate(steps):
        if found[index] is None and not step.made_for:
            # A branch is taken for what its predicate says.
            sources = [found[each] for each in step.sources] if "branch" in step.kinds else []
            found[index] = _by_order(step, _common(step, sources), operations)
    # What is made for others is also for those of which only the order says whose they are.
    _follow(steps, found, operations, summed)
    _count_copies(steps, found, operations)
    return [
        Owner(step.place, "compiler", step.made_for) if owner is None else owner
        for step, owner in zip(steps, found, strict=True)
    ]


def _count_copies(steps: Sequence[Step], found: list[Owner | None], operations: Operations) -> None:
    """Say of how many copies an instruction is one, where each of its line's operations became as many."""
    alike: defaultdict[tuple[Place | Lines, str], list[int]] = defaultdict(list)
    for index, (step, owner) in enumerate(zip(steps, found, strict=True)):
        if owner is not None and owner.reason == "exact" and owner.place is not None:
            for kind in step.kinds & _COUNTED:
                alike[operations.line(owner.place), kind].append(index)
    for (_, kind), numbers in alike.items():
        owner = found[numbers[0]]
        assert owner is not None and owner.place is not None
        copies, rest = divmod(len(numbers), max(1, operations.count(owner.place, kind)))
        if copies > 1 and not rest:
            for number in numbers:
                found[number] = owner._replace(place=(found[number] or owner).place, detail=f"×{copies}")


def _follow(steps: Sequence[Step], found: list[Owner | None], operations: Operations, summed: Collection[int]) -> None:
    """Give those that have no owner yet the owner of what they are made for."""
    for _ in range(_TURNS):
        before = found.count(None)
        for index in reversed(range(len(steps))):
            if found[index] is None:
                found[index] = _by_operands(steps, index, found, operations, summed)
        if found.count(None) == before:
            break


def _by_order(step: Step, place: Place | None, operations: Operations) -> Owner:
    if place is not None:
        return Owner(place, "order")
    if step.place is None:
        return _NOBODY
    # What stands behind the work of another line is the first of what comes next, if that has any such.
    behind = operations.behind(step.place, step.kinds) if step.kinds <= _UNMISTAKABLE else None
    return Owner(behind or step.place, "order")


def _exact(step: Step, operations: Operations) -> Owner | None:
    if step.made_for == "prologue":
        return Owner(None, "compiler", step.made_for)
    if step.made_for or step.place is None:
        return None
    if operations.holds(step.place, step.kinds):
        return Owner(step.place, "exact")
    is_start = ZERO in step.kinds and operations.zeroed is not None
    if step.is_phi and "move" in step.kinds and not is_start and operations.holds(step.place, _PHI):
        return Owner(step.place, "compiler", "phi copy")
    return None


def _by_operands(
    steps: Sequence[Step],
    index: int,
    found: Sequence[Owner | None],
    operations: Operations,
    summed: Collection[int],
) -> Owner | None:
    step = steps[index]
    if ZERO in step.kinds and operations.zeroed is not None and index in summed:
        return Owner(operations.zeroed, "operands")
    if step.is_phi and "move" in step.kinds and (place := _phi(steps, index, found, operations)):
        return Owner(place, "compiler", "phi copy")
    place = _common(step, [found[each] for each in step.users if each != index])
    if place is None and (step.place is None or step.made_for):
        place = _common(step, [found[each] for each in step.sources if each != index])
    return None if place is None else _serving(step, place, operations)


def _serving(step: Step, place: Place, operations: Operations) -> Owner:
    """The owner of an instruction that is made for those at `place`."""
    if step.made_for:
        return Owner(place, "compiler", step.made_for)
    if "move" in step.kinds:
        return Owner(place, "compiler", "copy") if step.is_phi else Owner(place, "operands")
    if "integer" in step.kinds and not operations.holds(place, _ARITHMETIC):
        return Owner(place, "compiler", "address arithmetic")
    return Owner(place, "operands")


def _summed(steps: Sequence[Step]) -> set[int]:
    """The instructions whose result goes into a sum, perhaps by way of copies."""
    before: list[list[int]] = [[] for _ in steps]
    for index, step in enumerate(steps):
        for user in step.users:
            before[user].append(index)
    found = set[int]()
    waiting = [index for index, step in enumerate(steps) if not _SUMMING.isdisjoint(step.kinds)]
    while waiting:
        for each in before[waiting.pop()]:
            if each not in found:
                found.add(each)
                if "move" in steps[each].kinds:
                    waiting.append(each)
    return found


def _phi(steps: Sequence[Step], index: int, found: Sequence[Owner | None], operations: Operations) -> Place | None:
    """The loop that begins with what an instruction copies: where the other values of the phi are computed."""
    users = steps[index].users[:_MOST_USERS]
    others = {each for user in users for each in steps[user].sources} - {index}
    places = {
        owner.place[-1][:2]: owner.place
        for owner in (found[each] for each in others)
        if owner is not None and owner.place is not None and operations.holds(owner.place, _PHI)
    }
    return next(iter(places.values())) if len(places) == 1 else None


def _common(step: Step, others: Sequence[Owner | None]) -> Place | None:
    """The place that all `others` have whose owner is sure; of several, the one that the table names as well."""
    places = Counter(each.place for each in others if each is not None and each.place is not None)
    if not places:
        return None
    by_line = {place[-1][:2]: place for place in places}
    if len(by_line) == 1:
        (place,) = by_line.values()
        return place
    return by_line.get(step.place[-1][:2]) if step.place is not None else None
