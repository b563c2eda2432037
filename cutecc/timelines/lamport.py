"""Clocks that count instructions, and what happens at them: a watch of the emulator."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cutecc.emulator.instructions.block_barrier import Barrier
from cutecc.emulator.instructions.mbarrier_object import Mbarrier
from cutecc.emulator.machine.lanes import rows_of
from cutecc.emulator.machine.watch import Agent, Watch
from cutecc.timelines.instructions import Deed, deed_of

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.lanes import Lanes, Mask
    from cutecc.emulator.machine.machine import Machine
    from cutecc.emulator.machine.program import Program


_FOR_EVER = 8
"""A wait that nothing ends goes on for a part of the whole, so that it is seen."""


@dataclass(slots=True, eq=False)
class Event:
    """What a warp did at an instruction."""

    operation: int
    """Index in `Program.operations`."""
    start: int
    end: int
    key: Hashable = None
    """The barrier that it was about, as `Watch.acquire` and its like are told; `None` where none is known."""
    is_for_ever: bool = False
    """Whether it is a wait that nothing ended."""


@dataclass(eq=False)
class WarpClocks:
    """Of the warps of a gang."""

    now: NDArray[np.int64]
    """How late it is for each, in instructions."""
    waits: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    """By row: the instruction at which it waits, by its index, and when it came there."""
    keys: dict[int, Hashable] = field(default_factory=dict[int, Hashable])
    """By row: what it waited for at the instruction that it executes."""
    events: list[list[Event]] = field(default_factory=list[list[Event]])
    """By row."""

    @classmethod
    def of(cls, warps: int) -> WarpClocks:
        return cls(np.zeros(warps, np.int64), events=[[] for _ in range(warps)])

    def comes(self, row: int, operation: Operation, now: int) -> int:
        """When a warp came to an instruction at which it waits: now, unless it has before."""
        index, since = self.waits.get(row, (-1, now))
        if index != operation.index:
            self.waits[row] = operation.index, (since := now)
        return since


class LamportWatch(Watch):
    """Counts the instructions of each warp. Who acquires what others have released is as late as they were."""

    listens = True
    counts = True

    def __init__(self, program: Program, machine: Machine) -> None:
        self.program = program
        self.machine = machine
        self._deeds: list[Deed | None] = [deed_of(operation) for operation in program.operations]
        self._clocks: dict[Gang, WarpClocks] = {gang: WarpClocks.of(gang.warps) for gang in machine.gangs}
        self._released: dict[Hashable, int] = {}
        self._agents: dict[Agent, int] = {}
        """When each asynchronous operation was begun, or may go on."""
        self._begun: dict[Agent, list[Event]] = {}
        """What becomes known of events when an operation is over: the mbarrier that is told."""
        self._rows: tuple[Mask | None, list[int]] = (None, [])

    def clocks(self, gang: Gang) -> WarpClocks:
        return self._clocks[gang]

    def deadlocked(self) -> None:
        """Note what each warp waits for that cannot go on. For ever is a bit later than all that happened."""
        latest = max(int(clocks.now.max()) for clocks in self._clocks.values())
        end = latest + max(1, latest // _FOR_EVER)
        for gang, clocks in self._clocks.items():
            for fragment in gang.fragments:
                operation, waiting = self.program.operations[fragment.place], fragment.waiting
                for row in rows_of(fragment.mask):
                    if clocks.now[row] == end:
                        # Threads that went another way wait as well: a warp has one lane.
                        continue
                    on = waiting.on(row) if waiting is not None and waiting.on is not None else None
                    key = on.key if isinstance(on, Mbarrier | Barrier) else None
                    start = clocks.comes(row, operation, int(clocks.now[row]))
                    clocks.events[row].append(Event(operation.index, start, end, key, is_for_ever=True))
                    clocks.now[row] = end

    # What the machine tells.

    def executed(self, gang: Gang, lanes: Lanes, operation: Operation) -> None:
        clocks, rows = self._clocks[gang], self._rows_of(lanes)
        deed = self._deeds[operation.index]
        if deed is not None and deed.when == "executed":
            for row in rows:
                self._passed(clocks, row, operation, deed)
        clocks.now[rows] += 1

    def _passed(self, clocks: WarpClocks, row: int, operation: Operation, deed: Deed) -> None:
        now, key = int(clocks.now[row]), clocks.keys.pop(row, None)
        start = clocks.comes(row, operation, now)
        if deed.needs_key and key is None:
            # It has looked in vain, and will look again.
            return
        del clocks.waits[row]
        end = now + 1 if deed.takes_time else start
        clocks.events[row].append(Event(operation.index, start, end, key))

    def acquire(self, gang: Gang, lanes: Lanes, operation: Operation, key: Hashable) -> None:
        since, clocks = self._released.get(key, 0), self._clocks[gang]
        deed = self._deeds[operation.index]
        for row in lanes.rows:
            now = int(clocks.now[row])
            if deed is not None:
                clocks.keys[row] = key
                clocks.comes(row, operation, now)
            clocks.now[row] = max(now, since)

    def release(self, gang: Gang, lanes: Lanes, operation: Operation, key: Hashable) -> None:
        clocks, rows = self._clocks[gang], lanes.rows
        latest = int(clocks.now[rows].max())
        self._released[key] = max(self._released.get(key, 0), latest)
        deed = self._deeds[operation.index]
        if deed is not None and deed.when == "released":
            for row in rows:
                self._note(clocks, row, operation, key)

    def spawn(self, gang: Gang, lanes: Lanes, operation: Operation) -> Agent:
        clocks, rows, agent = self._clocks[gang], lanes.rows, len(self._agents)
        self._agents[agent] = int(clocks.now[rows].max())
        deed = self._deeds[operation.index]
        if deed is not None and deed.when == "spawned":
            events = [self._note(clocks, row, operation, None) for row in rows]
            if deed.needs_key:
                self._begun[agent] = events
        return agent

    def order(self, agent: Agent, key: Hashable) -> None:
        self._agents[agent] = max(self._agents[agent], self._released.get(key, 0))

    def finish(self, agent: Agent, key: Hashable) -> None:
        self._released[key] = max(self._released.get(key, 0), self._agents[agent])
        if isinstance(key, tuple) and key[0] == "mbarrier":
            for event in self._begun.pop(agent, ()):
                event.key = event.key or key

    def _note(self, clocks: WarpClocks, row: int, operation: Operation, key: Hashable) -> Event:
        """An instant."""
        now = int(clocks.now[row])
        event = Event(operation.index, now, now, key)
        clocks.events[row].append(event)
        return event

    def _rows_of(self, lanes: Lanes) -> list[int]:
        """The warps of the set, which is often the same from one instruction to the next."""
        mask, rows = self._rows
        if mask is not lanes.mask:
            rows = lanes.rows
            self._rows = lanes.mask, rows
        return rows
