"""Groups of bulk copies that a thread commits and waits for: `.bulk_group` operations."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cutecc.emulator.instructions.table import Step, instruction
from cutecc.emulator.machine.lanes import WARP, Lanes

if TYPE_CHECKING:
    from cutecc.emulator.instructions.issuer import Issuer
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.block import Block
    from cutecc.emulator.machine.fragment import Waiting
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.machine import Pending

GroupKey = tuple[str, str, int, int, int]


@dataclass(slots=True)
class BulkGroups:
    """The bulk copies of one thread, in groups that are numbered as they are committed."""

    slot: int
    thread: int
    open: list[Pending] = field(default_factory=list["Pending"])
    """Started since the last commit, and not over when they were."""
    committed: deque[list[Pending]] = field(default_factory=deque["list[Pending]"])
    """Groups that the thread has not waited for, oldest first."""
    over: int = 0
    """How many groups came before those."""
    seen: int = 0
    """Of how many groups the thread has acquired what they did."""
    seen_reads: int = 0
    """Of how many it has acquired at least that they have read their sources."""

    def key(self, group: int) -> GroupKey:
        """Who acquires it sees what the operations of the group did."""
        return ("group", "bulk", self.slot, self.thread, group)

    @property
    def open_key(self) -> GroupKey:
        """Of the group that is committed next."""
        return self.key(self.count)

    @property
    def count(self) -> int:
        """How many groups are committed."""
        return self.over + len(self.committed)

    def add(self, pending: Pending) -> None:
        """A copy was started."""
        if not pending.done:
            self.open.append(pending)

    def commit(self) -> None:
        """End the open group, and begin another."""
        self.committed.append(self.open)
        self.open = []

    def take(self, latest: int) -> Iterator[Pending]:
        """The operations of all groups but the latest: the thread waits for them now."""
        while len(self.committed) > latest:
            self.over += 1
            yield from self.committed.popleft()

    def news(self, latest: int, reads: bool) -> range:
        """Those of all groups but the latest that the thread has not acquired yet; with `reads`, nor their reads."""
        first, end = self.seen_reads if reads else self.seen, self.count - latest
        self.seen_reads = max(self.seen_reads, end)
        if not reads:
            self.seen = max(self.seen, end)
        return range(first, end)


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
            groups.commit()

    return step


@instruction("cp.async.bulk.wait_group.read?")
def wait(operation: Operation) -> Step:
    """Until all groups but the last few are over; with `.read`, until they have read their sources."""
    (count,) = operation.operands
    latest, reads = operation.constant(count), operation.form.has("read")

    def step(gang: Gang, lanes: Lanes) -> Waiting | None:
        machine = gang.machine
        for row, lane, groups in _groups(gang, lanes):
            for pending in groups.take(latest):
                machine.finish(pending)
            if machine.watch.listens:
                alone = Lanes(gang.mask((row, lane)))
                for number in groups.news(latest, reads):
                    machine.watch.acquire(gang, alone, operation, groups.key(number))

    return step
