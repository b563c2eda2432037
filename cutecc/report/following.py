"""Following one operation through the passes: which operations of the next module it became, and how.

What `cutecc.report.matching` and `cutecc.report.fates` find of a pass, as a relation between the lines of the modules
before and after it, small enough to be in a page for every pass.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import msgspec

from cutecc.record.stages import Stages
from cutecc.report.fates import Fate, Fates
from cutecc.report.matching import Matches
from cutecc.report.operations import Operations
from cutecc.support.locations import Place

Group = tuple[list[int], list[int]]
"""Operations before, and those after that they became together."""


class Links(msgspec.Struct, omit_defaults=True):
    """What a pass did to each operation, by lines of the two modules, from 0.

    Sorted lists of lines are differences, each from the one before, the first from 0. An operation in no list is gone,
    or is new.
    """

    kept: list[int] = []
    """Runs of those that are there before and after, three numbers each: how many lines there are between the run
    before and this one, before and after, and how long it is."""
    changed: list[int] = []
    """Before, of those kept."""
    moved: list[int] = []
    """Before, of those kept."""
    gone: dict[Fate, list[int]] = {}
    """Before, by what happened to them."""
    became: list[Group] = []
    """What came in the place of those that are gone: other operations, or one whose result is taken instead."""
    elsewhere: list[Group] = []
    """The same, of one that is of another line, or of none: followed only if nothing else is left of the value."""
    copies: list[Group] = []
    """Those copied, each alone, and their copies."""
    unrolled: bool = False
    """Whether copies are turns of loops."""


def links_of(fates: Fates, places: Sequence[Place]) -> Links:
    """What a pass did; `places` are those that modules number."""
    copies: defaultdict[int, list[int]] = defaultdict(list)
    for copy, original in fates.originals.items():
        copies[original].append(copy)
    gone: defaultdict[Fate, list[int]] = defaultdict(list)
    for number, fate in fates.gone.items():
        gone[fate].append(number)
    became: tuple[list[Group], list[Group]] = ([], [])
    for before, after in _groups(fates):
        became[_is_elsewhere(fates, places, before, after)].append((_differences(before), _differences(after)))
    return Links(
        kept=_runs(fates.matches.to),
        changed=_differences(fates.matches.changed),
        moved=_differences(fates.moved),
        gone={fate: _differences(numbers) for fate, numbers in gone.items()},
        became=became[False],
        elsewhere=became[True],
        copies=[([original], _differences(copies[original])) for original in sorted(copies)],
        unrolled=bool(fates.unrolled),
    )


class Passed(msgspec.Struct, frozen=True):
    """What one pass did to a value."""

    step: int
    """Position of the pass."""
    before: int
    """Operations that it was."""
    texts: list[str]
    """The operations that it is after the pass."""
    fates: dict[Fate, int]
    """To how many of them what happened, the most first; nothing where the value is unchanged."""
    others: int
    """Other operations of its line before, of which it is not known which became what."""


def follow(stages: Stages, start: int, line: int) -> Iterator[Passed]:
    """What passes did to the operation in `line`, from 0, of the module after pass `start`, until it is gone.

    Raises `RecordError`.
    """
    aliases: dict[str, str] = {}
    before = Operations(stages.after(start), aliases)
    numbers = {line}
    for step in (each for each in stages.indices if each > start):
        stage = stages.after(step)
        after = Operations(stage, aliases)
        fates = Fates(Matches(before, after))
        found, others = _became(fates, stages.places, numbers)
        lines = stage.text.split("\n")
        texts = [lines[each].strip() for each in sorted(found)]
        yield Passed(step, len(numbers), texts, dict(Counter(_happened(fates, numbers)).most_common()), others)
        if not found:
            return
        before, numbers = after, found


def _became(fates: Fates, places: Sequence[Place], numbers: set[int]) -> tuple[set[int], int]:
    """What operations are after a pass, and of how many others it is not known which of them became what."""
    groups: tuple[list[Group], list[Group]] = ([], [])
    for here, there in _groups(fates):
        if not numbers.isdisjoint(here):
            groups[_is_elsewhere(fates, places, here, there)].append((here, there))
    own, elsewhere = groups
    found = {fates.matches.to[each] for each in numbers if each in fates.matches.to}
    found.update(copy for copy, original in fates.originals.items() if original in numbers)
    found.update(*(there for _, there in own))
    if not found:
        found.update(*(there for _, there in elsewhere))
    return found, len(set[int]().union(*(here for here, _ in own)) - numbers)


def _happened(fates: Fates, numbers: Iterable[int]) -> Iterator[Fate]:
    moved = set(fates.moved)
    copied: dict[int, Fate] = {
        original: "unrolled" if copy in fates.unrolled else "copied" for copy, original in fates.originals.items()
    }
    for number in numbers:
        if number in fates.gone:
            yield fates.gone[number]
        elif number in copied:
            yield copied[number]
        elif number in fates.matches.changed or number in moved:
            yield "changed" if number in fates.matches.changed else "moved"


def _differences(numbers: Iterable[int]) -> list[int]:
    ordered = sorted(numbers)
    if len(ordered) < 2:
        return ordered
    return ordered[:1] + [after - before for before, after in pairwise(ordered)]


def _runs(to: Mapping[int | None, int]) -> list[int]:
    found: list[int] = []
    here = there = 0
    for before in sorted(each for each in to if each is not None):
        after = to[before]
        if found and before == here and after == there:
            found[-1] += 1
        else:
            found += (before - here, after - there, 1)
        here, there = before + 1, after + 1
    return found


def _is_elsewhere(fates: Fates, places: Sequence[Place], before: list[int], after: list[int]) -> bool:
    """Whether what is taken instead of an operation is of another line, or of none."""
    if fates.gone[before[0]] == "rewritten" or len(after) > 1:
        return False
    here, there = fates.matches.before.places[before[0]], fates.matches.after.places[after[0]]
    return here != there and (here < 0 or there < 0 or places[here][-1][:2] != places[there][-1][:2])


def _groups(fates: Fates) -> Iterator[Group]:
    """What came in the place of operations that are gone."""
    new: defaultdict[int, list[int]] = defaultdict(list)
    for number in fates.matches.new:
        if number not in fates.originals:
            new[fates.matches.after.places[number]].append(number)
    rewritten: defaultdict[int, list[int]] = defaultdict(list)
    for number in sorted(fates.gone):
        place = fates.matches.before.places[number]
        if fates.gone[number] == "rewritten" and place >= 0 and new[place]:
            rewritten[place].append(number)
        elif number in fates.taken:
            yield [number], [fates.taken[number]]
    for place, here in rewritten.items():
        yield from _share(here, sorted(new[place]), fates)


def _share(here: list[int], there: list[int], fates: Fates) -> Iterator[Group]:
    """Which of the new operations of a place stand for which of those rewritten there.

    What is put in the place of one ends with the operation whose result is taken instead. One whose result is not taken
    by what is still there belongs to the next, which used it. Without any such operation, they are shared out in order,
    if each then has the same.
    """
    known = set(there)
    ends = {taken: each for each in here if (taken := fates.taken.get(each)) in known}
    if len(here) == 1 or not ends:
        yield from _in_order(here, there, fates.matches.after)
        return
    after: dict[int, list[int]] = {each: [] for each in ends.values()}
    waiting: list[int] = []
    for number in there:
        waiting.append(number)
        if number in ends:
            after[ends[number]] += waiting
            waiting = []
    after[next(reversed(after))] += waiting
    before: list[int] = []
    last = max(after)
    for number in here:
        before.append(number)
        if number in after and number != last:
            yield before, after[number]
            before = []
    yield before, after[last]


def _in_order(here: list[int], there: list[int], after: Operations) -> Iterator[Group]:
    size, rest = divmod(len(there), len(here))
    parts = [there[start : start + size] for start in range(0, len(there), max(size, 1))]
    if len(here) == 1 or rest or len({tuple(map(after.name, part)) for part in parts}) > 1:
        yield here, there
        return
    for number, part in zip(here, parts, strict=True):
        yield [number], part
