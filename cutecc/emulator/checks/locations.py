"""Order through atomics and fences: release and acquire patterns at a location (PTX ISA, "Release and Acquire").

A thread releases at a location by a strong write with `.release`, or by a strong write after a fence: then all up to
the fence is released. Another thread acquires it by a strong read with `.acquire`, or by a strong read before a fence:
then what comes after the fence is ordered. Read-modify-writes in between hand on what was released.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cutecc.emulator.checks.clocks import Clock, Clocks
from cutecc.emulator.checks.order import OF_BLOCK, WEAK, acquires, is_of_block, releases, strength
from cutecc.emulator.instructions.operation import Operation
from cutecc.emulator.machine.watch import AccessKind, Space

_Key = tuple[Space, int, int]
"""A location; and the serial number of the block that may acquire there, or `_ANY`."""
_ANY = -1


class Locations:
    """Clocks of the locations that threads synchronise at."""

    def __init__(self, clocks: Clocks) -> None:
        self._clocks = clocks
        self._released: dict[_Key, Clock] = {}
        threads = len(clocks.view_of)
        self._fence_events = np.zeros(threads, np.int32)
        self._fence_views = np.zeros(threads, np.int32)
        self._fence_of_block = np.zeros(threads, np.bool_)
        clocks.roots.append(self._fence_views)
        self._seen: dict[int, Clock] = {}
        """By thread: what its strong reads since the last fence have seen."""

    def fence(self, agents: NDArray[Any], operation: Operation) -> None:
        """Threads (numbers as in `Gang.agents`) execute a fence that orders threads."""
        clocks = self._clocks
        for agent in self._seen.keys() & set(agents.tolist()):
            clocks.acquire(self._seen.pop(agent), np.array([agent]))
        self._fence_events[agents] = clocks.now
        self._fence_views[agents] = clocks.view_of[agents]
        self._fence_of_block[agents] = is_of_block(operation.form)
        clocks.now += 1

    def fenced(self, agents: NDArray[Any]) -> NDArray[Any]:
        """When threads executed their last fence of more than the block; 0 where that was none."""
        return np.where(self._fence_of_block[agents], 0, self._fence_events[agents])

    def release_fenced(self, clock: Clock, agents: NDArray[Any]) -> None:
        """What threads have done before their last fence of more than the block is released to a clock."""
        for agent in agents[(self._fence_events[agents] > 0) & ~self._fence_of_block[agents]].tolist():
            view, event = int(self._fence_views[agent]), int(self._fence_events[agent])
            self._clocks.release_as_of(clock, agent, view, event)

    def access(
        self, agents: NDArray[Any], operation: Operation, kind: AccessKind, space: Space, addresses: NDArray[Any]
    ) -> None:
        """Threads make a strong access, each at its address, one after the other."""
        strong = strength(operation)
        if strong == WEAK:
            return
        form = operation.form
        acquire, release = acquires(form), releases(form)
        fenced = self._fence_events[agents] if kind != "read" else None
        if not self._released and not release and (fenced is None or not fenced.any()):
            return
        for number, (agent, address) in enumerate(zip(agents.tolist(), addresses.tolist(), strict=True)):
            serial = int(self._clocks.serials[agent // self._clocks.agents_per_block])
            keys: list[_Key] = [(space, address, serial)]
            if strong != OF_BLOCK:
                keys.append((space, address, _ANY))
            if kind != "write" and self._released:
                self._observe(agent, [self._released[key] for key in keys if key in self._released], acquire)
            if kind == "read":
                continue
            if kind == "write":
                self._released.pop((space, address, serial), None)
                self._released.pop((space, address, _ANY), None)
            if release:
                for key in keys:
                    self._clocks.release(self._released.setdefault(key, Clock()), np.array([agent]))
            elif fenced is not None and fenced[number]:
                self._release_as_of_fence(agent, int(fenced[number]), keys)

    def see(self, agents: NDArray[Any], clock: Clock) -> None:
        """Threads have seen what was released to a clock, and acquire it by their next fence."""
        for agent in agents.tolist():
            self._observe(agent, [clock], acquire=False)

    def _release_as_of_fence(self, agent: int, event: int, keys: list[_Key]) -> None:
        """Have who reads these locations know what the thread knew at its last fence."""
        view = int(self._fence_views[agent])
        for key in keys[:1] if self._fence_of_block[agent] else keys:
            self._clocks.release_as_of(self._released.setdefault(key, Clock()), agent, view, event)

    def _observe(self, agent: int, clocks: list[Clock], acquire: bool) -> None:
        if acquire:
            for clock in clocks:
                self._clocks.acquire(clock, np.array([agent]))
        elif clocks:
            seen = self._seen.setdefault(agent, Clock())
            for clock in clocks:
                seen.merge(clock)
