"""Timing work on a device: warm-up, samples of several contestants in turn, graphs for what is too short alone."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

Call = Callable[[], object]
"""Puts work on the clock's stream, and does not wait for it."""
Method = Literal["events", "graph"]
"""How a sample was taken: events around one call, or around the replay of a graph of many."""

SHORT = 20.0
"""Microseconds: work shorter than this is timed in graphs, where launching it costs the host nothing."""
_SAMPLE = 1000.0
"""Microseconds that the replay of a graph is to last: a few hundred times what beginning one takes."""
_MOST_CALLS = 2000
"""Calls in one graph."""
_BATCH = 2000.0
"""Microseconds of work that one step of the warm-up times."""
_LONGEST_WARM_UP = 500_000.0
"""Microseconds."""
_STABLE = 0.03
"""Warm-up ends when two steps in a row differ from the one before by at most this fraction."""
_QUEUED = 16
"""Rounds put on the stream before the host waits for them."""
_LEAST_RUNS, _MOST_RUNS, _TOTAL = 20, 200, 1_000_000.0
"""Bounds of the number of samples that is chosen, and the microseconds of all samples together that it aims at."""


class Clock(Protocol):
    """What times work on a stream of a device."""

    def record(self) -> Any:
        """Put an event on the stream."""
        ...

    def elapsed(self, start: Any, stop: Any) -> float:
        """Microseconds between two events that have happened. Each is used once."""
        ...

    def synchronize(self) -> None:
        """Wait for everything on the stream."""
        ...

    def capture(self, calls: Sequence[Call]) -> Call | None:
        """What replays these calls as one graph; `None` when they cannot be captured. Nothing runs meanwhile."""
        ...

    def flush_l2(self) -> None:
        """Put work on the stream that leaves nothing of others in the L2 cache."""
        ...


@dataclass(frozen=True)
class Samples:
    """The times of one contestant."""

    microseconds: list[float]
    """Of one call, in the order of the rounds."""
    method: Method
    calls_per_sample: int
    captured: bool = True
    """False for short work that could not be captured: its times hold what the host takes to launch it."""

    @property
    def median(self) -> float:
        """Microseconds."""
        return statistics.median(self.microseconds)

    def percentile(self, percent: int) -> float:
        """The time, in microseconds, that `percent` of the samples do not exceed, interpolated between neighbours."""
        ordered = sorted(self.microseconds)
        position = (len(ordered) - 1) * percent / 100
        low = math.floor(position)
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


@dataclass
class _Contestant:
    calls: Sequence[Call]
    replay: Call | None
    calls_per_sample: int
    captured: bool
    next: int = 0

    def run(self) -> None:
        if self.replay is not None:
            self.replay()
            return
        self.calls[self.next % len(self.calls)]()
        self.next += 1


def measure(
    contestants: Mapping[str, Sequence[Call]], clock: Clock, *, runs: int | None = None, cold_l2: bool = False
) -> dict[str, Samples]:
    """Time each contestant `runs` times, taking turns: A B C A B C …, so that all see the same clocks and heat.

    A contestant's calls do the same work on different memory; they take turns too, each contestant's as far as can be
    from those of the others, so that none finds in the caches what another has just read. When the work of any is
    shorter than `SHORT`, all are timed as graphs of many calls. With `cold_l2` every sample is one call after the L2
    cache was flushed. Without `runs`, as many as fill a second, but 20 to 200. Every contestant has been warmed up
    until its times were stable.
    """
    costs = {name: warm_up(calls, clock) for name, calls in contestants.items()}
    in_graphs = not cold_l2 and min(costs.values()) < SHORT
    ready = {
        name: _captured(calls, costs[name], clock)
        if in_graphs
        else _Contestant(calls, None, 1, True, next=number * len(calls) // len(contestants))
        for number, (name, calls) in enumerate(contestants.items())
    }
    total = sum(cost * ready[name].calls_per_sample for name, cost in costs.items())
    if runs is None:
        runs = min(_MOST_RUNS, max(_LEAST_RUNS, int(_TOTAL / max(1.0, total))))
    found: dict[str, list[float]] = {name: [] for name in contestants}
    for first in range(0, runs, _QUEUED):
        pending: list[tuple[str, Any, Any]] = []
        # While the device is busy with this, the host gets ahead of it, and gaps between launches do not count.
        clock.flush_l2()
        for _ in range(min(_QUEUED, runs - first)):
            for name, contestant in ready.items():
                if cold_l2:
                    clock.flush_l2()
                start = clock.record()
                contestant.run()
                pending.append((name, start, clock.record()))
        clock.synchronize()
        for name, start, stop in pending:
            found[name].append(clock.elapsed(start, stop) / ready[name].calls_per_sample)
    return {
        name: Samples(
            found[name],
            "events" if contestant.replay is None else "graph",
            contestant.calls_per_sample,
            contestant.captured,
        )
        for name, contestant in ready.items()
    }


def warm_up(calls: Sequence[Call], clock: Clock) -> float:
    """Run `calls` in turn until their time is stable, at most half a second; returns microseconds of one call.

    That is the least of all steps: a driver that holds up launches for milliseconds, as has been seen on a virtual
    machine after some hundred of them, makes no short work long.
    """
    calls[0]()
    clock.synchronize()
    cost, _ = _timed(calls, 1, 0, clock)
    least, total, done, steady = cost, cost, 1, 0
    while steady < 2 and total < _LONGEST_WARM_UP:
        count = max(1, min(_MOST_CALLS, round(_BATCH / max(cost, 0.1))))
        again, spent = _timed(calls, count, done, clock)
        steady = steady + 1 if abs(again - cost) <= _STABLE * cost else 0
        cost, total, done = again, total + spent, done + count
        least = min(least, cost)
    return least


def _timed(calls: Sequence[Call], count: int, first: int, clock: Clock) -> tuple[float, float]:
    """Microseconds of one of `count` calls, and of all of them."""
    start = clock.record()
    for index in range(first, first + count):
        calls[index % len(calls)]()
    stop = clock.record()
    clock.synchronize()
    spent = clock.elapsed(start, stop)
    return spent / count, spent


def _captured(calls: Sequence[Call], cost: float, clock: Clock) -> _Contestant:
    """Many calls in a graph; one by one where they cannot be captured."""
    # Every memory the same number of times.
    rounds = math.ceil(_SAMPLE / max(cost, 0.1) / len(calls))
    count = min(_MOST_CALLS, max(1, rounds) * len(calls))
    replay = clock.capture([calls[index % len(calls)] for index in range(count)])
    if replay is None:
        return _Contestant(calls, None, 1, False)
    replay()
    clock.synchronize()
    return _Contestant(calls, replay, count, True)
