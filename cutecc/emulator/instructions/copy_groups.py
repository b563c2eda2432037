"""The groups of `cp.async` copies that each thread has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from cutecc.emulator.machine.lanes import Array, Lanes, Mask

if TYPE_CHECKING:
    from collections.abc import Hashable, Set

    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.machine import Pending
    from cutecc.emulator.machine.watch import Agent

_REMEMBERED = 512
"""Copies that are over and that nobody has waited for; older ones are forgotten."""


@dataclass(eq=False, slots=True)
class Copy:
    """One instruction's copies, of all threads that executed it."""

    pending: Pending
    mask: Mask
    """Threads that have not waited for it."""
    groups: Array
    """The number of each thread's group."""
    agents: Set[Agent]
    key: Hashable
    """Who acquires it sees what was copied."""
    tracked: Mask
    """Threads that had an mbarrier track it."""


@dataclass(eq=False, slots=True)
class CopyGroups:
    """Of the threads of a gang."""

    current: Array
    """The number of the group that a thread's next copy is in; grows with each commit."""
    copies: list[Copy] = field(default_factory=list[Copy])
    """What somebody may still have to wait for, oldest first."""
    started: int = 0

    def add(self, copy: Copy, remember: bool) -> None:
        """A copy was started. With `remember` it is kept even when it is over: somebody wants to know of it."""
        if copy.pending.done and not remember:
            return
        self.copies.append(copy)
        if len(self.copies) > _REMEMBERED and self.copies[0].pending.done:
            del self.copies[0]

    def commit(self, lanes: Lanes) -> None:
        """End the group of each of these threads, and begin another."""
        self.current = self.current + lanes.mask

    def wait(self, operation: Operation, gang: Gang, lanes: Lanes, allowed: int) -> None:
        """Have these threads' copies happen, but for those in the `allowed` newest groups that were committed; with -1
        also those that were not."""
        newest = self.current - 1 - allowed
        for copy in list(self.copies):
            due = copy.mask & lanes.mask & (copy.groups <= newest)
            if not due.any():
                continue
            gang.machine.finish(copy.pending)
            gang.machine.watch.acquire(gang, Lanes(due), operation, copy.key)
            copy.mask = copy.mask & ~due
            if not copy.mask.any():
                self.copies.remove(copy)

    def track(self, mask: Mask) -> list[Copy]:
        """The copies of these threads that they have not had tracked by an mbarrier before."""
        found = [copy for copy in self.copies if (copy.mask & ~copy.tracked & mask).any()]
        for copy in found:
            copy.tracked = copy.tracked | mask
        return found


def groups_of(gang: Gang) -> CopyGroups:
    """The groups of a gang's threads."""
    table: dict[Gang, CopyGroups] = gang.blocks[0].state.setdefault("cp.async", {})
    found = table.get(gang)
    if found is None:
        table[gang] = found = CopyGroups(np.zeros(gang.shape, np.int64))
    return found
