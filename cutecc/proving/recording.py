"""A run that keeps its events, and what each of them arrives at or waits for."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from cutecc.proving.barriers import Clock, Mbarrier
from cutecc.proving.execution import Execution
from cutecc.proving.kernel import Operation
from cutecc.proving.tensor_loads import USE
from cutecc.proving.warps import Warp
from cutecc.proving.windows import Repetition, turn_of

Phase = tuple[int | tuple[int, int], int]
"""An mbarrier by its address, or a named one by block and number; and which of its phases, from 1 on."""

_CLUSTER = -1


@dataclass(eq=False, slots=True)
class Happened:
    """An event of a warp."""

    warp: int
    operation: Operation
    arrives: tuple[Phase, ...] = ()
    """The phases that it counts for."""
    waits: Phase | None = None
    """The phase whose end it goes on at; 0 of an mbarrier that nobody has used."""


class Stopped(Exception):
    """Enough has been seen."""


@dataclass(eq=False)
class Turns:
    """A warp's turns of a loop."""

    loop: Operation
    before: dict[int, int] = field(default_factory=dict[int, int])
    """How many events the warp had before the turn with this counter."""

    def events(self, first: int, end: int) -> slice:
        """Those of the turns from a counter up to another one."""
        return slice(self._from(first), self._from(end))

    def _from(self, counter: int) -> int:
        return next((count for turn, count in self.before.items() if turn >= counter), 0)


@dataclass(eq=False)
class Recording(Execution):
    """Keeps at most `most` events; with a repetition, ends when that loop's steady state has been seen of all warps."""

    most: int = 0
    deadline: float = math.inf
    """By the monotonic clock, for whoever has it run."""
    events_of: dict[int, list[Happened]] = field(default_factory=dict[int, list[Happened]])
    turns: dict[int, Turns] = field(default_factory=dict[int, Turns])
    """Of the loop that is looked at, by warp."""
    _arrives: list[Phase] = field(default_factory=list[Phase])
    _waits: Phase | None = None

    def happened(self, index: int, event: Operation) -> None:
        if event.name == USE:
            return
        if event.name.startswith(("nvvm.barrier", "nvvm.cluster.")):
            self._at_barrier(index, event)
        found = Happened(index, event, tuple(dict.fromkeys(self._arrives)), self._waits)
        self.events_of.setdefault(index, []).append(found)
        self._arrives, self._waits = [], None
        if self.events >= self.most:
            raise Stopped

    def arrive(self, index: int, barrier: Mbarrier, arrivals: int, clock: Clock, announced: int = 0) -> None:
        self._arrives.append((self._address(barrier), barrier.complete + 1))
        super().arrive(index, barrier, arrivals, clock, announced)

    def wait(self, index: int, barrier: Mbarrier, parity: int) -> bool:
        goes_on = super().wait(index, barrier, parity)
        if goes_on:
            self._waits = self._address(barrier), barrier.complete
        return goes_on

    def _turn(self, index: int, warp: Warp) -> None:
        repetition = self.windows
        if repetition is not None and not warp.is_between and warp.event is not None and warp.event.blocks:
            turn = turn_of(warp, repetition.symbol)
            if turn is not None:
                turns = self.turns.get(index)
                if turns is None or turns.loop is not warp.event:
                    turns = self.turns[index] = Turns(warp.event)
                turns.before.setdefault(turn.counter, len(self.events_of.get(index, ())))
        super()._turn(index, warp)
        if isinstance(repetition, Repetition) and (found := repetition.found) is not None:
            end = found.first + found.period
            if all(max(each.before) >= end for each in self.turns.values()):
                raise Stopped

    def _address(self, barrier: Mbarrier) -> int:
        return next(address for address, each in self.mbarriers.items() if each is barrier)

    def _at_barrier(self, index: int, event: Operation) -> None:
        """Who arrives without waiting may have completed the phase; who waits goes on at the last complete one."""
        if event.name.startswith("nvvm.cluster."):
            key = _CLUSTER, _CLUSTER
        else:
            key = self.warps[index].block, self.number(index, 0, "the number of a barrier") if event.operands else 0
        barrier = self.named[key]
        if "arrive" in event.name:
            self._arrives.append((key, barrier.complete + (1 if barrier.arrived else 0)))
        else:
            self._waits = key, barrier.complete
            self._arrives.append(self._waits)
