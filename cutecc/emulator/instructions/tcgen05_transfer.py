"""`tcgen05.ld` and `tcgen05.st`: between tensor memory and registers, and the waits for them.

A warp reaches the 32 lanes of its rank in the warpgroup. Both happen some time between their start and
`tcgen05.wait::ld` or `wait::st`. Who uses a register of a load waits for that load as well (`machine.late_registers`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from cutecc.emulator.instructions.aligned import aligned
from cutecc.emulator.instructions.table import Step, instruction
from cutecc.emulator.machine.lanes import WARP, Array, Lanes
from cutecc.emulator.memory.tensor_memory import (
    CELL,
    COLUMNS,
    MEND_OF_COLUMNS,
    WARP_LANES,
    TensorMemory,
    describe,
    lane_and_column,
    tensor_memory_of,
)
from cutecc.emulator.numbers.tensor_fragments import SHAPES, TensorFragment, tensor_fragment
from cutecc.ptx.syntax import Address, Operand, registers_in

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation, Reader
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.machine import Pending

_WARPS: Final = 4
_SHAPE: Final = f"{{{','.join(SHAPES)}}}"
_MAGNITUDE: Final = 0x7FFFFFFF
"""Of the bits of an `f32`; also the NaN that a reduction gives."""
_INFINITY: Final = 0x7F800000
_TIMES: Final = "{x1,x2,x4,x8,x16,x32,x64,x128}"


@dataclass(frozen=True, eq=False, slots=True)
class _Transfer:
    """A load or store."""

    pending: Pending
    key: Hashable
    """What the watch knows it by."""
    registers: frozenset[int]
    """Those that it brings, by slot."""


@dataclass(slots=True)
class _Transfers:
    """Loads or stores that a warp has started and not waited for."""

    unwaited: list[_Transfer] = field(default_factory=list[_Transfer])
    started: int = 0
    """How many there were."""


@dataclass(frozen=True, eq=False, slots=True)
class _Warp:
    """The part that one warp has in a load or store."""

    row: int
    memory: TensorMemory
    lane: int
    """Of the address."""
    column: int
    agent: int
    key: Hashable
    """What the watch knows by that it is over."""


_Happen = Callable[["Gang", Lanes, Sequence[_Warp]], None]


def _transfers(gang: Gang, row: int, kind: str) -> _Transfers:
    table: dict[tuple[str, int], _Transfers] = gang.blocks[row].state.setdefault("tensor transfers", {})
    return table.setdefault((kind, int(gang.warp_numbers[row, 0])), _Transfers())


def _key(gang: Gang, row: int, kind: str, number: int) -> Hashable:
    return "group", f"tcgen05.{kind}", gang.blocks[row].slot, int(gang.warp_numbers[row, 0]), number


def _fragment(operation: Operation, split: int) -> TensorFragment:
    form = operation.form
    times = int(form.one_of(*_TIMES[1:-1].split(","))[1:])
    packed = form.has("pack::16b") or form.has("unpack::16b")
    if split < 0:
        raise operation.error(f"'{form}' has its halves {split} columns apart: they cannot be that")
    return tensor_fragment(form.one_of(*SHAPES), times, packed, split)


def _address(operation: Operation, operand: Operand) -> Reader:
    if not isinstance(operand, Address):
        raise operation.error(f"'{operation.form}' needs an address in brackets here")
    return operation.address(operand)


@instruction(f"tcgen05.ld.sync.aligned.{_SHAPE}.{_TIMES}.pack::16b?.b32")
def load(operation: Operation) -> Step:
    result, place, *rest = operation.operands
    fragment = _fragment(operation, operation.constant(rest[0]) if rest else 0)
    writers = [operation.writer(each, "b32") for each in operation.in_braces(result, fragment.registers)]

    def happen(gang: Gang, lanes: Lanes, warps: Sequence[_Warp]) -> None:
        for write, value in zip(writers, _gather(fragment, gang, warps), strict=True):
            write(gang, lanes, value)

    return _transfer(operation, place, fragment, "ld", lambda gang: happen, [result])


def _gather(fragment: TensorFragment, gang: Gang, warps: Sequence[_Warp]) -> Array:
    """Registers, shape `(registers, warps, 32)`, of which those of other warps of the gang are 0."""
    values = np.zeros((fragment.registers, *gang.shape), np.uint32)
    for each in warps:
        values[:, each.row] = fragment.gather(each.memory.words, each.lane, each.column)
    return values


@instruction(f"tcgen05.st.sync.aligned.{_SHAPE}.{_TIMES}.unpack::16b?.b32")
def store(operation: Operation) -> Step:
    place, *rest = operation.operands
    fragment = _fragment(operation, operation.constant(rest[0]) if len(rest) == 2 else 0)
    read = operation.vector_reader(rest[-1], "b32", fragment.registers)

    def start(gang: Gang) -> _Happen:
        values = np.array([np.broadcast_to(each, gang.shape) for each in read(gang)])

        def happen(gang: Gang, lanes: Lanes, warps: Sequence[_Warp]) -> None:
            for each in warps:
                fragment.scatter(each.memory.words, each.lane, each.column, values[:, each.row])

        return happen

    return _transfer(operation, place, fragment, "st", start)


_Reduce = Callable[[Array], Array]


@instruction(
    f"tcgen05.ld.red.sync.aligned.{{32x32b,16x32bx2}}.{_TIMES}.{{min,max}}.{{u32,s32}}",
    f"tcgen05.ld.red.sync.aligned.{{32x32b,16x32bx2}}.{_TIMES}.{{min,max}}.abs?.NaN?.f32",
)
def load_and_reduce(operation: Operation) -> Step:
    """A load, and the least or greatest of each thread's registers beside it."""
    result, reduced, place, *rest = operation.operands
    fragment = _fragment(operation, operation.constant(rest[0]) if rest else 0)
    writers = [operation.writer(each, "b32") for each in operation.in_braces(result, fragment.registers)]
    write_reduced = operation.writer(reduced, "b32")
    reduce = _reduction(operation)

    def happen(gang: Gang, lanes: Lanes, warps: Sequence[_Warp]) -> None:
        values = _gather(fragment, gang, warps)
        for write, value in zip(writers, values, strict=True):
            write(gang, lanes, value)
        write_reduced(gang, lanes, reduce(values))

    return _transfer(operation, place, fragment, "ld", lambda gang: happen, [result, reduced])


