"""Who ended each wait."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from cutecc.timelines.sites import COPIES, PRODUCTS, STORES, TENSOR_MEMORY, Site
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


@dataclass(frozen=True, eq=False)
class Causes:
    """Of the spans of a lane."""

    ended: NDArray[np.int8]
    """A number of `Ended`."""
    lanes: NDArray[np.int32]
    """The lane in which that was begun, an index of `BlockTimeline.lanes`; -1 where it is no other span's doing."""
    spans: NDArray[np.int32]
    """Which of its spans began it."""


@dataclass(eq=False)
class _Begun:
    """What may end waits for one barrier, by time."""

    times: NDArray[np.float64]
    lanes: NDArray[np.int32]
    spans: NDArray[np.int32]
    products: NDArray[np.bool_]


@dataclass(eq=False)
class _List:
    rows: list[tuple[float, int, int, bool]] = field(default_factory=list[tuple[float, int, int, bool]])

    def sorted(self) -> _Begun:
        times, lanes, spans, products = zip(*sorted(self.rows), strict=True)
        return _Begun(np.array(times), np.array(lanes, np.int32), np.array(spans, np.int32), np.array(products))


def causes_of(block: BlockTimeline, sites: Sequence[Site], unit: Unit) -> list[Causes]:
    """By lane, who ended its waits.

    Copies land in the order of waits: where each wait of a lane has equally many, those are its own. Of warps that
    arrive it is the last one before the wait ended.
    """
    flights, arrivals = _begun(block.lanes, sites)
    return [_Lane(number, lane, sites, unit).causes(flights, arrivals) for number, lane in enumerate(block.lanes)]


def _begun(lanes: Sequence[Lane], sites: Sequence[Site]) -> tuple[dict[str, _Begun], dict[str, _Begun]]:
    """By barrier what is in flight and tells it, and who arrives."""
    flights: dict[str, _List] = defaultdict(_List)
    arrivals: dict[str, _List] = defaultdict(_List)
    for number, lane in enumerate(lanes):
        numbers: list[int] = lane.sites.tolist()
        for span, (site, start) in enumerate(zip(numbers, lane.starts.tolist(), strict=True)):
            each = sites[site]
            if each.barrier is None:
                continue
            if each.kind in ("copy", "product"):
                flights[each.barrier].rows.append((start, number, span, each.kind == "product"))
            elif each.kind in ("arrive", "barrier"):
                arrivals[each.barrier].rows.append((start, number, span, False))
    return {name: each.sorted() for name, each in flights.items()}, {
        name: each.sorted() for name, each in arrivals.items()
    }


_OWN = {
    PRODUCTS: Ended.PRODUCTS,
    TENSOR_MEMORY: Ended.PRODUCTS,
    STORES: Ended.MEMORY,
    COPIES: Ended.MEMORY,
}
"""What ends a wait for operations of its own warp."""


class _Lane:
    """The waits of one lane, and what becomes known of them."""

    def __init__(self, number: int, lane: Lane, sites: Sequence[Site], unit: Unit) -> None:
        self._number = number
        self._lane = lane
        self._sites = sites
        self._immediate = IMMEDIATE[unit]
        count = len(lane.sites)
        self._found = Causes(np.zeros(count, np.int8), np.full(count, -1, np.int32), np.full(count, -1, np.int32))

    def causes(self, flights: dict[str, _Begun], arrivals: dict[str, _Begun]) -> Causes:
        waits: dict[tuple[str, str], list[int]] = defaultdict(list)
        numbers: list[int] = self._lane.sites.tolist()
        for span, site in enumerate(numbers):
            each = self._sites[site]
            if each.kind in ("wait", "barrier") and each.barrier is not None:
                waits[each.kind, each.barrier].append(span)
        for (kind, barrier), spans in waits.items():
            if barrier in _OWN:
                self._own(spans, _OWN[barrier])
            elif kind == "wait" and barrier in flights:
                self._landings(spans, flights[barrier])
            else:
                self._arrivals(spans, arrivals.get(barrier), is_met=kind == "barrier")
        return self._found

    def _waited(self, span: int) -> bool:
        return bool(self._lane.ends[span] - self._lane.starts[span] > self._immediate)

    def _own(self, spans: Sequence[int], ended: Ended) -> None:
        for span in spans:
            if self._waited(span):
                self._found.ended[span] = ended

    def _landings(self, spans: Sequence[int], begun: _Begun) -> None:
        each, rest = divmod(len(begun.times), len(spans))
        for turn, span in enumerate(spans):
            if not self._waited(span):
                continue
            end = float(self._lane.ends[span])
            mine = (turn + 1) * each - 1
            if rest or begun.times[mine] > end:
                mine = int(np.searchsorted(begun.times, end, "right")) - 1
            ended = Ended.PRODUCTS if begun.products[mine] else Ended.MEMORY
            self._set(span, ended, begun, mine)

    def _arrivals(self, spans: Sequence[int], begun: _Begun | None, *, is_met: bool) -> None:
        for span in spans:
            if not self._waited(span):
                continue
            start, end = float(self._lane.starts[span]), float(self._lane.ends[span])
            last = -1 if begun is None else int(np.searchsorted(begun.times, end, "right")) - 1
            while begun is not None and last >= 0 and begun.lanes[last] == self._number:
                last -= 1
            if begun is None or last < 0:
                self._found.ended[span] = Ended.ELSEWHERE
            elif begun.times[last] >= start:
                self._set(span, Ended.WARP, begun, last)
            elif not is_met:
                self._found.ended[span] = Ended.ELSEWHERE

    def _set(self, span: int, ended: Ended, begun: _Begun, which: int) -> None:
        if which < 0:
            self._found.ended[span] = Ended.ELSEWHERE
            return
        self._found.ended[span] = ended
        self._found.lanes[span], self._found.spans[span] = begun.lanes[which], begun.spans[which]
