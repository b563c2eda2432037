"""What each pass did to the operations of a line of Python.

SSA values, block labels and aliases are numbered anew by every pass; that, and indentation, is no change.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from cutecc.record.stages import Stages
from cutecc.report.fates import Change, Fate
from cutecc.report.frames import Frames, Line
from cutecc.report.listings import Listing
from cutecc.report.operations import Operations
from cutecc.report.pass_effects import PassEffect, effects_of
from cutecc.report.unrolling import Copies, unrolling
from cutecc.support.locations import Place


class HistoryEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one pass did to the operations of one line.

    Of those before, what is removed, merged, folded or rewritten is gone; of those after, what is unrolled, copied or
    appeared has come, and what is `rewritten_to`.
    """

    step: int
    """Position of the pass."""
    kind: Fate
    """What happened to the most of them."""
    before: int
    """Operations of the line."""
    after: int
    counts: dict[Fate, int]
    """To how many of them what happened, the most first."""
    rewritten_to: int = 0
    """How many are in the place of those rewritten."""
    into: list[Line] = []
    """The other lines of the user's whose operations stand for those merged."""
    times: int = 0
    """How many copies there are of each that is unrolled or copied; 0 where they are not equally many."""


class LineHistory(msgspec.Struct):
    """What became of one line."""

    file: str
    line: int
    traced: int
    """Operations in the first module of the record."""
    events: list[HistoryEvent] = []
    ptx: int = 0
    """Instructions."""
    sass: int = 0
    copies: list[Copies] = []
    """Who unrolled the line, or, if it is a loop's, the body: first the trace, then passes, LLVM, the assembler."""


def histories(
    stages: Stages, listings: Iterable[Listing] = (), effects: Iterable[PassEffect] | None = None
) -> list[LineHistory]:
    """What became of each line that operations or instructions name, in the order of the source.

    An operation counts for every line of its call chain. Code generation takes a kernel out of the module, which is the
    last event of each of its lines. `effects` are those of all stages, where they are known already. Raises
    `RecordError`.
    """
    frames = Frames(stages.user_lines)
    lines_of = [frames.lines(place) for place in stages.places]
    found: dict[Line, LineHistory] = {}
    listings = [*listings]
    counts: Counter[Line] | None = None
    if effects is None:
        effects = effects_of(map(stages.after, stages.indices), stages.places)
    for effect in effects:
        earlier, counts = counts, _counts(effect.operations, lines_of)
        for line in counts.keys() - found.keys():
            found[line] = LineHistory(*line, traced=counts[line] if earlier is None else 0)
        for line, changes in _changes(effect.changes, lines_of).items():
            numbers = (earlier or counts)[line], counts[line]
            found[line].events.append(_event(effect.step, line, numbers, changes, stages.places))
    for listing in listings:
        if listing.kind in ("ptx", "sass"):
            _count(listing, frames, found)
    if stages.indices:
        _add_copies(stages, listings, frames, found)
    return [found[line] for line in sorted(found)]


def _add_copies(stages: Stages, listings: Iterable[Listing], frames: Frames, found: dict[Line, LineHistory]) -> None:
    traced = Operations(stages.after(stages.indices[0]), {})
    unrolled = {
        line: [(each.step, each.times) for each in history.events if "unrolled" in each.counts and each.times]
        for line, history in found.items()
    }
    copies = unrolling(traced, stages.places, unrolled, listings, frames, stages.user_lines.sources)
    for line, made in copies.items():
        # A loop that Python runs may have no operation of its own.
        found.setdefault(line, LineHistory(*line, traced=0)).copies = made


def _counts(operations: Mapping[int, int], lines_of: Sequence[frozenset[Line]]) -> Counter[Line]:
    """How many operations each line has."""
    found = Counter[Line]()
    for place, count in operations.items():
        for line in lines_of[place] if place >= 0 else ():
            found[line] += count
    return found


def _changes(by_place: Mapping[int, Change], lines_of: Sequence[frozenset[Line]]) -> dict[Line, list[Change]]:
    """For each line that something happened to, what happened at its places."""
    found: defaultdict[Line, list[Change]] = defaultdict(list)
    for place, change in by_place.items():
        for line in lines_of[place]:
            found[line].append(change)
    return found


def _event(
    step: int, line: Line, numbers: tuple[int, int], changes: Sequence[Change], places: Sequence[Place]
) -> HistoryEvent:
    counts = sum((each.counts for each in changes), Counter[Fate]())
    into = {(places[each][-1].file, places[each][-1].line) for change in changes for each in change.into if each >= 0}
    times = {each for change in changes for each in change.times}
    return HistoryEvent(
        step,
        counts.most_common(1)[0][0],
        *numbers,
        dict(counts.most_common()),
        sum(each.rewritten_to for each in changes),
        sorted(into - {line}),
        times.pop() if len(times) == 1 else 0,
    )


def _count(listing: Listing, frames: Frames, found: dict[Line, LineHistory]) -> None:
    counts = [0] * len(listing.table)
    for number in listing.places:
        if number >= 0:
            counts[number] += 1
    for place, count in zip(listing.table, counts, strict=True):
        for line in frames.lines(place):
            history = found.setdefault(line, LineHistory(*line, traced=0))
            if listing.kind == "ptx":
                history.ptx += count
            else:
                history.sass += count