def _reduction(operation: Operation) -> _Reduce:
    """Of registers, shape `(registers, warps, 32)`, to one."""
    form = operation.form
    least = form.has("min")
    if form.type != "f32":
        function = np.minimum if least else np.maximum
        dtype: Any = np.int32 if form.type == "s32" else np.uint32
        return lambda words: function.reduce(words.view(dtype), axis=0).view(np.uint32)
    keeps_nan, absolute = form.has("NaN"), form.has("abs")

    def reduce(words: Array) -> Array:
        magnitudes = words & _MAGNITUDE
        unordered = magnitudes > _INFINITY
        keys = _in_order((magnitudes if absolute else words).view(np.int32))
        # One that no float is beyond.
        keys[unordered] = _MAGNITUDE if least else ~_MAGNITUDE
        found = _in_order((np.minimum if least else np.maximum).reduce(keys, axis=0)).view(np.uint32)
        is_nan = unordered.any(axis=0) if keeps_nan else unordered.all(axis=0)
        return np.where(is_nan, np.uint32(_MAGNITUDE), found)

    return reduce


def _in_order(bits: Array) -> Array:
    """Bits of `f32` as `int32` in their order, -0 below 0; the inverse is the same."""
    return np.where(bits < 0, bits ^ np.int32(_MAGNITUDE), bits)


def _transfer(
    operation: Operation,
    place: Operand,
    fragment: TensorFragment,
    kind: str,
    start: Callable[[Gang], _Happen],
    results: Sequence[Operand] = (),
) -> Step:
    """`start` reads what is to be stored, and gives what happens then."""
    read = _address(operation, place)
    does = "read" if kind == "ld" else "write"
    what = f"the {operation.form} of PTX line {operation.instruction.line}"
    registers = frozenset(operation.scope.slot(each) for each in registers_in(results))

    def execute(gang: Gang, lanes: Lanes) -> None:
        machine, watch = gang.machine, gang.machine.watch
        addresses, happen, rows = read(gang), start(gang), lanes.rows
        started = [each for row in rows if (each := _start(operation, gang, lanes, row, fragment, addresses, kind))]
        # Together where they happen at once, which is faster.
        for warps in [started] if machine.eager and started else [[each] for each in started]:

            def act(warps: Sequence[_Warp] = warps) -> None:
                for each in warps if watch.listens else ():
                    cells = each.memory.cells(*fragment.cells(each.lane, each.column))
                    watch.asynchronous_access(each.agent, operation, does, "tensor", cells, CELL)
                there = lanes if len(warps) == len(rows) else lanes.only(gang.mask([each.row for each in warps]))
                happen(gang, there, warps)
                for each in warps:
                    watch.finish(each.agent, each.key)

            pending = machine.post(act, lambda: what, gang.blocks[warps[0].row].cluster)
            if watch.listens or not pending.done:
                for each in warps:
                    _transfers(gang, each.row, kind).unwaited.append(_Transfer(pending, each.key, registers))

    return aligned(operation, execute)


