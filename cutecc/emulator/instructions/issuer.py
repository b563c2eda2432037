"""The thread that started an asynchronous operation, for what is said of the operation later."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cutecc.emulator.machine.lanes import WARP, Array, Lanes, Mask

if TYPE_CHECKING:
    from cutecc.emulator.checks.finding import FindingKind
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.block import Block
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.machine import Machine


@dataclass(frozen=True, slots=True, eq=False)
class Issuer:
    """One thread at one instruction; or several of a warp that start the very same operation, which happens once."""

    operation: Operation
    gang: Gang
    row: int
    lane: int
    """The first one's."""
    others: tuple[int, ...] = ()
    """Lanes."""

    @property
    def at(self) -> tuple[int, int]:
        """The first one's place in arrays `(warps, 32)`."""
        return self.row, self.lane

    @property
    def machine(self) -> Machine:
        return self.gang.machine

    @property
    def block(self) -> Block:
        return self.gang.blocks[self.row]

    @property
    def threads(self) -> list[int]:
        """Their linear indices in the block."""
        return [int(self.gang.threads[self.row, lane]) for lane in (self.lane, *self.others)]

    @property
    def mask(self) -> Mask:
        """A mask of the gang with these threads alone."""
        return self.gang.mask((self.row, [self.lane, *self.others]))

    def fault(self, kind: FindingKind, message: str, address: str | None = None) -> None:
        """See `Machine.fault`; `address` is in words."""
        self.machine.fault(kind, message, self.operation, self.gang, self.mask, address)

    def report(self, kind: FindingKind, message: str, address: str | None = None) -> None:
        """See `Machine.report`."""
        finding = self.machine.finding(kind, message, self.operation, self.gang, self.mask, address)
        self.machine.report(finding)


def issuers(operation: Operation, gang: Gang, lanes: Lanes) -> Iterator[Issuer]:
    """The threads of `lanes`, one by one, in the order of warps and lanes."""
    for place in np.flatnonzero(lanes.mask):
        row, lane = divmod(int(place), WARP)
        yield Issuer(operation, gang, row, lane)


def alike(operation: Operation, gang: Gang, lanes: Lanes, operands: Sequence[Array]) -> Iterator[Issuer]:
    """The same, but threads of a warp with equal operands, arrays `(warps, 32)`, are one.

    For operations of which it is all the same how often they happen. It is common that a whole warp executes the store
    of a tensor.
    """
    for row in lanes.rows:
        members = np.flatnonzero(lanes.mask[row])
        if all((each[row, members] == each[row, members[0]]).all() for each in operands):
            yield Issuer(operation, gang, row, int(members[0]), tuple(int(lane) for lane in members[1:]))
        else:
            yield from (Issuer(operation, gang, row, int(lane)) for lane in members)


def misaligned(
    operation: Operation, gang: Gang, lanes: Lanes, addresses: Array, alignment: int, space: str, what: str
) -> Lanes:
    """Faults of those threads whose address is not a multiple of `alignment` bytes; the others."""
    wrong = lanes.mask & ((addresses & np.uint64(alignment - 1)) != 0)
    if not wrong.any():
        return lanes
    describe = gang.machine.memory.describer(space, addresses)
    gang.machine.fault("misaligned", f"{what} is not a multiple of {alignment}", operation, gang, wrong, describe)
    return lanes.only(~wrong)
