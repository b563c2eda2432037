"""Who ended each wait."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from cutecc.timelines.phases import phases_of
from cutecc.timelines.sites import COPIES, PRODUCTS, STORES, TENSOR_MEMORY, Site, SiteKind
from cutecc.timelines.timeline import BlockTimeline, Lane, Unit

IMMEDIATE: dict[Unit, float] = {"ns": 40.0, "instructions": 1.0}
"""What a wait takes that finds done what it waits for, at most."""


class Ended(IntEnum):
    """What a span ended by."""

    ITSELF = 0
    """It did not wait."""
    MEMORY = 1
    """A copy that landed."""
    PRODUCTS = 2
    """Products that were done."""
    WARP = 3
    """Another warp that arrived."""
    ELSEWHERE = 4
    """Something of another block, or that was not recorded."""
    NEVER = 5
    """Nothing: it waited when the run came to a deadlock."""


@dataclass(frozen=True, eq=False)
class Causes:
    """Of the spans of a lane."""

    ended: NDArray[np.int8]
    """A number of `Ended`."""
    lanes: NDArray[np.int32]
    """The lane in which that was begun, an index of `BlockTimeline.lanes`; -1 where it is no other span's doing."""
    spans: NDArray[np.int32]
    """Which of its spans began it."""


_OWN = {
    PRODUCTS: Ended.PRODUCTS,
    TENSOR_MEMORY: Ended.PRODUCTS,
    STORES: Ended.MEMORY,
    COPIES: Ended.MEMORY,
}
"""What ends a wait for operations of its own warp."""


@dataclass(frozen=True, eq=False)
class _Begun:
    """What may end waits for one barrier, by time."""

    times: NDArray[np.float64]
    lanes: NDArray[np.int32]
    spans: NDArray[np.int32]
    kinds: list[SiteKind]

    @classmethod
    def of(cls, rows: list[tuple[float, int, int, SiteKind]]) -> _Begun:
        times, lanes, spans, kinds = zip(*sorted(rows), strict=True)
        return cls(np.array(times), np.array(lanes, np.int32), np.array(spans, np.int32), list(kinds))


_Waits = dict[str, dict[int, list[int]]]
"""By barrier and lane, its spans."""


def causes_of(block: BlockTimeline, sites: Sequence[Site], unit: Unit) -> list[Causes]:
    """By lane, who ended its waits.

    Copies land in the order of waits (`cutecc.timelines.phases`). Of warps that arrive it is the last one before the
    wait ended.
    """
    flights, arrivals, waits = _begun(block.lanes, sites)
    phases = {
        barrier: phases_of(
            [block.lanes[number].ends[spans] for number, spans in waits[barrier].items()],
            len(begun.times),
            _announced(begun, arrivals.get(barrier)),
        )
        for barrier, begun in flights.items()
        if barrier in waits and barrier not in _OWN
    }
    found: list[Causes] = []
    for number, lane in enumerate(block.lanes):
        waiting = _Lane(number, lane, sites, unit)
        for barrier, by_lane in waits.items():
            if number not in by_lane:
                continue
            spans = by_lane[number]
            if barrier in _OWN:
                waiting.own(spans, _OWN[barrier])
            elif barrier in phases:
                waiting.landings(spans, flights[barrier], phases[barrier][list(by_lane).index(number)])
            else:
                waiting.arrivals(spans, arrivals.get(barrier))
        if lane.waits_for_ever:
            waiting.causes.ended[-1] = Ended.NEVER
        found.append(waiting.causes)
    return found


def _begun(lanes: Sequence[Lane], sites: Sequence[Site]) -> tuple[dict[str, _Begun], dict[str, _Begun], _Waits]:
    """By barrier what is in flight and tells it, who arrives, and who waits."""
    flights: dict[str, list[tuple[float, int, int, SiteKind]]] = defaultdict(list)
    arrivals: dict[str, list[tuple[float, int, int, SiteKind]]] = defaultdict(list)
    waits: _Waits = defaultdict(lambda: defaultdict(list))
    for number, lane in enumerate(lanes):
        numbers: list[int] = lane.sites.tolist()
        for span, (site, start) in enumerate(zip(numbers, lane.starts.tolist(), strict=True)):
            kind, barrier = sites[site].kind, sites[site].barrier
            if barrier is None or kind == "mark":
                continue
            if kind in ("wait", "barrier") and not _is_for_ever(lane, span):
                waits[barrier][number].append(span)
            if kind != "wait":
                of = flights if kind in ("copy", "product") else arrivals
                of[barrier].append((start, number, span, kind))
    return (
        {name: _Begun.of(rows) for name, rows in flights.items()},
        {name: _Begun.of(rows) for name, rows in arrivals.items()},
        waits,
    )


def _is_for_ever(lane: Lane, span: int) -> bool:
    return lane.waits_for_ever and span == len(lane.sites) - 1


def _announced(flights: _Begun, arrivals: _Begun | None) -> int:
    """How many phases of an mbarrier are filled: who begins copies says once for each how many bytes will come."""
    if flights.kinds[0] == "product":
        return len(flights.times)
    if arrivals is None:
        return 0
    return int(np.isin(arrivals.lanes, flights.lanes).sum())


class _Lane:
    """The waits of one lane, and what becomes known of them."""

    def __init__(self, number: int, lane: Lane, sites: Sequence[Site], unit: Unit) -> None:
        self._number = number
        self._lane = lane
        self._sites = sites
        self._immediate = IMMEDIATE[unit]
        count = len(lane.sites)
        self.causes = Causes(np.zeros(count, np.int8), np.full(count, -1, np.int32), np.full(count, -1, np.int32))

    def _waited(self, span: int) -> bool:
        return bool(self._lane.ends[span] - self._lane.starts[span] > self._immediate)

    def own(self, spans: Sequence[int], ended: Ended) -> None:
        for span in spans:
            if self._waited(span):
                self.causes.ended[span] = ended

    def landings(self, spans: Sequence[int], begun: _Begun, last: NDArray[np.int64] | None) -> None:
        """Waits for what lands; `last` is the copy of each that was begun last, `None` where nobody knows."""
        for turn, span in enumerate(spans):
            if not self._waited(span):
                continue
            mine = -1 if last is None else int(last[turn])
            if mine >= 0 and begun.times[mine] > float(self._lane.ends[span]):
                mine = -1
            self._set(span, Ended.PRODUCTS if begun.kinds[mine] == "product" else Ended.MEMORY, begun, mine)

    def arrivals(self, spans: Sequence[int], begun: _Begun | None) -> None:
        """Waits for other warps."""
        for span in spans:
            if not self._waited(span):
                continue
            start, end = float(self._lane.starts[span]), float(self._lane.ends[span])
            last = -1 if begun is None else int(np.searchsorted(begun.times, end, "right")) - 1
            while begun is not None and last >= 0 and begun.lanes[last] == self._number:
                last -= 1
            if begun is None or last < 0:
                self.causes.ended[span] = Ended.ELSEWHERE
            elif begun.times[last] >= start:
                self._set(span, Ended.WARP, begun, last)
            elif self._sites[int(self._lane.sites[span])].kind == "wait":
                self.causes.ended[span] = Ended.ELSEWHERE

    def _set(self, span: int, ended: Ended, begun: _Begun, which: int) -> None:
        if which < 0:
            self.causes.ended[span] = Ended.ELSEWHERE
            return
        self.causes.ended[span] = ended
        self.causes.lanes[span], self.causes.spans[span] = begun.lanes[which], begun.spans[which]
