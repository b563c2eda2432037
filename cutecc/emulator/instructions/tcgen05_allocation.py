"""`tcgen05.alloc`, `dealloc`, `relinquish_alloc_permit`: columns of tensor memory (PTX ISA, "Tensor Memory").

A warp waits until its multiprocessor has the columns free. With `.cta_group::2` a warp of each of the pair's blocks
asks, and both get the same columns; and one of each gives them back, and may have to wait for the other. A block that
has given up its permit may ask for no more, nor for more columns than before. Where an allocation lies is the
schedule's choice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from cutecc.emulator.instructions.aligned import aligned
from cutecc.emulator.instructions.table import Step, instruction
from cutecc.emulator.machine.fragment import Waiting
from cutecc.emulator.machine.lanes import Array, Lanes
from cutecc.emulator.memory.tensor_memory import (
    COLUMNS,
    FEWEST,
    TensorAllocation,
    TensorMemory,
    describe,
    lane_and_column,
    tensor_memory_of,
)

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.block import Block
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.machine import Machine

_GROUP: Final = "{cta_group::1,cta_group::2}"
_STATE: Final = "tensor allocations"
MEND_OF_PAIRS: Final = "launch clusters of an even number of blocks, or have .cta_group::1 in the whole kernel"
"""Of an operation of a pair of blocks where there is none."""


@dataclass(slots=True)
class _Requests:
    """What a block has asked for."""

    relinquished: Operation | None = None
    """What gave up the permit."""
    last: tuple[int, Operation] | None = None
    """Columns of the last allocation, and what it was."""
    done: int = 0
    """How many allocations of the pair it has got."""
    granted: list[int] = field(default_factory=list[int])
    """The first columns of the pair's allocations, in their order; of the block of even rank, for both."""
    asks: int | None = None
    """Columns that it waits for, together with the pair's other block."""
    gives: int = 0
    """How many allocations of the pair its warps have come to give back."""
    giving: dict[int, int] = field(default_factory=dict[int, int])
    """Which of them a warp waits to give back, by the warp's number."""
    freed: dict[tuple[int, int], Operation] = field(default_factory=dict[tuple[int, int], "Operation"])
    """What gave back the columns from one on, so many."""


@dataclass(frozen=True, eq=False, slots=True)
class ColumnsWanted:
    """A block waits for columns that others have."""

    block: Block
    columns: int
    memories: tuple[TensorMemory, ...]

    def __str__(self) -> str:
        return f"{self.columns} columns of tensor memory to be free: {self.holders}"

    @property
    def holders(self) -> str:
        """Who has how many, and since where."""
        return ", ".join(
            f"{each.block.name} has {each.columns} (allocated at {each.operation.where})"
            for memory in self.memories
            for each in memory.allocations
        )


@dataclass(frozen=True, eq=False, slots=True)
class PeerAwaited:
    """A block of a pair waits for the other one to do the same."""

    block: Block
    other: Block
    does: Literal["alloc", "dealloc"]
    what: str

    def __str__(self) -> str:
        return self.what


def _requests(block: Block) -> _Requests:
    return block.state.setdefault(_STATE, _Requests())


def pair_of(block: Block) -> tuple[Block, Block] | None:
    """The two blocks of a pair, that of even rank first; `None` where the cluster has no such pair."""
    first = block.rank & ~1
    blocks = block.cluster.blocks
    return (blocks[first], blocks[first + 1]) if first + 1 < len(blocks) else None


_Awaited = ColumnsWanted | PeerAwaited


