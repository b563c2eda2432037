"""Multiplications of warpgroups that are under way: who started them, in which group, which registers they use.

`Gang.in_flight` lists them for the gang's warps; `block.state["wgmma"]` counts for all warps of a block. Each warp of a
warpgroup does its own quarter, 16 rows of A and D, and waits at `wgmma.wait_group` for nothing but that its
warpgroup's other warps have started theirs: hardware gives no other order among the four. What a warp did before it
started its quarter is over, then, for those that have waited for theirs.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from cutecc.emulator.machine.lanes import Array, Mask

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.block import Block
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.machine import Pending

WARPS: Final = 4
"""Of a warpgroup."""


@dataclass(eq=False, slots=True)
class InFlight:
    """One `wgmma.mma_async` that warps of a gang have started and not waited for.

    Until then its accumulators are not to be read or written, and its sources not to be written. It is the last of
    `Gang.in_flight` when `Watch.spawn` is told of it.
    """

    operation: Operation
    accumulators: tuple[int, ...]
    """Slots of `Gang.registers` that it reads and writes."""
    sources: tuple[int, ...]
    """Slots that it only reads: A in registers, and the metadata of a sparse A."""
    warps: Mask
    """Which warps of the gang, shape `(warps,)`: loses those that have waited."""
    numbers: Array
    """How many multiplications each warp had started before, shape `(warps,)`."""
    groups: Array
    """The group that it belongs to, by warp: how many groups the warp had committed before, shape `(warps,)`."""
    pending: Pending | None = None

    def shares_accumulators(self, other: InFlight) -> bool:
        """Whether it has to happen before `other`, started later: they are one chain of additions."""
        return not set(self.accumulators).isdisjoint(other.accumulators) and bool((self.warps & other.warps).any())


@dataclass(slots=True)
class Counts:
    """What the warps of one block have done, shape `(warps of the block,)`, whole warpgroups of them."""

    started: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    """Multiplications."""
    committed: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    """Groups."""


def counts(block: Block) -> Counts:
    """The counts of a block."""
    found = block.state.get("wgmma")
    if found is None:
        warps = -(-block.threads // (32 * WARPS)) * WARPS
        found = block.state["wgmma"] = Counts(np.zeros(warps, np.int64), np.zeros(warps, np.int64))
    return cast(Counts, found)


def start(
    gang: Gang, rows: list[int], operation: Operation, accumulators: tuple[int, ...], sources: tuple[int, ...]
) -> InFlight:
    """Note that warps start a multiplication."""
    warps = np.zeros(gang.warps, np.bool_)
    numbers, groups = np.zeros(gang.warps, np.int64), np.zeros(gang.warps, np.int64)
    for row in rows:
        count, warp = counts(gang.blocks[row]), int(gang.warp_numbers[row, 0])
        warps[row], numbers[row], groups[row] = True, count.started[warp], count.committed[warp]
        count.started[warp] += 1
    found = InFlight(operation, accumulators, sources, warps, numbers, groups)
    gang.in_flight.append(found)
    return found


def absent(gang: Gang, row: int, number: int) -> list[int]:
    """Warps of the warpgroup that have not started its multiplication of this number."""
    warp = int(gang.warp_numbers[row, 0])
    first = warp // WARPS * WARPS
    started = counts(gang.blocks[row]).started[first : first + WARPS]
    return [first + int(each) for each in np.flatnonzero(started <= number)]


def start_key(gang: Gang, row: int, group: int) -> Hashable:
    """What `Watch` knows the starts of a group by, of all warps of the warpgroup."""
    return "starts", "wgmma", gang.blocks[row].slot, int(gang.warp_numbers[row, 0]) // WARPS, group


def group_key(gang: Gang, row: int, group: int) -> Hashable:
    """What `Watch` knows a group of a warp by."""
    return "group", "wgmma", gang.blocks[row].slot, int(gang.warp_numbers[row, 0]), group
