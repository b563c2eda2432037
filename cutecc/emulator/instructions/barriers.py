"""Barriers of a block and of a warp: `bar`, `barrier`, `bar.warp.sync`. The state of a block is in `block_barrier`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from cutecc.emulator.instructions.block_barrier import BARRIERS, REDUCTIONS, Barrier, Barriers, Reduction, barriers_of
from cutecc.emulator.instructions.gathering import Gatherings, gatherings_of
from cutecc.emulator.instructions.member_masks import named_by, report_left_out
from cutecc.emulator.instructions.operation import Operation, Reader, Writer
from cutecc.emulator.instructions.table import Step, instruction
from cutecc.emulator.machine.fragment import Waiting
from cutecc.emulator.machine.lanes import WARP, Array, Lanes, Mask
from cutecc.ptx.syntax import Operand

if TYPE_CHECKING:
    from cutecc.emulator.machine.gang import Gang

_WAITING: Final = "waiting at bar.warp.sync"
"""In `Gang.state`, while any thread waits: the member mask by which it does, or one of the next two."""
_OTHERS: Final = "the other threads of its warp at bar.warp.sync"
_NOWHERE: Final = -1
_FREE: Final = -2
"""All have come, some of them by another instruction; it has yet to go on."""


@instruction("bar.warp.sync")
def warp_sync(operation: Operation) -> Step:
    members = operation.reader(operation.operands[0], "u32")

    def step(gang: Gang, lanes: Lanes) -> Waiting | None:
        named = np.broadcast_to(members(gang), gang.shape)
        report_left_out(operation, gang, lanes, named)
        if gang.together(lanes, named, _OTHERS) is None and _WAITING not in gang.state:
            _synchronise_warps(operation, gang, lanes, named)
            return None
        return _come_apart(operation, gang, lanes, named)

    return step


def _come_apart(operation: Operation, gang: Gang, lanes: Lanes, named: Array) -> Waiting | None:
    """Threads of a warp come to a `bar.warp.sync`, others of its members perhaps to another one, or look again."""
    waiting = gang.state.setdefault(_WAITING, np.full(gang.shape, _NOWHERE))
    new = lanes.mask & (waiting == _NOWHERE)
    waiting = np.where(new, named.astype(np.int64), waiting)
    bits = np.arange(WARP)
    for row in lanes.rows:
        for mask in np.unique(waiting[row][lanes.mask[row] & (waiting[row] >= 0)]).tolist():
            there = waiting[row] == mask
            if (gang.alive[row] & (mask >> bits & 1).astype(bool) & ~there).any():
                continue
            together = Lanes(gang.mask(row, there))
            _synchronise_warps(operation, gang, together, np.broadcast_to(np.uint32(mask), gang.shape))
            waiting[row][there] = _FREE
            if (there & ~lanes.mask[row]).any():
                gang.machine.changed(gang.cluster)
    free = lanes.mask & (waiting == _FREE)
    waiting[free] = _NOWHERE
    gang.state[_WAITING] = waiting
    if (waiting == _NOWHERE).all():
        del gang.state[_WAITING]
    rest = lanes.mask & ~free
    return Waiting(rest, lambda row: _OTHERS) if rest.any() else None


def _synchronise_warps(operation: Operation, gang: Gang, lanes: Lanes, named: Array) -> None:
    watch = gang.machine.watch
    if watch.listens:
        groups = list(_warps(gang, lanes, named))
        for key, part in groups:
            watch.release(gang, part, operation, key)
        for key, part in groups:
            watch.acquire(gang, part, operation, key)


def _warps(gang: Gang, lanes: Lanes, members: Array) -> Iterator[tuple[tuple[str, int, int, int], Lanes]]:
    """Each warp's threads with the same member mask, with the key that they synchronise by."""
    for row in lanes.rows:
        for named in np.unique(members[row][lanes.mask[row]]).tolist():
            # Who is not in the mask is not synchronised.
            part = Lanes(gang.mask(row, lanes.mask[row] & (members[row] == named) & named_by(named)))
            yield ("warp", gang.blocks[row].slot, int(gang.warp_numbers[row, 0]), named), part


@dataclass(frozen=True, slots=True, eq=False)
class _Use:
    """What an instruction does at a barrier."""

    operation: Operation
    action: Literal["sync", "arrive", "red"]
    is_aligned: bool
    number: Reader
    threads: Reader | None
    reduction: Reduction | None = None
    operand: Reader | None = None
    write: Writer | None = None


@instruction(
    "bar.{sync,arrive}",
    "bar.cta.{sync,arrive}",
    "barrier.{sync,arrive}.aligned?",
    "barrier.cta.{sync,arrive}.aligned?",
)
def synchronise(operation: Operation) -> Step:
    number, *count = operation.operands
    action = "arrive" if operation.form.has("arrive") else "sync"
    return _step(_Use(operation, action, *_common(operation, number, count)))


