"""Addresses of tensor memory, who may reach which lane, and what may be allocated.

PTX ISA, 9.7.16.1 "Tensor Memory", 9.7.16.1.1 "Tensor Memory Addressing", 9.7.16.1.2 "Tensor Memory Allocation",
9.7.16.7.1 "tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit", 9.7.16.8.1 "Access restrictions".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LANES = 128
COLUMNS = 512
CELL_BITS = 32
LANES_OF_A_WARP = 32
COLUMNS_OF_A_UNIT = 32
"""Allocations are of whole units, and of a power of two of columns."""


@dataclass(frozen=True, order=True)
class Cell:
    """A lane and a column: 32 bits."""

    lane: int
    column: int

    def moved(self, lanes: int = 0, columns: int = 0) -> Cell:
        return Cell(self.lane + lanes, self.column + columns)

    @property
    def exists(self) -> bool:
        return 0 <= self.lane < LANES and 0 <= self.column < COLUMNS


@dataclass(frozen=True, order=True)
class Bits:
    """Some bits of a cell."""

    cell: Cell
    first: int
    count: int


def decode_address(address: int) -> Cell:
    return Cell(address >> 16 & 0xFFFF, address & 0xFFFF)


def encode_address(cell: Cell) -> int:
    return cell.lane << 16 | cell.column


def lanes_of_warp(warp: int) -> range:
    """What `tcgen05.ld` and `tcgen05.st` of this warp of the block may reach: by its rank in its warpgroup."""
    first = warp % 4 * LANES_OF_A_WARP
    return range(first, first + LANES_OF_A_WARP)


def refusal_of_allocation(columns: int, earlier: Sequence[int] = (), *, relinquished: bool = False) -> str | None:
    """Why a block may not allocate so many columns after its `earlier` allocations, in the order of execution."""
    if not COLUMNS_OF_A_UNIT <= columns <= COLUMNS:
        return f"between {COLUMNS_OF_A_UNIT} and {COLUMNS} columns"
    if columns & columns - 1:
        return "a power of two of columns"
    if any(columns > each for each in earlier):
        return "no more columns than an earlier allocation of the block"
    if relinquished:
        return "nothing after relinquish_alloc_permit"
    return None


def may_allocate_at_once(columns: int, free: Sequence[range]) -> bool:
    """Whether an allocation need not wait: it gets consecutive columns, wherever they are."""
    return any(len(each) >= columns for each in free)
