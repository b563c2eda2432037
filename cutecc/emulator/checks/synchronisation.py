"""What is released to keys (of barriers, mbarriers, groups of asynchronous operations) and who acquires it; fences."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Any, cast

import numpy as np

from cutecc.emulator.checks.agents import Agents
from cutecc.emulator.checks.clocks import PROXY_GLOBAL, PROXY_SHARED, PROXY_TENSOR_MAP, Clock, Clocks, Numbers
from cutecc.emulator.checks.locations import Locations
from cutecc.emulator.checks.order import fences_threads
from cutecc.emulator.instructions.operation import Operation

_PHASES = 8
"""Phases of a barrier that threads may still come from; clocks of older ones are forgotten."""
_GROUPS = 1 << 14
"""Groups of asynchronous operations that nobody has waited for, whose clocks are kept."""


class Synchronisation:
    """The clocks of keys. Threads are numbers as in `Gang.agents`."""

    def __init__(self, clocks: Clocks, agents: Agents, locations: Locations, stride: int) -> None:
        """`stride` in bytes, from one block's shared memory to the next one's."""
        self._stride = stride
        self.narrow: dict[int, tuple[int, Operation]] = {}
        """By thread, as a number with serial: when it last arrived at another block's mbarrier in the scope of its own
        block, and by what."""
        self._clocks = clocks
        self._agents = agents
        self._locations = locations
        self._fenced_inits = np.zeros(len(clocks.view_of), np.int32)
        """When each thread executed its last `fence.mbarrier_init`."""
        self._released: dict[Hashable, Clock] = {}
        self._groups: deque[Hashable] = deque()

    def finish(self, agent: int, key: Hashable) -> None:
        """An asynchronous operation is over."""
        started = self._agents.find(agent)
        if started is not None:
            if started.result is not None:
                self._agents.finish_reads(started, self._clock(_of_reads(key)))
            self._agents.finish(started, self._clock(key), _is_group(key))

    def order(self, agent: int, key: Hashable) -> None:
        """An asynchronous operation happens after what was released to a key."""
        started, clock = self._agents.find(agent), self._released.get(key)
        if started is not None and clock is not None:
            self._agents.learn(started, clock)

    def release(self, threads: Numbers, operation: Operation, key: Hashable) -> None:
        if not len(threads):
            return
        clock = self._clock(key)
        if operation.form.has("relaxed") or self._is_narrow(threads, operation, key):
            self._locations.release_fenced(clock, threads)
            self._clocks.release_inits(clock, threads, self._fenced_inits[threads])
            return
        self._clocks.release(clock, threads)

    def _is_narrow(self, threads: Numbers, operation: Operation, key: Hashable) -> bool:
        """Whether threads arrive at another block's mbarrier, and say that those of their own shall see what they did.

        Without a scope, an arrival reaches as far as its mbarrier.
        """
        if operation.form.opcode != "mbarrier" or not operation.form.has("cta"):
            return False
        slot = cast("tuple[str, int, int]", key)[1] // self._stride
        others = threads[threads // self._clocks.agents_per_block != slot]
        for agent in self._clocks.agents_of(others).tolist():
            self.narrow[agent] = self._clocks.now, operation
        return len(others) > 0

    def acquire(self, threads: Numbers, operation: Operation, key: Hashable) -> None:
        if operation.form.has("wait_group") and operation.form.has("read"):
            key = _of_reads(key)
        clock = self._released.get(key)
        if clock is not None and operation.form.has("relaxed"):
            self._locations.see(threads, clock)
        elif clock is not None and len(threads):
            self._clocks.acquire(clock, threads)
            if _is_group(key) and not clock.copied:
                # Only those who started the group wait for it, once.
                del self._released[key]

    def fence(self, threads: Numbers, operation: Operation) -> None:
        form, clocks = operation.form, self._clocks
        if form.opcode == "wgmma":
            return
        if form.opcode == "tcgen05" and clocks.tensor_fences:
            clocks.tensor_fence(threads, before=form.has("fence::before_thread_sync"))
        if fences_threads(form):
            self._locations.fence(threads, operation)
        elif form.has("mbarrier_init"):
            self._fenced_inits[threads] = clocks.now
            clocks.now += 1
        elif form.has("tensormap::generic"):
            if form.has("acquire"):
                clocks.proxy_fence(threads, (PROXY_TENSOR_MAP,))
        elif form.has("async") or form.has("async::generic"):
            rows = (PROXY_SHARED, PROXY_GLOBAL)
            if form.has("global"):
                rows = (PROXY_GLOBAL,)
            elif any("shared" in each for each in form.modifiers):
                rows = (PROXY_SHARED,)
            clocks.proxy_fence(threads, rows)

    def _clock(self, key: Hashable) -> Clock:
        found = self._released.get(key)
        if found is None:
            found = self._released[key] = Clock()
            *name, number = cast("tuple[Any, ...]", key)
            if name[0] == "group":
                self._groups.append(key)
                if len(self._groups) > _GROUPS:
                    self._released.pop(self._groups.popleft(), None)
            elif isinstance(number, int):
                self._released.pop((*name, number - _PHASES), None)
        return found


def _is_group(key: Hashable) -> bool:
    """Whether a key is of a group of asynchronous operations."""
    return cast("tuple[Any, ...]", key)[0] == "group"


def _of_reads(key: Hashable) -> Hashable:
    """The key of who waits for the reads of a bulk group alone."""
    return (*cast("tuple[Any, ...]", key)[:1], "reads", *cast("tuple[Any, ...]", key)[2:])
