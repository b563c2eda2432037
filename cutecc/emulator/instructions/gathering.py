"""Threads of a gang that come to a barrier of their blocks in parts, and will most likely all be there soon.

A gang that has all warps of a block need not count which of them have arrived: once the block's threads are together
again, at one instruction and in one fragment, all have. Until then those that came first wait. Where that does not come
true, because others come by another instruction, the barrier counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from cutecc.emulator.instructions.block_barrier import Barrier, barriers_of
from cutecc.emulator.machine.lanes import WARP, Array, Mask

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.gang import Gang


@dataclass(slots=True, eq=False)
class Gathering:
    """Those that wait at one instruction."""

    operation: Operation
    mask: Mask
    alive: Mask
    """When the first ones came."""
    is_split: bool = False
    """Whether all of a block have come, but were not in one fragment when they did."""


@dataclass(slots=True, eq=False)
class Gatherings:
    """Those of one gang, by number of the barrier."""

    block_of: Array
    """Of each row of the gang, as a number."""
    has_all_warps: bool
    """Whether the gang has all warps of its blocks."""
    waiting: dict[int, Gathering] = field(default_factory=dict[int, Gathering])
    counted: set[int] = field(default_factory=set[int])
    """Barriers that have to count."""

    def complete(self, gang: Gang, mask: Mask) -> Mask:
        """Those of `mask` whose blocks are there as a whole, but for what has exited."""
        rows = np.logical_or.reduce(gang.alive & ~mask, axis=1)
        if not rows.any():
            return mask
        incomplete = np.zeros(gang.warps, np.bool_)
        incomplete[self.block_of[rows]] = True
        return mask & ~incomplete[self.block_of][:, None]

    def join(self, gang: Gang, mask: Mask, operation: Operation, number: int) -> bool:
        """Threads come, of blocks that are not complete; whether they may wait here."""
        found = self.waiting.get(number)
        if found is None:
            self.waiting[number] = Gathering(operation, mask, gang.alive)
            return True
        if found.operation is not operation:
            return False
        found.mask = found.mask | mask
        was_split, found.is_split = found.is_split, bool(self.complete(gang, found.mask).any())
        if found.is_split and was_split:
            return False
        if found.is_split:
            # They are joined to one fragment now, if they can be, and look again.
            gang.machine.changed(gang.cluster)
        return True

    def leave(self, gang: Gang, mask: Mask, number: int) -> Mask | None:
        """Threads of complete blocks go on. Those that came with a part of their warp whose rest has exited since."""
        found = self.waiting.get(number)
        if found is None:
            return None
        gone = found.alive & ~gang.alive & ~found.mask
        left = mask & np.logical_or.reduce(gone, axis=1, keepdims=True) & found.mask
        found.mask = found.mask & ~mask
        if not found.mask.any():
            del self.waiting[number]
        return left if left.any() else None

    def count(self, gang: Gang, number: int) -> None:
        """From here on the barrier counts, also those that wait already."""
        if number not in self.counted:
            self.counted.add(number)
            if self.waiting.pop(number, None) is not None:
                gang.machine.changed(gang.cluster)

    def describe(self, gang: Gang, mask: Mask, number: int, row: int) -> str:
        """What the threads of a row wait for."""
        found = self.waiting.get(number)
        come = mask if found is None else found.mask
        _, rows = barriers_of(gang)[int(self.block_of[row])]
        whole, partly = 0, dict[int, Mask]()
        for each in rows:
            if come[each].any() and (gang.alive[each] & ~come[each]).any():
                partly[int(gang.warp_numbers[each, 0])] = come[each]
            elif come[each].any():
                whole += 1
        return self.barrier(gang, number, row).describe(whole, partly)

    def barrier(self, gang: Gang, number: int, row: int) -> Barrier:
        """That of the block of a row."""
        barriers, _ = barriers_of(gang)[int(self.block_of[row])]
        return barriers[number]


_OF_GANG: WeakKeyDictionary[Gang, Gatherings] = WeakKeyDictionary()


def gatherings_of(gang: Gang) -> Gatherings:
    found = _OF_GANG.get(gang)
    if found is None:
        block_of = np.zeros(gang.warps, np.int64)
        for number, (_, rows) in enumerate(barriers_of(gang)):
            block_of[rows] = number
        has_all = all(len(rows) == -(-barriers.block.threads // WARP) for barriers, rows in barriers_of(gang))
        found = _OF_GANG[gang] = Gatherings(block_of, has_all)
    return found
