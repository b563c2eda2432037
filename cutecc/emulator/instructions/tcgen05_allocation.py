"""`tcgen05.alloc`, `dealloc`, `relinquish_alloc_permit`: columns of tensor memory (PTX ISA, "Tensor Memory").

A warp waits until its multiprocessor has the columns free. With `.cta_group::2` a warp of each of the pair's blocks
asks, and both get the same columns. A block that has given up its permit may ask for no more. Where hardware puts an
allocation is its own matter; here it is the first place.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

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


def _requests(block: Block) -> _Requests:
    return block.state.setdefault(_STATE, _Requests())


def pair_of(block: Block) -> tuple[Block, Block] | None:
    """The two blocks of a pair, that of even rank first; `None` where the cluster has no such pair."""
    first = block.rank & ~1
    blocks = block.cluster.blocks
    return (blocks[first], blocks[first + 1]) if first + 1 < len(blocks) else None


@instruction(f"tcgen05.alloc.{_GROUP}.sync.aligned.{{shared::cta,shared}}?.b32")
def allocate(operation: Operation) -> Step:
    target, count = operation.operands
    address, read = operation.address(target), operation.reader(count, "u32")
    space = "shared" if any(each.startswith("shared") for each in operation.form.modifiers) else "generic"
    pair = operation.form.has("cta_group::2")

    def execute(gang: Gang, lanes: Lanes) -> Waiting | None:
        found: dict[int, int] = {}
        late: dict[int, str] = {}
        columns = np.broadcast_to(read(gang), gang.shape)
        for row in lanes.rows:
            wanted = int(columns[row, int(lanes.mask[row].argmax())])
            if wrong := _refused(gang.blocks[row], wanted, pair):
                gang.machine.fault("tensor-memory", wrong, operation, gang, gang.mask(row, lanes.mask[row]))
                continue
            take = _of_pair if pair else _of_one
            first = take(gang.machine, gang.blocks[row], wanted, operation)
            if isinstance(first, str):
                late[row] = first
            else:
                found[row] = first
                _requests(gang.blocks[row]).last = wanted, operation
        for row in sorted(found):
            block = gang.blocks[row]
            memory = tensor_memory_of(gang.machine, block)
            allocation = memory.find(block, found[row], found[row] + 1)
            assert allocation is not None
            watch = gang.machine.watch
            watch.tensor_allocation(gang, lanes.only(gang.mask(row)), operation, memory.number, allocation)
        if found:
            _tell(operation, gang, lanes, space, address(gang), found)
        if not late:
            return None
        return Waiting(gang.mask(sorted(late)) & lanes.mask, late.__getitem__)

    return aligned(operation, execute)


def _refused(block: Block, columns: int, pair: bool) -> str | None:
    """Why a block cannot have columns, if it cannot."""
    if columns & (columns - 1) or not FEWEST <= columns <= COLUMNS:
        return f"allocates {columns} columns of tensor memory: it has to be a power of two, from {FEWEST} to {COLUMNS}"
    requests = _requests(block)
    before = requests.relinquished
    if before is not None:
        return f"allocates tensor memory after its block has given up the permit to, at {before.where}"
    if requests.last is not None and columns > requests.last[0]:
        fewer, earlier = requests.last
        text = f"allocates {columns} columns of tensor memory after {fewer} at {earlier.where}"
        return f"{text}: no allocation of a block may have more than an earlier one"
    if pair and pair_of(block) is None:
        return "allocates tensor memory of a pair of blocks, and its cluster has none"
    return None


def _of_one(machine: Machine, block: Block, columns: int, operation: Operation) -> int | str:
    """The first column that a block gets, or what it waits for."""
    memory = tensor_memory_of(machine, block)
    first = memory.room(columns)
    if first is None:
        return _wanting(columns, memory)
    memory.take(TensorAllocation(first, columns, block, operation, pair=False))
    return first


def _of_pair(machine: Machine, block: Block, columns: int, operation: Operation) -> int | str:
    """The same of a pair; both of its blocks have to ask."""
    pair = pair_of(block)
    assert pair is not None
    mine, granted = _requests(block), _requests(pair[0]).granted
    if mine.done == len(granted):
        mine.asks = columns
        other = pair[1 - (block.rank & 1)]
        asked = _requests(other).asks
        if asked is None:
            return f"a warp of {other.name}, the other of the pair, to allocate tensor memory as well"
        if asked != columns:
            return f"{other.name}, which allocates {asked} columns of tensor memory for the pair, to want {columns} too"
        memories = [tensor_memory_of(machine, each) for each in pair]
        first = memories[0].room(columns, memories[1])
        if first is None:
            return _wanting(columns, *memories)
        for each, memory in zip(pair, memories, strict=True):
            memory.take(TensorAllocation(first, columns, each, operation, pair=True))
            _requests(each).asks = None
        granted.append(first)
        machine.changed(block.cluster)
    mine.done += 1
    return granted[mine.done - 1]


def _wanting(columns: int, *memories: TensorMemory) -> str:
    holders = [
        f"{each.block.name} has {each.columns} (allocated at {each.operation.where})"
        for memory in memories
        for each in memory.allocations
    ]
    return f"{columns} columns of tensor memory to be free: {', '.join(holders)}"


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

    def execute(gang: Gang, lanes: Lanes) -> None:
        addresses = np.broadcast_to(read_address(gang), gang.shape)
        columns = np.broadcast_to(read_columns(gang), gang.shape)
        for row in lanes.rows:
            lane = int(lanes.mask[row].argmax())
            address, wanted = int(addresses[row, lane]), int(columns[row, lane])
            block = gang.blocks[row]
            memory = tensor_memory_of(gang.machine, block)
            first = lane_and_column(address)[1]
            found = memory.find(block, first, first + 1)
            if found is None or (found.first, found.columns, found.pair) != (first, wanted, pair):
                text = f"deallocates {wanted} columns of tensor memory, {_unlike(found, pair)}"
                mask = gang.mask(row, lanes.mask[row])
                gang.machine.fault("tensor-memory", text, operation, gang, mask, describe(address))
                continue
            watch = gang.machine.watch
            watch.tensor_allocation(gang, lanes.only(gang.mask(row)), operation, memory.number, found)
            memory.allocations.remove(found)
            gang.machine.changed(None)

    return aligned(operation, execute)


def _unlike(found: TensorAllocation | None, pair: bool) -> str:
    if found is None:
        return "which the block has not allocated there"
    if found.pair != pair:
        return f"which {found.operation.where} has allocated with .cta_group::{2 if found.pair else 1}"
    return f"and {found.operation.where} has allocated {found.columns}, from column {found.first} on"


@instruction(f"tcgen05.relinquish_alloc_permit.{_GROUP}.sync.aligned")
def relinquish(operation: Operation) -> Step:
    def execute(gang: Gang, lanes: Lanes) -> None:
        for row in lanes.rows:
            _requests(gang.blocks[row]).relinquished = operation

    return aligned(operation, execute)
