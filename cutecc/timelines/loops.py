"""The loops of a lane: which sites repeat, and when each turn was."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cutecc.timelines.sites import Site
from cutecc.timelines.timeline import Lane

FEWEST_TURNS = 4
"""Of a loop that has a steady state: the first and the last turn are no part of it."""
_MOST_IN_BURST = 8
_UNEVEN = 0.2
_BURST = 0.4
_LONGEST = 512
"""Sites of a turn, at most."""


@dataclass(frozen=True, eq=False)
class Turns:
    """The steady turns of a lane's loop: those of one loop after another, without the first and last of each."""

    sites: NDArray[np.int32]
    """Of one turn."""
    spans: NDArray[np.intp]
    """Of each turn the spans by their index in the lane, shape `(turns, len(sites))`."""
    runs: NDArray[np.intp]
    """Of each turn the number of its loop: one that is left and entered again is another."""
    starts: NDArray[np.float64]
    """When each turn begins."""

    @property
    def length(self) -> float:
        """The time from one turn's beginning to the next one's, over turns that take equally long together."""
        return float(np.median(self._lengths(self.burst))) / self.burst

    @property
    def burst(self) -> int:
        """How many turns take equally long together: where data comes in bursts, some turns wait, and others do not."""
        alone = _spread(self._lengths(1))
        if alone < _UNEVEN:
            return 1
        for count in range(2, _MOST_IN_BURST + 1):
            lengths = self._lengths(count)
            # Turns that waver independently are more even together, too, but not by so much.
            if len(lengths) > 1 and _spread(lengths) < _BURST * alone / math.sqrt(count):
                return count
        return 1

    def _lengths(self, count: int) -> NDArray[np.float64]:
        """Of so many turns together, that follow each other in one loop."""
        lengths = self.starts[count:] - self.starts[:-count]
        return lengths[self.runs[count:] == self.runs[:-count]][::count]


def _spread(lengths: NDArray[np.float64]) -> float:
    """How far they are from their mean, on average, relative to it."""
    mean = float(lengths.mean())
    return float(np.abs(lengths - mean).mean()) / mean if mean > 0 else 0.0


def steady_turns(lane: Lane, sites: Sequence[Site]) -> Turns | None:
    """The shortest repetition that takes at least half of a lane's spans; `None` where there is none.

    Marks, which may enclose other spans, are no part of it.
    """
    index = np.flatnonzero(lane.plain(sites))
    order = lane.sites[index]
    found = _loops(order)
    if found is None:
        return None
    period, loops = found
    spans: list[NDArray[np.intp]] = []
    runs: list[NDArray[np.intp]] = []
    for number, (first, turns) in enumerate(loops):
        # Fill and drain.
        dropped = max(1, turns // 8)
        places = first + np.arange(dropped * period, (turns - dropped) * period)
        spans.append(index[places].reshape(-1, period))
        runs.append(np.full(turns - 2 * dropped, number))
    every = np.concatenate(spans)
    turn: list[int] = lane.sites[every[0]].tolist()
    if not any(sites[each].kind in ("wait", "barrier") for each in turn):
        # It does much of one thing, and waits for nothing.
        return None
    return Turns(lane.sites[every[0]], every, np.concatenate(runs), lane.starts[every[:, 0]])


def _loops(order: NDArray[np.int32]) -> tuple[int, list[tuple[int, int]]] | None:
    """How many sites a turn has, and of each loop the first span and how many turns it has."""
    counted = _counted(order)
    for tokens in (counted, order):
        count = len(tokens)
        for period in range(1, min(_LONGEST, count // FEWEST_TURNS) + 1):
            runs = _runs(tokens[:-period] == tokens[period:], period)
            weights = np.ones(count) if tokens is order else tokens & _COUNTS
            covered = sum(int(weights[first : first + turns * period].sum()) for first, turns in runs)
            if 2 * covered >= len(order):
                if tokens is order:
                    return period, runs
                ends = np.concatenate([[0], np.cumsum(weights)]).astype(np.intp)
                first = runs[0][0]
                return int(ends[first + period] - ends[first]), [(int(ends[at]), turns) for at, turns in runs]
    return None


_COUNTS = (1 << 31) - 1


def _counted(order: NDArray[np.int32]) -> NDArray[np.int64]:
    """What follows itself as one, with how often: copies in a row are no loop, but a part of a turn."""
    if not len(order):
        return order.astype(np.int64)
    begins = np.flatnonzero(np.concatenate([[True], order[1:] != order[:-1]]))
    counts = np.diff(np.concatenate([begins, [len(order)]]))
    return (order[begins].astype(np.int64) << 31) | counts


def _runs(equal: NDArray[np.bool_], period: int) -> list[tuple[int, int]]:
    """Where enough turns of so many sites follow each other, and how many whole ones."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], equal, [False]]).astype(np.int8)))
    found: list[tuple[int, int]] = []
    for first, end in edges.reshape(-1, 2).tolist():
        turns = (end - first + period) // period
        if turns >= FEWEST_TURNS:
            found.append((first, turns))
    return found