@instruction(f"tcgen05.alloc.{_GROUP}.sync.aligned.{{shared::cta,shared}}?.b32")
def allocate(operation: Operation) -> Step:
    target, count = operation.operands
    address, read = operation.address(target), operation.reader(count, "u32")
    space = "shared" if any(each.startswith("shared") for each in operation.form.modifiers) else "generic"
    pair = operation.form.has("cta_group::2")

    def execute(gang: Gang, lanes: Lanes) -> Waiting | None:
        found: dict[int, int] = {}
        columns = np.broadcast_to(read(gang), gang.shape)

        def ask(row: int) -> _Awaited | None:
            wanted = int(columns[row, int(lanes.mask[row].argmax())])
            if wrong := _refused(gang.blocks[row], wanted, pair):
                gang.machine.fault("tensor-memory", wrong, operation, gang, gang.mask(row, lanes.mask[row]))
                return None
            take = _of_pair if pair else _of_one
            first = take(gang.machine, gang.blocks[row], wanted, operation)
            if not isinstance(first, int):
                return first
            found[row] = first
            _requests(gang.blocks[row]).last = wanted, operation
            return None

        waiting = _of_all(gang, lanes, ask)
        for row in sorted(found):
            block = gang.blocks[row]
            memory = tensor_memory_of(gang.machine, block)
            allocation = memory.find(block, found[row], found[row] + 1)
            assert allocation is not None
            watch = gang.machine.watch
            watch.tensor_allocation(gang, lanes.only(gang.mask(row)), operation, memory.number, allocation)
        if found:
            _tell(operation, gang, lanes, space, address(gang), found)
        return waiting

    return aligned(operation, execute)


def _of_all(gang: Gang, lanes: Lanes, ask: Callable[[int], _Awaited | None]) -> Waiting | None:
    """Have each warp ask, by its row in the gang; what those wait for that have to.

    Who had to wait asks once more: another one of the gang may be of the same pair.
    """
    late = {row: awaited for row in lanes.rows if (awaited := ask(row)) is not None}
    late = {row: awaited for row in late if (awaited := ask(row)) is not None}
    if not late:
        return None
    return Waiting(gang.mask(sorted(late)) & lanes.mask, lambda row: str(late[row]), late.__getitem__)


def _refused(block: Block, columns: int, pair: bool) -> str | None:
    """Why a block cannot have columns, if it cannot."""
    if columns & (columns - 1) or not FEWEST <= columns <= COLUMNS:
        text = f"allocates {columns} columns of tensor memory: it has to be a power of two, from {FEWEST} to {COLUMNS}"
        enough = max(FEWEST, 1 << max(columns - 1, 0).bit_length())
        return f"{text}\n{f'allocate {enough}' if enough <= COLUMNS else 'use fewer: smaller tiles, or fewer stages'}"
    requests = _requests(block)
    before = requests.relinquished
    if before is not None:
        text = f"allocates tensor memory after its block has given up the permit to, at {before.where}"
        return f"{text}\nall that a block allocates comes before its tcgen05.relinquish_alloc_permit"
    if requests.last is not None and columns > requests.last[0]:
        fewer, earlier = requests.last
        text = f"allocates {columns} columns of tensor memory after {fewer} at {earlier.where}"
        return f"{text}: they may not get more\nallocate the most columns first, or all at once"
    if pair and pair_of(block) is None:
        return f"allocates tensor memory of a pair of blocks, and its cluster has none\n{MEND_OF_PAIRS}"
    return None


def _of_one(machine: Machine, block: Block, columns: int, operation: Operation) -> int | ColumnsWanted:
    """The first column that a block gets, or what it waits for."""
    memory = tensor_memory_of(machine, block)
    places = memory.places(columns)
    if not places:
        return ColumnsWanted(block, columns, (memory,))
    first = places[machine.choose(len(places))]
    memory.take(TensorAllocation(first, columns, block, operation, pair=False))
    return first


def _of_pair(machine: Machine, block: Block, columns: int, operation: Operation) -> int | _Awaited:
    """The same of a pair; both of its blocks have to ask."""
    pair = pair_of(block)
    assert pair is not None
    mine, granted = _requests(block), _requests(pair[0]).granted
    if mine.done == len(granted):
        mine.asks = columns
        other = pair[1 - (block.rank & 1)]
        asked = _requests(other).asks
        if asked is None:
            text = f"a warp of {other.name}, the other of the pair, to allocate tensor memory as well"
            return PeerAwaited(block, other, "alloc", text)
        if asked != columns:
            text = f"{other.name}, which allocates {asked} columns of tensor memory for the pair, to want {columns} too"
            return PeerAwaited(block, other, "alloc", text)
        memories = tensor_memory_of(machine, pair[0]), tensor_memory_of(machine, pair[1])
        places = memories[0].places(columns, memories[1])
        if not places:
            return ColumnsWanted(block, columns, memories)
        first = places[machine.choose(len(places))]
        for each, memory in zip(pair, memories, strict=True):
            memory.take(TensorAllocation(first, columns, each, operation, pair=True))
            _requests(each).asks = None
        granted.append(first)
        machine.changed(block.cluster)
    mine.done += 1
    return granted[mine.done - 1]


