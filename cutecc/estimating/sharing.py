"""How much of what blocks read is read by others at about the same time, and so comes from memory once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cutecc.emulator.counters.copies import is_thread_copy
from cutecc.emulator.instructions.cp_async import operands_of
from cutecc.emulator.machine.watch import AccessKind, Agent, Space, Watch
from cutecc.estimating.trace import SECTOR, sectors_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.lanes import Array, Lanes

ENOUGH = 4096
"""Sectors that each block is to have read: a few turns of its loop."""
_MOST_STEPS, _MOST_REQUESTS = 4000, 60_000
"""Instructions that all warps execute together, and requests of single warps, after which it has to do."""


class EnoughError(Exception):
    """All blocks have read enough."""


class Sharing(Watch):
    """Keeps which sectors of global memory each of many blocks reads first."""

    listens = True
    counts = True

    def __init__(self, blocks: int) -> None:
        self.read: list[set[int]] = [set() for _ in range(blocks)]
        self._steps = 0
        self._requests = 0
        self._slots: dict[Agent, int] = {}
        self._agents = 0

    def ratios(self, bounds: Sequence[tuple[int, int]]) -> list[float]:
        """Of each tensor, by its first and last sector: what comes from memory over what is read, 0 to 1."""
        together = set[int]().union(*self.read)
        found: list[float] = []
        for first, last in bounds:
            total = sum(sum(first <= sector <= last for sector in read) for read in self.read)
            found.append(sum(first <= sector <= last for sector in together) / total if total else 1.0)
        return found

    def access(
        self,
        gang: Gang,
        lanes: Lanes,
        operation: Operation,
        kind: AccessKind,
        space: Space,
        addresses: Array,
        size: int,
    ) -> None:
        if space == "global" and kind == "read":
            for row in lanes.rows:
                self._add(gang.blocks[row].slot, addresses[row][lanes.mask[row]])

    def spawn(self, gang: Gang, lanes: Lanes, operation: Operation) -> Agent:
        self._agents += 1
        self._slots[self._agents] = gang.blocks[lanes.rows[0]].slot
        return self._agents

    def asynchronous_access(
        self, agent: Agent, operation: Operation, kind: AccessKind, space: Space, addresses: Array, size: int
    ) -> None:
        if space != "global" or kind != "read" or is_thread_copy(operation):
            return
        self._requests += 1
        self.read[self._slots[agent]] |= sectors_of(np.asarray(addresses, np.int64).reshape(-1), size)

    def executed(self, gang: Gang, lanes: Lanes, operation: Operation) -> None:
        self._steps += 1
        if is_thread_copy(operation):
            addresses = operands_of(operation)[1](gang)
            for row in lanes.rows:
                self._add(gang.blocks[row].slot, addresses[row][lanes.mask[row]])
        if self._steps % 16 == 0 and (
            self._steps > _MOST_STEPS or self._requests > _MOST_REQUESTS or min(map(len, self.read)) >= ENOUGH
        ):
            raise EnoughError

    def _add(self, slot: int, addresses: Array) -> None:
        self._requests += 1
        self.read[slot].update((addresses.astype(np.int64) // SECTOR).tolist())


def requested(blocks: Sequence[set[int]], bounds: Sequence[tuple[int, int]], grid_blocks: int) -> list[float]:
    """Sectors that all blocks of a grid read of each tensor, each counted once for each block.

    `blocks` are what some of them read, `bounds` the first and last sector of each tensor.
    """
    return [
        sum(sum(first <= sector <= last for sector in read) for read in blocks) / len(blocks) * grid_blocks
        for first, last in bounds
    ]
