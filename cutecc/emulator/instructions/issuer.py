"""The thread that started an asynchronous operation, for what is said of the operation later."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cutecc.emulator.machine.lanes import Array, Lanes, Mask

if TYPE_CHECKING:
    from cutecc.emulator.checks.finding import FindingKind
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.block import Block
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.machine import Machine


@dataclass(frozen=True, slots=True, eq=False)
class Issuer:
    """One thread at one instruction."""

    operation: Operation
    gang: Gang
    row: int
    lane: int

    @property
    def machine(self) -> Machine:
        return self.gang.machine

    @property
    def block(self) -> Block:
        return self.gang.blocks[self.row]

    @property
    def thread(self) -> int:
        """Its linear index in the block."""
        return int(self.gang.threads[self.row, self.lane])

    @property
    def mask(self) -> Mask:
        """A mask of the gang with this thread alone."""
        mask = np.zeros(self.gang.shape, np.bool_)
        mask[self.row, self.lane] = True
        return mask

    def fault(self, kind: FindingKind, message: str, address: str | None = None) -> None:
        """See `Machine.fault`; `address` is in words."""
        self.machine.fault(kind, message, self.operation, self.gang, self.mask, _same(address))

    def report(self, kind: FindingKind, message: str, address: str | None = None) -> None:
        """See `Machine.report`."""
        finding = self.machine.finding(kind, message, self.operation, self.gang, self.mask, _same(address))
        self.machine.report(finding)


def _same(address: str | None) -> Callable[[int, int], str] | None:
    if address is None:
        return None

    def at(row: int, lane: int) -> str:
        return address

    return at


def issuers(operation: Operation, gang: Gang, lanes: Lanes) -> Iterator[Issuer]:
    """The threads of `lanes`, one by one, in the order of warps and lanes."""
    for place in np.flatnonzero(lanes.mask):
        row, lane = divmod(int(place), 32)
        yield Issuer(operation, gang, row, lane)


def misaligned(
    operation: Operation, gang: Gang, lanes: Lanes, addresses: Array, alignment: int, space: str, what: str
) -> Lanes:
    """Faults of those threads whose address is not a multiple of `alignment` bytes; the others."""
    wrong = lanes.mask & ((addresses & np.uint64(alignment - 1)) != 0)
    if not wrong.any():
        return lanes
    describe = _describer(gang, space, addresses)
    gang.machine.fault("misaligned", f"{what} is not a multiple of {alignment}", operation, gang, wrong, describe)
    return lanes.only(~wrong)


def _describer(gang: Gang, space: str, addresses: Array) -> Callable[[int, int], str]:
    return lambda row, lane: gang.machine.memory.describe(space, int(addresses[row, lane]))