def _tell(operation: Operation, gang: Gang, lanes: Lanes, space: str, addresses: Array, found: dict[int, int]) -> None:
    """Write the addresses of allocations, by row, to shared memory: the first thread of each warp does."""
    values = np.zeros(gang.shape, np.uint32)
    mask = np.zeros(gang.shape, np.bool_)
    for row, first in found.items():
        values[row] = first
        mask[row, int(lanes.mask[row].argmax())] = True
    gang.machine.memory.store(operation, gang, Lanes(mask), space, addresses, [values])


@instruction(f"tcgen05.dealloc.{_GROUP}.sync.aligned.b32")
def deallocate(operation: Operation) -> Step:
    place, count = operation.operands
    read_address = operation.reader(place, "u32")
    read_columns = operation.reader(count, "u32")
    pair = operation.form.has("cta_group::2")

    def execute(gang: Gang, lanes: Lanes) -> Waiting | None:
        addresses = np.broadcast_to(read_address(gang), gang.shape)
        columns = np.broadcast_to(read_columns(gang), gang.shape)

        def give(row: int) -> _Awaited | None:
            lane = int(lanes.mask[row].argmax())
            address, wanted = int(addresses[row, lane]), int(columns[row, lane])
            block = gang.blocks[row]
            memory = tensor_memory_of(gang.machine, block)
            first = lane_and_column(address)[1]
            found = memory.find(block, first, first + 1)
            if found is None or (found.first, found.columns, found.pair) != (first, wanted, pair):
                freed = _requests(block).freed.get((first, wanted))
                text = f"deallocates {wanted} columns of tensor memory, {_unlike(found, freed, pair)}"
                mask = gang.mask(row, lanes.mask[row])
                gang.machine.fault("tensor-memory", text, operation, gang, mask, describe(address))
                return None
            if pair and (awaited := _other_gives(gang, row)) is not None:
                return awaited
            watch = gang.machine.watch
            watch.tensor_allocation(gang, lanes.only(gang.mask(row)), operation, memory.number, found)
            memory.allocations.remove(found)
            _requests(block).freed[first, wanted] = operation
            gang.machine.changed(None)
            return None

        return _of_all(gang, lanes, give)

    return aligned(operation, execute)


def _other_gives(gang: Gang, row: int) -> PeerAwaited | None:
    """Whether the pair's other block has come to give back what a warp does; what it waits for where not."""
    block, warp = gang.blocks[row], int(gang.warp_numbers[row, 0])
    pair = pair_of(block)
    assert pair is not None
    mine, other = _requests(block), pair[1 - (block.rank & 1)]
    if warp not in mine.giving:
        mine.giving[warp] = mine.gives
        mine.gives += 1
        gang.machine.changed(block.cluster)
    if _requests(other).gives <= mine.giving[warp]:
        text = f"a warp of {other.name}, the other of the pair, to deallocate tensor memory as well"
        return PeerAwaited(block, other, "dealloc", text)
    del mine.giving[warp]
    return None


def _unlike(found: TensorAllocation | None, freed: Operation | None, pair: bool) -> str:
    if found is None and freed is not None:
        return f"which have been deallocated already, at {freed.where}\none warp of the block deallocates them, once"
    if found is None:
        return (
            "which the block has not allocated there\n"
            "deallocate from the address on that tcgen05.alloc has written, not from one within"
        )
    if found.pair != pair:
        group = f".cta_group::{2 if found.pair else 1}"
        return f"which {found.operation.where} has allocated with {group}\ndeallocate them with {group}"
    text = f"and {found.operation.where} has allocated {found.columns}, from column {found.first} on"
    return f"{text}\ndeallocate all that were allocated together, at once"


@instruction(f"tcgen05.relinquish_alloc_permit.{_GROUP}.sync.aligned")
def relinquish(operation: Operation) -> Step:
    def execute(gang: Gang, lanes: Lanes) -> None:
        for row in lanes.rows:
            _requests(gang.blocks[row]).relinquished = operation

    return aligned(operation, execute)
