"""What all bulk copies share: their places in memory, and how they end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cutecc.emulator.instructions import mbarrier_object
from cutecc.emulator.instructions.bulk_groups import groups_of
from cutecc.emulator.machine.lanes import Array, Lanes

if TYPE_CHECKING:
    from cutecc.emulator.instructions.issuer import Issuer
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.watch import AccessKind, Agent

ALIGNMENT = 16
"""Bytes: of addresses and sizes of bulk copies."""


@dataclass(frozen=True, slots=True)
class SharedPlace:
    """Bytes of one block's shared memory."""

    index: int
    """In `Memory.shared`."""
    size: int
    text: str
    """For messages: `shared+1024`."""

    def view(self, issuer: Issuer) -> Array:
        return issuer.machine.memory.shared[self.index : self.index + self.size]


class SharedOperand:
    """An operand that is an address of shared memory, of each thread."""

    def __init__(self, gang: Gang, lanes: Lanes, addresses: Array) -> None:
        self._addresses = addresses
        self.indices = gang.machine.memory.shared_index(gang, lanes, addresses)
        """Places in `Memory.shared`."""

    def place(self, issuer: Issuer, size: int, alignment: int = ALIGNMENT) -> SharedPlace | None:
        """A thread's bytes there; `None`, and a fault, where there is no such place."""
        memory, index, address = issuer.machine.memory, int(self.indices[issuer.at]), int(self._addresses[issuer.at])
        text = memory.describe("shared", address)
        if address % alignment:
            message = f"copies from or to a shared address that is not a multiple of {alignment}"
            issuer.fault("misaligned", message, text)
            return None
        if index < 0 or index % memory.shared_stride + size > memory.shared_bytes:
            issuer.fault("out-of-bounds", f"copies {size} bytes from or to outside of the block's shared memory", text)
            return None
        return SharedPlace(index, size, text)

    def mbarrier(self, issuer: Issuer) -> int | None:
        """The index of the mbarrier that a thread's copy ends with; `None`, and a fault, where there is none."""
        machine, index, address = issuer.machine, int(self.indices[issuer.at]), int(self._addresses[issuer.at])
        text = machine.memory.describe("shared", address)
        if address % 8:
            issuer.fault("misaligned", "the address of an mbarrier is not a multiple of 8", text)
            return None
        if index < 0 or index % machine.memory.shared_stride + 8 > machine.memory.shared_bytes:
            issuer.fault("out-of-bounds", "uses an mbarrier outside of the block's shared memory", text)
            return None
        machine.watch.mbarrier_used(index)
        if mbarrier_object.find(machine, index) is None:
            issuer.fault("mbarrier", f"uses {mbarrier_object.absence(machine, index)}", text)
            return None
        if mbarrier_object.is_unannounced(machine, index):
            issuer.report("mbarrier", f"completes at an mbarrier {mbarrier_object.UNANNOUNCED}", text)
        return index


def global_bytes(issuer: Issuer, address: int, size: int, writes: bool) -> tuple[Array, int] | None:
    """An allocation's bytes and the offset at which `size` bytes begin; `None`, and a fault, where there are none."""
    memory = issuer.machine.memory
    found = memory.global_view(address, size)
    does = "writes to" if writes else "reads from"
    if found is None:
        first = memory.global_view(address, 1)
        outside = address if first is None else first[0].end
        text = f"a bulk copy {does} outside of all memory that the kernel was given"
        issuer.fault("out-of-bounds", text, memory.describe("global", outside))
        return None
    allocation, offset = found
    if writes and not allocation.data.flags.writeable:
        issuer.fault(
            "out-of-bounds", f"a bulk copy {does} memory that is read-only", memory.describe("global", address)
        )
        return None
    return allocation.data, offset


@dataclass(frozen=True, slots=True, eq=False)
class Transfer:
    """One asynchronous operation that was started: what it tells the watch."""

    issuer: Issuer
    agent: Agent

    @classmethod
    def start(cls, issuer: Issuer) -> Transfer:
        return cls(issuer, issuer.machine.watch.spawn(issuer.gang, Lanes(issuer.mask), issuer.operation))

    def shared(self, kind: AccessKind, index: Sequence[int] | Array, size: int) -> None:
        """Accesses shared memory: `size` bytes from each of these places."""
        watch = self.issuer.machine.watch
        if watch.listens:
            places = np.asarray(index, np.int64)
            watch.asynchronous_access(self.agent, self.issuer.operation, kind, "shared", places, size)

    def main(self, kind: AccessKind, addresses: Callable[[], Array], size: int) -> None:
        """Accesses global memory: `size` bytes from each of these addresses."""
        watch = self.issuer.machine.watch
        if watch.listens:
            watch.asynchronous_access(self.agent, self.issuer.operation, kind, "global", addresses(), size)

    def complete(self, mbarrier: int, size: int) -> None:
        """Is over, and adds its bytes to the transactions of an mbarrier."""
        machine = self.issuer.machine
        barrier = mbarrier_object.find(machine, mbarrier)
        if barrier is not None:
            machine.watch.finish(self.agent, barrier.key)
            barrier.ledger.note("brings", self.issuer.operation, self.issuer.gang, self.issuer.mask, 1, size)
        place = machine.memory.describe("shared", mbarrier % machine.memory.shared_stride)
        mbarrier_object.complete_bytes(
            machine, mbarrier, size, lambda message: self.issuer.report("mbarrier", message, place)
        )


def post_to_mbarriers(issuer: Issuer, action: Callable[[Transfer], None], what: str) -> None:
    """Start an operation that completes bytes by itself."""
    transfer = Transfer.start(issuer)
    issuer.machine.post(
        lambda: action(transfer), lambda: f"{what} of {issuer.block.name}", issuer.block.cluster, tells=True
    )


def post_to_group(issuer: Issuer, action: Callable[[Transfer], None], what: str) -> None:
    """Start an operation of the threads' open bulk groups."""
    transfer = Transfer.start(issuer)
    groups = groups_of(issuer)
    keys = [each.open_key for each in groups]

    def act() -> None:
        action(transfer)
        for key in keys:
            issuer.machine.watch.finish(transfer.agent, key)

    pending = issuer.machine.post(act, lambda: f"{what} of {issuer.block.name}", issuer.block.cluster)
    for each in groups:
        each.add(pending)


def destinations(issuer: Issuer, index: int, masks: Array | None, *, of_pairs: bool = False) -> list[int]:
    """The same place in the shared memory of each block of the cluster whose bit is set in the thread's mask.

    With `of_pairs` it is the block of each one's pair whose rank is even or odd as that of the place's own block is.
    """
    if masks is None:
        return [index]
    mask, machine = int(masks[issuer.at]), issuer.machine
    slot, offset = divmod(index, machine.memory.shared_stride)
    blocks = issuer.block.cluster.blocks
    chosen = [block for block in blocks if mask >> block.rank & 1]
    if of_pairs:
        chosen = [blocks[block.rank & ~1 | machine.blocks[slot].rank & 1] for block in chosen]
    return [block.slot * machine.memory.shared_stride + offset for block in chosen]
