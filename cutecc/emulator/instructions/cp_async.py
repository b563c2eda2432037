"""`cp.async`: copies from global to shared memory that go on beside the thread that starts them (PTX ISA, "Data
Movement and Conversion Instructions: Asynchronous copy").

A copy happens at once or at any time until somebody waits for it, as the machine has it; each thread has groups of its
own. Such copies belong to the generic proxy. That a thread waited for its own shows nothing of them to other threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cutecc.emulator.instructions import mbarrier_object
from cutecc.emulator.instructions.copy_groups import Copy, groups_of
from cutecc.emulator.instructions.operation import Operation, Reader
from cutecc.emulator.instructions.table import Step, instruction
from cutecc.emulator.machine.lanes import Array, Lanes, Mask
from cutecc.emulator.memory.memory import Part
from cutecc.emulator.memory.region import value_dtype
from cutecc.ptx.syntax import Immediate, Operand, Register

if TYPE_CHECKING:
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.watch import AccessKind, Space


class _Source(NamedTuple):
    """What some of the threads read: so many bytes from each one's address on."""

    lanes: Lanes
    size: int
    addresses: Array
    parts: list[Part]


class _Access(NamedTuple):
    """One access of each of some threads' copies."""

    mask: Mask
    kind: AccessKind
    space: Space
    addresses: Array
    """Flat, one a thread."""
    size: int


@instruction("cp.async.{ca,cg}.{shared,shared::cta}.global.**")
def _copy(operation: Operation) -> Step:
    to, start, size, wanted = operands_of(operation)

    def step(gang: Gang, lanes: Lanes) -> None:
        memory, addresses = gang.machine.memory, start(gang)
        counts = [(size, lanes)]
        if wanted is not None:
            each = np.broadcast_to(wanted(gang), gang.shape)
            counts = [(int(count), lanes.only(each == count)) for count in np.unique(each[lanes.mask]) if count]
        sources = [
            _Source(
                chosen,
                count,
                addresses,
                memory.locate(operation, gang, chosen, "global", addresses, count, "read", alignment=size, tell=False),
            )
            for count, chosen in counts
        ]
        places = memory.locate(operation, gang, lanes, "shared", to(gang), size, "write", tell=False)
        _start(operation, gang, lanes, size, sources, places)

    return step


def operands_of(operation: Operation) -> tuple[Reader, Reader, int, Reader | None]:
    """Target and source, bytes that each thread writes, and how many of them it reads, if that is said."""
    target, source, length, *rest = operation.operands
    if not isinstance(length, Immediate) or length.bits not in (4, 8, 16):
        raise operation.error(f"'{operation.form}' copies 4, 8 or 16 bytes")
    if operation.form.has("L2::cache_hint"):
        rest = rest[:-1]
    wanted = _wanted_bytes(operation, length.bits, rest[0]) if rest else None
    return operation.address(target), operation.address(source), length.bits, wanted


def _wanted_bytes(operation: Operation, size: int, operand: Operand) -> Reader:
    """How many bytes each thread reads; the rest of what it writes is zero. The operand is their number, or a predicate
    that says to read none."""
    if isinstance(operand, Register) and operation.scope.width(operand.name).kind == "b":
        ignore = operation.reader(operand, "pred")
        return lambda gang: np.where(ignore(gang), 0, size)
    read = operation.reader(operand, "u32")
    return lambda gang: np.minimum(read(gang), np.uint32(size))


def _start(
    operation: Operation, gang: Gang, lanes: Lanes, size: int, sources: Sequence[_Source], places: Sequence[Part]
) -> None:
    machine = gang.machine
    watch, groups = machine.watch, groups_of(gang)
    agent = watch.spawn(gang, lanes, operation)
    # An access of an agent is one of each of its threads: where not all of them make it, those that do are another.
    accesses = [
        (agent if np.array_equal(each.mask, lanes.mask) else watch.spawn(gang, Lanes(each.mask), operation), each)
        for each in _accesses(gang, size, sources, places)
        if watch.listens
    ]
    agents = {agent, *(each for each, _ in accesses)}
    groups.started += 1
    key = ("group", "cp.async", gang.blocks[0].index, int(gang.warp_numbers[0, 0]), groups.started)

    def copy() -> None:
        data = _read(gang, size, sources)
        machine.memory.put(places, size, [data])
        for agent, each in accesses:
            watch.asynchronous_access(agent, operation, each.kind, each.space, each.addresses, each.size)
        for each in agents:
            watch.finish(each, key)

    pending = machine.post(copy, lambda: operation.instruction.text, gang.cluster)
    untracked = np.zeros(gang.shape, np.bool_)
    groups.add(Copy(pending, lanes.mask, groups.current, agents, key, untracked), remember=watch.listens)


