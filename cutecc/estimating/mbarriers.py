"""The mbarriers of blocks on a simulated multiprocessor: who arrives, what completes, who waits; and the period."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from cutecc.estimating.costs import Cost
from cutecc.estimating.state import Mbarrier, Rates, Warp
from cutecc.estimating.trace import Access

_LEAST_TURNS = 6
"""Waits of a warp at one line, from which on it is a loop that has a period."""


class Mbarriers:
    """Those of all blocks that run, by block and address."""

    def __init__(
        self,
        rates: Rates,
        waits: defaultdict[str, float],
        push: Callable[[float, Warp | Callable[[float], None]], None],
    ) -> None:
        """`waits` takes the cycles that warps wait; `push` has a warp go on at a time, or something happen."""
        self._rates, self._waits, self._push = rates, waits, push
        self._leader: Warp | None = None
        """The first warp that waits at one."""
        self._turns: dict[int | None, list[float]] = {}
        """By line: when the leader came to its waits."""

    def init(self, warp: Warp, cost: Cost, access: Access, start: float) -> float | None:
        warp.block.mbarriers[access.barrier] = Mbarrier(access.number, access.number)
        return start

    def arrive(self, warp: Warp, cost: Cost, access: Access, start: float) -> float | None:
        if access.barrier >= 0:
            barrier = _at(warp, access.barrier)
            barrier.pending -= access.threads * max(1, access.number)
            self._look(barrier, start)
        return start

    def arrive_expect(self, warp: Warp, cost: Cost, access: Access, start: float) -> float | None:
        if access.barrier >= 0:
            barrier = _at(warp, access.barrier)
            barrier.bytes += access.threads * access.number
            barrier.pending -= access.threads
            self._look(barrier, start)
        return start

    def expect(self, warp: Warp, cost: Cost, access: Access, start: float) -> float | None:
        if access.barrier >= 0:
            _at(warp, access.barrier).bytes += access.threads * access.number
        return start

    def copy_arrive(self, warp: Warp, cost: Cost, access: Access, start: float) -> float | None:
        if access.barrier >= 0:
            barrier = _at(warp, access.barrier)

            def arrive(time: float) -> None:
                barrier.pending -= access.threads
                self._look(barrier, time)

            self._push(max(start, warp.copies), arrive)
        return start

    def complete(self, warp: Warp, access: Access, there: float) -> None:
        """Have the bytes of a bulk copy arrive at a time."""
        if access.barrier >= 0:
            barrier = _at(warp, access.barrier)

            def arrive(time: float) -> None:
                barrier.bytes -= access.copied
                self._look(barrier, time)

            self._push(there, arrive)

    def wait(self, warp: Warp, cost: Cost, access: Access, start: float) -> float | None:
        if access.barrier < 0:
            return start
        barrier = _at(warp, access.barrier)
        self._leader = self._leader or warp
        if warp is self._leader:
            self._turns.setdefault(cost.line, []).append(start)
        if barrier.phase & 1 != access.number & 1:
            return start + self._rates.test
        warp.time = start
        barrier.waiting.append((access.number & 1, warp))
        return None

    def period(self) -> tuple[float, int | None]:
        """The mean time between two waits of the leader at the line where it waits most often, without its first third
        of them; and the line. 0 where there is no such loop."""
        if not self._turns:
            return 0.0, None
        line, times = max(self._turns.items(), key=lambda item: len(item[1]))
        if len(times) < _LEAST_TURNS:
            return 0.0, None
        middle = times[len(times) // 3 :]
        return (middle[-1] - middle[0]) / (len(middle) - 1), line

    def _look(self, barrier: Mbarrier, time: float) -> None:
        """Whether a phase is over."""
        if barrier.pending > 0 or barrier.bytes > 0:
            return
        barrier.pending += barrier.count
        barrier.phase += 1
        waiting, barrier.waiting = barrier.waiting, []
        for parity, warp in waiting:
            if barrier.phase & 1 != parity:
                self._waits["mbarriers"] += time - warp.time
                self._push(time + self._rates.wake, warp)
            else:
                barrier.waiting.append((parity, warp))


def _at(warp: Warp, address: int) -> Mbarrier:
    found = warp.block.mbarriers.get(address)
    if found is None:
        found = warp.block.mbarriers[address] = Mbarrier(1, 1)
    return found