@instruction(
    "bar.red.{popc,and,or}.{u32,pred}",
    "bar.cta.red.{popc,and,or}.{u32,pred}",
    "barrier.red.{popc,and,or}.aligned?.{u32,pred}",
    "barrier.cta.red.{popc,and,or}.aligned?.{u32,pred}",
)
def reduce(operation: Operation) -> Step:
    result, number, *count, value = operation.operands
    reduction: Reduction = next(each for each in REDUCTIONS if operation.form.has(each))
    write, operand = operation.writer(result, operation.form.type), operation.reader(value, "pred")
    return _step(_Use(operation, "red", *_common(operation, number, count), reduction, operand, write))


def _common(operation: Operation, number: Operand, count: list[Operand]) -> tuple[bool, Reader, Reader | None]:
    is_aligned = operation.form.opcode == "bar" or operation.form.has("aligned")
    return is_aligned, operation.reader(number, "u32"), operation.reader(count[0], "u32") if count else None


def _step(use: _Use) -> Step:
    def step(gang: Gang, lanes: Lanes) -> Waiting | None:
        numbers = np.broadcast_to(use.number(gang), gang.shape)
        lanes = _existing(use, gang, lanes, numbers)
        if not lanes.any():
            return None
        number = _common_number(lanes, numbers)
        gatherings = gatherings_of(gang)
        if number is not None and _needs_no_count(use, gang, gatherings, number):
            done = gatherings.complete(gang, lanes.mask)
            rest = lanes.mask & ~done
            if done.any():
                _pass_together(use, gang, done, number, gatherings.leave(gang, done, number))
            if not rest.any():
                return None
            if gatherings.join(gang, rest, use.operation, number):
                return Waiting(
                    rest,
                    lambda row: gatherings.describe(gang, rest, number, row),
                    on=lambda row: gatherings.barrier(gang, number, row),
                )
            lanes = Lanes(rest)
        for each in {int(each) for each in numbers[lanes.mask]} if number is None else (number,):
            gatherings.count(gang, each)
        waits = np.zeros(gang.shape, np.bool_)
        late: dict[int, Barrier] = {}
        for barriers, number, row, mask in _parts(gang, lanes, numbers):
            barrier = barriers[number]
            waiting = _arrive(use, gang, barrier, row, mask)
            if waiting.any():
                waits[row] |= waiting
                late[row] = barrier
        # What came last may have completed what others of this step wait for.
        if late:
            for barriers, number, row, mask in _parts(gang, Lanes(waits), numbers):
                waits[row] &= ~_leave(use, gang, barriers[number], row, mask)
        if not waits.any():
            return None
        return Waiting(waits, lambda row: late[row].describe(), on=late.__getitem__)

    return step


def _existing(use: _Use, gang: Gang, lanes: Lanes, numbers: Array) -> Lanes:
    """Without threads that name a barrier that there is not."""
    wrong = lanes.mask & (numbers >= BARRIERS)
    if not wrong.any():
        return lanes
    gang.machine.fault("barrier", f"names a barrier beyond {BARRIERS - 1}", use.operation, gang, wrong)
    return lanes.only(~wrong)


def _common_number(lanes: Lanes, numbers: Array) -> int | None:
    """The barrier, if all threads name the same."""
    if numbers.strides == (0, 0):
        return int(numbers[0, 0])
    used = numbers[lanes.mask]
    return int(used[0]) if (used == used[0]).all() else None


def _needs_no_count(use: _Use, gang: Gang, gatherings: Gatherings, number: int) -> bool:
    """Whether threads of the gang's blocks can only be waited for by this gang."""
    if use.action != "sync" or use.threads is not None:
        return False
    if not gatherings.has_all_warps or number in gatherings.counted:
        return False
    return not any(barriers[number].is_used for barriers, _ in barriers_of(gang))


def _pass_together(use: _Use, gang: Gang, mask: Mask, number: int, deserted: Mask | None) -> None:
    """Whole blocks go on; `deserted` are threads of warps of which the rest has exited."""
    machine, watch = gang.machine, gang.machine.watch
    if deserted is not None and use.is_aligned and machine.collect is not None:
        text = _deserted(number)
        machine.report(machine.finding("divergent-barrier", text, use.operation, gang, deserted))
    if not watch.listens:
        return
    for barriers, rows in barriers_of(gang):
        if mask[rows].any():
            lanes, barrier = Lanes(gang.mask(rows, mask[rows])), barriers[number]
            watch.release(gang, lanes, use.operation, barrier.key)
            watch.acquire(gang, lanes, use.operation, barrier.key)
            barrier.phase += 1


