"""The critical path of a block: what its end waited for, back to its start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cutecc.timelines.causes import Causes, Ended, causes_of
from cutecc.timelines.sites import Site
from cutecc.timelines.timeline import BlockTimeline, Lane, Unit

PathCause = Literal["instructions", "memory", "tensor cores", "signal", "elsewhere", "never"]
"""What a part of the path is spent on.

instructions   the warp executes, or is not given its turn
memory         a copy is in flight
tensor cores   products are
signal         what another warp has said is on its way
elsewhere      who ended the wait is not known: another block, or something that was not recorded
never          nobody ended it: the run came to a deadlock
"""
_OF: dict[Ended, PathCause] = {
    Ended.ITSELF: "instructions",
    Ended.MEMORY: "memory",
    Ended.PRODUCTS: "tensor cores",
    Ended.WARP: "signal",
    Ended.ELSEWHERE: "elsewhere",
    Ended.NEVER: "never",
}


@dataclass(frozen=True)
class Step:
    """A part of a critical path."""

    lane: int
    """Index in `BlockTimeline.lanes`: the warp that the path goes through, or that waits for what is on its way."""
    start: float
    end: float
    cause: PathCause
    site: int
    """Whose line it is charged to, an index of `Timeline.sites`: of what is in flight where that was begun, of
    instructions the last site before; -1 before the first one."""


def critical_path(
    block: BlockTimeline, sites: Sequence[Site], unit: Unit, causes: Sequence[Causes] | None = None
) -> list[Step]:
    """The path from the block's last end backwards, in the order of time; it covers the block without gaps.

    `causes` are those of the lanes, where they are known already.
    """
    if not block.lanes:
        return []
    if causes is None:
        causes = causes_of(block, sites, unit)
    spans = [Leaves.of(lane, sites) for lane in block.lanes]
    number = max(range(len(spans)), key=lambda each: block.lanes[each].end)
    return walk(block.lanes, spans, causes, number, len(spans[number].index), block.lanes[number].end)


@dataclass(frozen=True, eq=False)
class Leaves:
    """Those of a lane that are no marks: they follow each other."""

    index: NDArray[np.intp]
    """Of each in the lane."""
    places: NDArray[np.intp]
    """By index in the lane."""

    @classmethod
    def of(cls, lane: Lane, sites: Sequence[Site]) -> Leaves:
        kept = lane.plain(sites)
        return cls(np.flatnonzero(kept), np.cumsum(kept) - 1)


def walk(
    lanes: Sequence[Lane], spans: Sequence[Leaves], causes: Sequence[Causes], number: int, before: int, now: float
) -> list[Step]:
    """Back from the time `now` in lane `number`, ahead of whose span `before` the path is."""
    found: list[Step] = []
    seen = set[tuple[int, int]]()
    while before > 0 and (number, before) not in seen:
        seen.add((number, before))
        lane, why = lanes[number], causes[number]
        index = int(spans[number].index[before - 1])
        start, end = float(lane.starts[index]), min(float(lane.ends[index]), now)
        site = int(lane.sites[index])
        _add(found, number, end, now, "instructions", site)
        ended = Ended(int(why.ended[index]))
        other, other_span = int(why.lanes[index]), int(why.spans[index])
        if other < 0:
            _add(found, number, start, end, _OF[ended], site)
            before, now = before - 1, min(start, end)
            continue
        begun = min(float(lanes[other].starts[other_span]), end)
        begins = int(lanes[other].sites[other_span])
        _add(found, number, begun, end, _OF[ended], begins)
        number, before, now = other, int(spans[other].places[other_span]), begun
    _add(found, number, lanes[number].start, now, "instructions", -1)
    return found[::-1]


def _add(found: list[Step], lane: int, start: float, end: float, cause: PathCause, site: int) -> None:
    """Put a part before the others; what goes on in one lane for one reason is one part."""
    if end <= start:
        return
    last = found[-1] if found else None
    if last is not None and (last.lane, last.cause, last.site, last.start) == (lane, cause, site, end):
        found[-1] = Step(lane, start, last.end, cause, site)
    else:
        found.append(Step(lane, start, end, cause, site))


@dataclass(frozen=True)
class Share:
    """How much of a path is spent on one thing at one line."""

    cause: PathCause
    file: str
    line: int
    """0 where none is known."""
    time: float
    share: float
    """Of the whole path."""


def shares_of(path: Sequence[Step], sites: Sequence[Site]) -> list[Share]:
    """By cause and line, the largest first."""
    times: dict[tuple[PathCause, str, int], float] = {}
    for step in path:
        site = sites[step.site] if step.site >= 0 else None
        key = step.cause, site.file if site else "", site.line if site else 0
        times[key] = times.get(key, 0.0) + step.end - step.start
    total = sum(times.values())
    found = [Share(*key, time, time / total) for key, time in times.items()]
    return sorted(found, key=lambda share: (-share.time, share.file, share.line, share.cause))


def clipped(path: Sequence[Step], start: float, end: float) -> list[Step]:
    """What of a path lies between two times."""
    return [
        Step(each.lane, max(each.start, start), min(each.end, end), each.cause, each.site)
        for each in path
        if each.start < end and each.end > start
    ]