def _accesses(gang: Gang, size: int, sources: Sequence[_Source], places: Sequence[Part]) -> Iterator[_Access]:
    """What the copies access: without threads whose address is wrong, which are faults."""
    for source in sources:
        for part in source.parts:
            mask = _threads_of(gang, part)
            yield _Access(mask, "read", "global", source.addresses[mask], source.size)
    for part in places:
        yield _Access(_threads_of(gang, part), "write", "shared", part.offsets.reshape(-1), size)


def _threads_of(gang: Gang, part: Part) -> Mask:
    mask = np.full(gang.shape, part.threads is None)
    if part.threads is not None:
        mask.reshape(-1)[part.threads] = True
    return mask


def _read(gang: Gang, size: int, sources: Sequence[_Source]) -> Array:
    """What is to be written: bytes that are not read are zero."""
    memory = gang.machine.memory
    if len(sources) == 1 and sources[0].count == size:
        return memory.fetch(sources[0].parts, gang.shape, size, 1)[0]
    data = np.zeros(gang.shape, value_dtype(size))
    for source in sources:
        mask = source.lanes.mask
        if source.size == size:
            data[mask] = memory.fetch(source.parts, gang.shape, size, 1)[0][mask]
            continue
        bytes_ = data.view(np.uint8).reshape(*gang.shape, size)
        for number in range(source.size):
            parts = [Part(region, threads, offsets + number) for region, threads, offsets in source.parts]
            bytes_[mask, number] = memory.fetch(parts, gang.shape, 1, 1)[0][mask]
    return data


@instruction("cp.async.commit_group")
def _commit(operation: Operation) -> Step:
    return lambda gang, lanes: groups_of(gang).commit(lanes)


@instruction("cp.async.wait_group", "cp.async.wait_all")
def _wait(operation: Operation) -> Step:
    allowed = -1  # the group that is not committed too
    if operation.form.type == "wait_group":
        (number,) = operation.operands
        allowed = operation.constant(number)
    return lambda gang, lanes: groups_of(gang).wait(operation, gang, lanes, allowed)


@instruction("cp.async.mbarrier.arrive.noinc?.{shared,shared::cta}?.b64")
def _arrive(operation: Operation) -> Step:
    """Each thread arrives at its mbarrier as soon as its copies so far have happened. Without `.noinc` the phase waits
    for one arrival more, this one."""
    address, increments = operation.address(operation.operands[0]), not operation.form.has("noinc")

    def step(gang: Gang, lanes: Lanes) -> None:
        machine = gang.machine
        addresses = address(gang)
        places = machine.memory.locate(operation, gang, lanes, "shared", addresses, 8, "atomic", tell=False)
        copies = groups_of(gang).track(lanes.mask)
        for _, _, offsets in places:
            indices, counts = np.unique(offsets, return_counts=True)
            for index, count in zip(indices.tolist(), counts.tolist(), strict=True):
                _arrive_at(operation, gang, lanes, copies, index, count, increments)

    return step


def _arrive_at(
    operation: Operation, gang: Gang, lanes: Lanes, copies: Sequence[Copy], index: int, count: int, increments: bool
) -> None:
    """Arrivals of so many threads at the mbarrier at a place in `Memory.shared`."""
    machine = gang.machine

    def wrong(message: str) -> None:
        if machine.collect is not None:
            offset = index % machine.memory.shared_stride
            where = machine.memory.describe("shared", offset)
            machine.report(machine.finding("mbarrier", message, operation, gang, lanes.mask, where))

    if mbarrier_object.find(machine, index) is None:
        message = f"uses {mbarrier_object.absence(machine, index)}"
        where = machine.memory.describe("shared", index % machine.memory.shared_stride)
        machine.fault("mbarrier", message, operation, gang, lanes.mask, where)
        return
    if increments:
        mbarrier_object.add_pending(machine, index, count, wrong)

    def arrive() -> None:
        for copy in copies:
            machine.finish(copy.pending)
        barrier = mbarrier_object.find(machine, index)
        if barrier is not None:
            for agent in {agent for copy in copies for agent in copy.agents}:
                machine.watch.finish(agent, barrier.key)
            barrier.ledger.note("arrives", operation, gang, lanes.mask, count, count)
        mbarrier_object.arrive(machine, index, count, wrong)

    machine.post(arrive, lambda: operation.instruction.text, gang.cluster, tells=True)