def _parts(gang: Gang, lanes: Lanes, numbers: Array) -> Iterator[tuple[Barriers, int, int, Mask]]:
    """By warp and barrier: the block's barriers, the number, the warp's row in the gang, and a mask of its threads."""
    for barriers, rows in barriers_of(gang):
        for row in rows:
            mask = lanes.mask[row]
            if not mask.any():
                continue
            used = numbers[row][mask]
            for number in {int(each) for each in used} if (used != used[0]).any() else [int(used[0])]:
                yield barriers, number, int(row), mask & (numbers[row] == number)


def _arrive(use: _Use, gang: Gang, barrier: Barrier, row: int, mask: Mask) -> Mask:
    """Threads of a warp come to a barrier, or look again; those that have to wait."""
    warp = int(gang.warp_numbers[row, 0])
    new = mask & ~barrier.is_waiting(warp)
    if new.any():
        _check(use, gang, barrier, row, new)
        lanes = Lanes(gang.mask(row, new))
        gang.machine.watch.release(gang, lanes, use.operation, barrier.key)
        if use.operand is not None and use.reduction is not None:
            values = np.broadcast_to(use.operand(gang), gang.shape)[row][new]
            barrier.reduce(use.reduction, values)
        barrier.arrive(warp, new, gang.alive[row], use.operation, waits=use.action != "arrive", aligned=use.is_aligned)
    if barrier.is_deserted(warp, gang.alive[row]):
        _report(use, gang, row, mask, "divergent-barrier", _deserted(barrier.number))
    if barrier.settle(warp, gang.alive[row]):
        gang.machine.changed(gang.cluster)
    return np.zeros(WARP, np.bool_) if use.action == "arrive" else mask & ~_leave(use, gang, barrier, row, mask)


def _leave(use: _Use, gang: Gang, barrier: Barrier, row: int, mask: Mask) -> Mask:
    """Those of a warp's waiting threads whose phase is over; they go on."""
    warp = int(gang.warp_numbers[row, 0])
    free = mask & barrier.is_free(warp)
    if free.any():
        lanes = Lanes(gang.mask(row, free))
        phase = barrier.leave(warp, free)
        gang.machine.watch.acquire(gang, lanes, use.operation, (*barrier.key[:3], phase))
        if use.write is not None:
            result = barrier.result(phase)
            use.write(gang, lanes, np.full(gang.shape, result, np.uint32 if use.reduction == "popc" else np.bool_))
    return free


def _deserted(number: int) -> str:
    name = "sync_threads()" if number == 0 else f"waits at barrier {number}"
    return f"{name} in a branch that other threads of the warp do not take: they exit without coming there"


def _check(use: _Use, gang: Gang, barrier: Barrier, row: int, new: Mask) -> None:
    """Take up the thread count of the phase, and report misuse."""
    expected: int | None = None
    if use.threads is not None:
        expected = int(np.broadcast_to(use.threads(gang), gang.shape)[row, int(new.argmax())])
        if expected % WARP or not expected:
            _report(use, gang, row, new, "barrier", f"gives {expected} threads, which are no multiple of {WARP}")
            expected = max(-(-expected // WARP), 1) * WARP
    elif use.action == "arrive":
        _report(use, gang, row, new, "barrier", "arrives without saying how many threads the barrier is for")
    if not barrier.has_arrivals:
        barrier.expected = expected
    elif barrier.expected != expected and barrier.waits_for_all(expected) and barrier.waits_for_all(barrier.expected):
        # With a count or without, the same threads are meant.
        barrier.expected = None
    elif barrier.expected != expected:
        others = "all" if barrier.expected is None else str(barrier.expected)
        mine = "all" if expected is None else str(expected)
        text = f"comes to barrier {barrier.number} for {mine} threads, while others wait there for {others}"
        _report(use, gang, row, new, "barrier", text)
    warp = int(gang.warp_numbers[row, 0])
    if use.is_aligned and (elsewhere := barrier.other_instruction(warp, use.operation)) is not None:
        text = f"comes to barrier {barrier.number} with one part of a warp, another part comes there elsewhere"
        _report(use, gang, row, new, "divergent-barrier", text, elsewhere)


def _report(
    use: _Use,
    gang: Gang,
    row: int,
    mask: Mask,
    kind: Literal["barrier", "divergent-barrier"],
    text: str,
    elsewhere: Operation | None = None,
) -> None:
    machine = gang.machine
    if machine.collect is None:
        return
    other = None if elsewhere is None else machine.place(elsewhere, gang, row, None, "where the other part comes to it")
    machine.report(machine.finding(kind, text, use.operation, gang, gang.mask(row, mask), other=other))