def _start(
    operation: Operation, gang: Gang, lanes: Lanes, row: int, fragment: TensorFragment, addresses: Array, kind: str
) -> _Warp | None:
    """The part of a warp; `None`, after a fault, where it may not."""
    alone = lanes.only(gang.mask(row))
    mine = addresses[row][lanes.mask[row]]
    address = int(mine[0])
    if (mine != address).any():
        text = "accesses tensor memory at addresses that differ within a warp\n"
        text += "all threads of a warp give one address: each one reaches its own lane from there"
        gang.machine.fault("tensor-memory", text, operation, gang, alone.mask)
        return None
    if not _is_right(operation, gang, row, alone, fragment, address):
        return None
    watch = gang.machine.watch
    agent = watch.spawn(gang, alone, operation) if watch.listens else -1
    transfers = _transfers(gang, row, kind)
    key = _key(gang, row, kind, transfers.started)
    transfers.started += 1
    return _Warp(row, tensor_memory_of(gang.machine, gang.blocks[row]), *lane_and_column(address), agent, key)


def _is_right(operation: Operation, gang: Gang, row: int, lanes: Lanes, fragment: TensorFragment, address: int) -> bool:
    """Whether a warp may access what lies at an address; a fault where not."""
    lane, column = lane_and_column(address)
    first = int(gang.warp_numbers[row, 0]) % _WARPS * WARP_LANES
    memory, block, text = tensor_memory_of(gang.machine, gang.blocks[row]), gang.blocks[row], ""
    if not first <= lane or lane + fragment.height > first + WARP_LANES:
        text = f"accesses {fragment.height} lanes of tensor memory from {lane} on: this warp of its warpgroup "
        text += f"reaches lanes {first} to {first + WARP_LANES - 1}\n"
        text += (
            "add 32 lanes to the address, 1 << 21, for each warp before it in the warpgroup; lanes of others are theirs"
        )
    elif fragment.height < WARP and lane % fragment.height:
        text = f"accesses lanes of tensor memory from {lane} on: with this shape it has to be a multiple of 16\n"
        text += "begin at the first or the middle one of the warp's lanes"
    elif column + fragment.width > COLUMNS or not memory.has(block, column, column + fragment.width):
        text = f"accesses columns {column} to {column + fragment.width - 1} of tensor memory, "
        text += f"which its block has not allocated\n{MEND_OF_COLUMNS}"
    if text:
        gang.machine.fault("tensor-memory", text, operation, gang, lanes.mask, describe(address))
    return not text


@instruction("tcgen05.wait::ld.sync.aligned", "tcgen05.wait::st.sync.aligned")
def wait(operation: Operation) -> Step:
    """Until the loads, or stores, that the warp has started are over."""
    kind = "ld" if operation.form.has("wait::ld") else "st"

    def execute(gang: Gang, lanes: Lanes) -> None:
        for row in lanes.rows:
            transfers = _transfers(gang, row, kind)
            _finish(gang, row, operation, transfers.unwaited)
            transfers.unwaited.clear()

    return aligned(operation, execute)


def _finish(gang: Gang, row: int, operation: Operation, transfers: Sequence[_Transfer]) -> None:
    """A warp waits for these, by an operation."""
    machine = gang.machine
    for each in transfers:
        machine.finish(each.pending)
        if machine.watch.listens:
            machine.watch.acquire(gang, Lanes(gang.mask(row, gang.alive[row])), operation, each.key)


def finish_loads(gang: Gang, lanes: Lanes, operation: Operation, slots: frozenset[int]) -> None:
    """Threads use registers, given by slot, that loads of their warps may still bring: those are over now."""
    for row in lanes.rows:
        transfers = _transfers(gang, row, "ld")
        found = [each for each in transfers.unwaited if not each.registers.isdisjoint(slots)]
        if found:
            _finish(gang, row, operation, found)
            transfers.unwaited = [each for each in transfers.unwaited if each not in found]
