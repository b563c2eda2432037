"""Tensor memory: 128 lanes of 512 columns of 32 bits that each multiprocessor of sm_100 has (PTX ISA, "Tensor Memory").

Blocks take columns, of all lanes, while they need them. An address of 32 bits is a lane and a column.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from cutecc.emulator.machine.lanes import Array
from cutecc.emulator.memory.poison import POISON

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.block import Block
    from cutecc.emulator.machine.machine import Machine, Pending

LANES: Final = 128
COLUMNS: Final = 512
LANE_SHIFT: Final = 16
WARP_LANES: Final = 32
"""Those that a warp reaches: by its number modulo 4."""
FEWEST: Final = 32
"""Columns of an allocation, which has a power of two of them."""
CELL: Final = 4
"""Bytes."""
MEND_OF_COLUMNS: Final = "allocate as many columns as are used, or look at what is added to the address"
"""Of accesses to columns that a block has not got."""


@dataclass(frozen=True, eq=False, slots=True)
class TensorAllocation:
    """Columns that a block has."""

    first: int
    columns: int
    block: Block
    operation: Operation
    pair: bool
    """Whether the pair's other block has the same columns of its own multiprocessor (`.cta_group::2`)."""

    @property
    def stop(self) -> int:
        return self.first + self.columns


@dataclass(eq=False, slots=True)
class TensorMemory:
    """That of one multiprocessor."""

    number: int
    """Of the multiprocessor."""
    words: Array = field(default_factory=lambda: np.full((LANES, COLUMNS), POISON[4], np.uint32))
    """Shape `(LANES, COLUMNS)`."""
    allocations: list[TensorAllocation] = field(default_factory=list[TensorAllocation])
    """By their first column."""
    issued: deque[Pending] = field(default_factory=deque["Pending"])
    """What was issued to the multiprocessor's tensor pipe and is not over, in the order in which it happens."""

    def places(self, columns: int, other: TensorMemory | None = None) -> list[int]:
        """Where so many columns, a power of two, are free; with `other` free in both.

        Those of multiples of their number, as they leave the most for allocations that do not grow; else any.
        """
        taken = [*self.allocations, *(other.allocations if other is not None else ())]
        for step in (columns, FEWEST):
            found = [
                first
                for first in range(0, COLUMNS - columns + 1, step)
                if all(each.stop <= first or first + columns <= each.first for each in taken)
            ]
            if found:
                return found
        return []

    def take(self, allocation: TensorAllocation) -> None:
        """Give columns, which hold nothing yet, to a block."""
        self.words[:, allocation.first : allocation.stop] = POISON[4]
        self.allocations.append(allocation)
        self.allocations.sort(key=lambda each: each.first)

    def find(self, block: Block, first: int, stop: int) -> TensorAllocation | None:
        """The allocation of a block that has these columns."""
        return next((each for each in self.allocations if each.block is block and _holds(each, first, stop)), None)

    def has(self, block: Block, first: int, stop: int) -> bool:
        """Whether a block has all of these columns, perhaps by several allocations that follow one another."""
        if self.find(block, first, stop) is not None:
            return True
        for each in self.allocations:
            if each.block is block and each.first <= first < each.stop:
                first = each.stop
        return first >= stop

    def cells(self, lanes: Array, columns: Array) -> Array:
        """What checks know cells by: a flat array of addresses, `CELL` bytes each."""
        return _addresses(self.number, lanes, columns)


def _holds(allocation: TensorAllocation, first: int, stop: int) -> bool:
    return allocation.first <= first and stop <= allocation.stop


def _addresses(number: int, lanes: Array, columns: Array) -> Array:
    return ((number * LANES + lanes) * COLUMNS + columns).reshape(-1).astype(np.int64) * CELL


def cells_of(number: int, allocation: TensorAllocation) -> Array:
    """The addresses of all cells of an allocation of a multiprocessor, lane by lane."""
    return _addresses(number, np.arange(LANES)[:, None], np.arange(allocation.first, allocation.stop)[None, :])


def tensor_memory_of(machine: Machine, block: Block) -> TensorMemory:
    """That of the multiprocessor that a block is on."""
    found = machine.tensor_memories.get(block.processor)
    if found is None:
        found = machine.tensor_memories[block.processor] = TensorMemory(block.processor)
    return found


def lane_and_column(address: int) -> tuple[int, int]:
    """What an address says."""
    return address >> LANE_SHIFT & 0xFFFF, address & 0xFFFF


def describe(address: int) -> str:
    """An address in words: `lane 32, column 64 of tensor memory`."""
    lane, column = lane_and_column(address)
    return f"lane {lane}, column {column} of tensor memory"


def describe_cell(address: int) -> str:
    """A cell in words, by its address among those of all multiprocessors."""
    lane, column = divmod(address // CELL % (LANES * COLUMNS), COLUMNS)
    return describe(lane << LANE_SHIFT | column)
