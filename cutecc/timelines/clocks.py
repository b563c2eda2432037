"""One time for all multiprocessors, each of which has a clock of its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_APART = 8192
"""Cycles: the anchors of each stretch of so many are one, their mean. The time that they hold has steps of 32 ns, or of
a microsecond on older chips, which would make much of a rate over less."""
_WRAP = 1 << 32


class Clock:
    """Nanoseconds of one multiprocessor's clock, between anchors, of which both times are known.

    The clock of a chip is not of one rate: a line through all anchors is a microsecond off where one from each to the
    next is 34 ns (standard deviation, on an H200).
    """

    def __init__(self, cycles: NDArray[np.uint32], nanoseconds: NDArray[np.uint64], rate: float) -> None:
        """Of each anchor `%clock` and `%globaltimer`; `rate`, nanoseconds a cycle, holds where there is only one."""
        order = np.argsort(nanoseconds, kind="stable")
        self._first = int(cycles[order[0]])
        self._rate = rate
        ticks, times = self.ticks(cycles[order]), nanoseconds[order].astype(np.float64)
        order = np.argsort(ticks, kind="stable")
        ticks, times = ticks[order], times[order]
        _, groups = np.unique(ticks // _APART, return_inverse=True)
        counts = np.bincount(groups)
        self._ticks = np.bincount(groups, ticks) / counts
        self._times = np.bincount(groups, times) / counts

    def ticks(self, cycles: NDArray[np.uint32]) -> NDArray[np.float64]:
        """Cycles since the first anchor; `%clock` has 32 bits, which are two seconds."""
        apart = (cycles.astype(np.int64) - self._first) % _WRAP
        # Another warp may have begun a little earlier than the first that told the time.
        return np.where(apart > _WRAP * 3 // 4, apart - _WRAP, apart).astype(np.float64)

    def times(self, cycles: NDArray[np.uint32]) -> NDArray[np.float64]:
        """Nanoseconds, of `%globaltimer`'s zero."""
        ticks = self.ticks(cycles)
        found = np.interp(ticks, self._ticks, self._times)
        before, after = ticks < self._ticks[0], ticks > self._ticks[-1]
        found[before] = self._times[0] + (ticks[before] - self._ticks[0]) * self._rate
        found[after] = self._times[-1] + (ticks[after] - self._ticks[-1]) * self._rate
        return found


def clocks_of(
    processors: NDArray[np.uint32], cycles: NDArray[np.uint32], nanoseconds: NDArray[np.uint64]
) -> dict[int, Clock]:
    """The clock of each multiprocessor, of anchors of all of them."""
    rate = _rate(processors, cycles, nanoseconds)
    return {
        int(processor): Clock(cycles[of], nanoseconds[of], rate)
        for processor in np.unique(processors)
        if (of := processors == processor).any()
    }


def _rate(processors: NDArray[np.uint32], cycles: NDArray[np.uint32], nanoseconds: NDArray[np.uint64]) -> float:
    """Nanoseconds a cycle, the median of the multiprocessors', each from its earliest to its latest anchor."""
    rates: list[float] = []
    for processor in np.unique(processors):
        of = processors == processor
        first, last = np.argmin(nanoseconds[of]), np.argmax(nanoseconds[of])
        apart = (int(cycles[of][last]) - int(cycles[of][first])) % _WRAP
        passed = int(nanoseconds[of][last]) - int(nanoseconds[of][first])
        if apart and passed:
            rates.append(passed / apart)
    return float(np.median(rates)) if rates else 1.0
