"""Shared memory is there until its block's last thread exits: accesses from elsewhere have to be over by then.

Such accesses are those of other blocks of the cluster, and of bulk copies. They are over in time if at least one thread
of the block knew so when it exited: it waited for the copy, or at the cluster's barrier.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from cutecc.emulator.checks import wording
from cutecc.emulator.checks.access import Access
from cutecc.emulator.checks.clocks import Clocks, Numbers
from cutecc.emulator.checks.finding import Finding
from cutecc.emulator.checks.reports import Reports
from cutecc.emulator.instructions.operation import Operation


class Exits:
    """The last access of each agent to each block's shared memory, of agents that are not threads of the block."""

    def __init__(self, clocks: Clocks, stride: int) -> None:
        """`stride` in bytes, from one block's shared memory to the next one's."""
        self._clocks = clocks
        self._stride = stride
        self._last: dict[tuple[int, int], tuple[int, Operation, Callable[[], Finding]]] = {}
        """By slot and agent: event, operation, and what makes the finding."""

    def note(self, access: Access, addresses: Numbers, event: int) -> None:
        """An access to shared memory."""
        if access.owners is not None or (access.asynchronous and access.operation.form.opcode == "wgmma"):
            return
        slots = addresses // self._stride
        chosen = np.arange(len(slots))
        if not access.asynchronous:
            chosen = np.flatnonzero(slots + int(self._clocks.serials[0]) != access.agents >> self._clocks.shift)
        if not len(chosen):
            return
        keys, first = np.unique(np.stack([slots[chosen], access.agents[chosen]]), axis=1, return_index=True)
        text = wording.late(access.operation if access.asynchronous else None)
        for (slot, agent), number in zip(keys.T.tolist(), chosen[first].tolist(), strict=True):
            self._last[slot, agent] = event, access.operation, partial(access.finding, text, number, None, "race")

    def report(self, reports: Reports) -> None:
        """All threads have exited: which accesses may have come too late."""
        clocks = self._clocks
        for (slot, agent), (event, operation, make) in self._last.items():
            first = slot * clocks.agents_per_block
            views = np.unique(clocks.view_of[first : first + clocks.threads])
            agents, events = np.full(len(views), agent), np.full(len(views), event)
            if clocks.knows(views, agents, events).any():
                continue
            # Of what `tcgen05.commit` tracks it is mostly an accumulator that is read too early, first of all.
            if operation.form.opcode != "tcgen05" or not reports.is_part("race", operation.index):
                reports.add("race", operation.index, -1, 1, make)
