"""Groups of bulk copies that a thread commits and waits for: `.bulk_group` operations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from cutecc.emulator.instructions.table import Step, instruction
from cutecc.emulator.machine.lanes import WARP, Lanes
from cutecc.ptx.syntax import Immediate

if TYPE_CHECKING:
    from cutecc.emulator.instructions.issuer import Issuer
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.block import Block
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.machine import Pending
    from cutecc.emulator.machine.waiting import Waiting

GroupKey = tuple[str, str, int, int, int]


@dataclass(slots=True)
class BulkGroups:
    """The bulk copies of one thread."""

    slot: int
    thread: int
    open: list[Pending] = field(default_factory=list["Pending"])
    """Started since the last commit."""
    committed: list[list[Pending]] = field(default_factory=list["list[Pending]"])

    def key(self, group: int) -> GroupKey:
        """Who acquires it sees what the operations of the group did."""
        return ("group", "bulk", self.slot, self.thread, group)

    @property
    def open_key(self) -> GroupKey:
        """Of the group that is committed next."""
        return self.key(len(self.committed))


def groups_of(issuer: Issuer) -> list[BulkGroups]:
    """Those of each thread that starts a copy."""
    table, slot = _table(issuer.block), issuer.block.slot
    return [table.setdefault(thread, BulkGroups(slot, thread)) for thread in issuer.threads]


def _table(block: Block) -> dict[int, BulkGroups]:
    """By thread; only of those that have ever started a copy."""
    return block.state.setdefault("bulk groups", {})


def _groups(gang: Gang, lanes: Lanes) -> Iterator[tuple[int, int, BulkGroups]]:
    """The groups of the threads that have any, by their row and lane."""
    for row in lanes.rows:
        warp = int(gang.warp_numbers[row, 0])
        for thread, groups in _table(gang.blocks[row]).items():
            if thread // WARP == warp and lanes.mask[row, thread % WARP]:
                yield row, thread % WARP, groups


@instruction("cp.async.bulk.commit_group")
def commit(operation: Operation) -> Step:
    def step(gang: Gang, lanes: Lanes) -> Waiting | None:
        for _, _, groups in _groups(gang, lanes):
            groups.committed.append(groups.open)
            groups.open = []

    return step


@instruction("cp.async.bulk.wait_group.read?")
def wait(operation: Operation) -> Step:
    """Until all groups but the last few are over; with `.read`, until they have read their sources."""
    (count,) = operation.operands
    if not isinstance(count, Immediate):
        raise operation.error("the number of groups is not a constant")

    def step(gang: Gang, lanes: Lanes) -> Waiting | None:
        machine = gang.machine
        for row, lane, groups in _groups(gang, lanes):
            mask = np.zeros(gang.shape, np.bool_)
            mask[row, lane] = True
            for number in range(len(groups.committed) - count.bits):
                for pending in groups.committed[number]:
                    machine.finish(pending)
                if machine.watch.listens:
                    machine.watch.acquire(gang, Lanes(mask), operation, groups.key(number))

    return step
