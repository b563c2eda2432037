"""Instructions by which the threads of a warp look at one another: shuffles, votes, matches, reductions (PTX ISA,
"Data Movement: shfl", "Parallel Synchronization and Communication Instructions").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from cutecc.emulator.instructions.member_masks import report_left_out
from cutecc.emulator.instructions.table import Step, instruction
from cutecc.emulator.instructions.types import DTYPES
from cutecc.emulator.machine.fragment import Waiting
from cutecc.emulator.machine.lanes import WARP, Array, Lanes, Mask
from cutecc.ptx.syntax import Immediate, Operand

if TYPE_CHECKING:
    from cutecc.emulator.instructions.form import Form
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.gang import Gang

_LANE: Array = np.arange(WARP)
_BIT: Array = np.uint32(1) << np.arange(WARP, dtype=np.uint32)
_EVERYBODY = np.uint32(0xFFFFFFFF)

POISON = np.uint32(0xFFBADBAD)
"""What a shuffle gives where the ISA leaves the result undefined; as `f32` it is a NaN."""

Execute = Callable[["Gang", "Lanes", Any], None]
"""Of threads that are together; the last argument is the member mask of each, or of all."""


def _bits(mask: Mask) -> Array:
    """Each warp's threads as a bit each, `uint32`, shape `(warps, 1)`."""
    return np.packbits(mask, axis=1, bitorder="little").view("<u4")


def _together(operation: Operation, members: Operand | None, execute: Execute) -> Step:
    """The step of an instruction for which the members of each warp must be there; without `members` whoever is."""
    if members is None:
        return lambda gang, lanes: execute(gang, lanes, _EVERYBODY)
    read = operation.reader(members, "b32")
    what = f"the threads of its member mask to execute {operation.form}"

    def step(gang: Gang, lanes: Lanes) -> Waiting | None:
        mask = read(gang)
        report_left_out(operation, gang, lanes, mask)
        waiting = gang.together(lanes, mask, what)
        if waiting is not None:
            lanes = lanes.only(~waiting.mask)
            if not lanes.any():
                return waiting
        execute(gang, lanes, mask)
        return waiting

    return step


def _members(operation: Operation, number: int) -> Operand | None:
    """The member mask behind so many operands, which only `.sync` instructions have."""
    operands = operation.operands
    expected = number + 1 if operation.form.has("sync") else number
    if len(operands) != expected:
        raise operation.error(f"'{operation.form}' has {expected} operands, not {len(operands)}")
    return operands[number] if operation.form.has("sync") else None


# Shuffles.


@instruction("shfl.sync?.{up,down,bfly,idx}.b32")
def _shuffle(operation: Operation) -> Step:
    members = _members(operation, 4)
    destination, source, by, clamp = operation.operands[:4]
    mode = operation.form.modifiers[-2]
    write, *write_valid = operation.writers(destination, ("b32", "pred"))
    read, read_by, read_clamp = (operation.reader(each, "b32") for each in (source, by, clamp))
    constant = None
    if isinstance(by, Immediate) and isinstance(clamp, Immediate):
        constant = source_lanes(mode, np.int64(by.bits & 31), np.int64(clamp.bits & 0x1F1F))

    def execute(gang: Gang, lanes: Lanes, _: Any) -> None:
        value = read(gang)
        if not value.shape:
            value = np.broadcast_to(value, gang.shape)
        if constant is None:
            lane, valid = source_lanes(mode, read_by(gang).astype(np.int64), read_clamp(gang).astype(np.int64))
        else:
            lane, valid = constant
        result = _from_lanes(value, lane)
        if np.count_nonzero(lanes.mask) != lanes.mask.size:
            absent = lanes.mask & ~_from_lanes(lanes.mask, lane)
            if absent.any():
                result = np.where(absent, POISON, result)
                _report_absent(operation, gang, absent)
        write(gang, lanes, result)
        for each in write_valid:
            each(gang, lanes, np.broadcast_to(valid, gang.shape))

    return _together(operation, members, execute)


def source_lanes(mode: str, by: Array | np.integer, clamp: Array | np.integer) -> tuple[Array, Mask]:
    """Which lane each lane reads, and whether that is within its segment: otherwise it reads itself.

    Shapes are those of `by` and `clamp` with a lane each: `(32,)` for two numbers.
    """
    segment = clamp >> 8 & 31
    by, last = by & 31, clamp & 31
    highest = (_LANE & segment) | (last & ~segment)
    match mode:
        case "up":
            lane = _LANE - by
            valid = lane >= highest
        case "down":
            lane = _LANE + by
            valid = lane <= highest
        case "bfly":
            lane = _LANE ^ by
            valid = lane <= highest
        case _:
            lane = (_LANE & segment) | (by & ~segment)
            valid = lane <= highest
    return np.where(valid, lane, _LANE), valid


def _from_lanes(value: Array, lane: Array) -> Array:
    if lane.ndim == 1:
        return value.take(lane, axis=1)
    return np.ascontiguousarray(value).reshape(-1)[lane + WARP * np.arange(len(value))[:, None]]


def _report_absent(operation: Operation, gang: Gang, absent: Mask) -> None:
    machine = gang.machine
    if machine.collect is not None:
        message = (
            "reads the register of a thread that does not take part in the shuffle\n"
            "move the shuffle out of the branch that leaves the thread out, or let no thread read from it"
        )
        machine.report(machine.finding("uninitialised-register", message, operation, gang, absent))


# Votes.


@instruction("vote.sync?.{all,any,uni}.pred", "vote.sync?.ballot.b32")
def _vote(operation: Operation) -> Step:
    members = _members(operation, 2)
    destination, source = operation.operands[:2]
    mode, type_ = operation.form.modifiers[-2:]
    read, write = operation.reader(source, "pred"), operation.writer(destination, type_)

    def execute(gang: Gang, lanes: Lanes, mask: Any) -> None:
        value = read(gang)
        yes = _bits(lanes.mask & value) & mask
        if mode == "ballot":
            result = yes
        elif mode == "any":
            result = yes != 0
        else:
            no = _bits(lanes.mask & ~value) & mask
            result = no == 0 if mode == "all" else (no == 0) | (yes == 0)
        write(gang, lanes, np.broadcast_to(result, gang.shape))

    return _together(operation, members, execute)


@instruction("activemask.b32")
def _active_mask(operation: Operation) -> Step:
    write = operation.writer(operation.operands[0], "b32")
    return lambda gang, lanes: write(gang, lanes, np.broadcast_to(_bits(lanes.mask), gang.shape))


@instruction("elect.sync")
def _elect(operation: Operation) -> Step:
    """The lowest of the members is elected. The ISA leaves open which; hardware takes it too."""
    members = _members(operation, 1)
    writers = operation.writers(operation.operands[0], ("b32", "pred"))

    def execute(gang: Gang, lanes: Lanes, mask: Any) -> None:
        there = _bits(lanes.mask) & mask
        lowest = there & (~there + np.uint32(1))
        lane = np.log2(np.maximum(lowest, 1).astype(np.float64)).astype(np.uint32)
        for write, value in zip(writers, (lane, lowest == _BIT), strict=False):
            write(gang, lanes, np.broadcast_to(value, gang.shape))

    return _together(operation, members, execute)


# Matches.


@instruction("match.{any,all}.sync.{b32,b64}")
def _match(operation: Operation) -> Step:
    members = _members(operation, 2)
    destination, source = operation.operands[:2]
    mode, type_ = operation.form.modifiers[0], operation.form.type
    read, writers = operation.reader(source, type_), operation.writers(destination, ("b32", "pred"))

    def execute(gang: Gang, lanes: Lanes, mask: Any) -> None:
        value = np.broadcast_to(read(gang), gang.shape)
        same = (value[:, :, None] == value[:, None, :]) & lanes.mask[:, None, :]
        equal = np.packbits(same, axis=2, bitorder="little").view("<u4")[..., 0] & mask
        if mode == "any":
            writers[0](gang, lanes, equal)
            return
        agree = equal == _bits(lanes.mask) & mask
        for write, result in zip(writers, (np.where(agree, equal, np.uint32(0)), agree), strict=False):
            write(gang, lanes, result)

    return _together(operation, members, execute)


# Reductions.


@instruction("redux.sync.{add,min,max}.{u32,s32}", "redux.sync.{and,or,xor}.b32", "redux.sync.{min,max}.abs?.NaN?.f32")
def _reduce(operation: Operation) -> Step:
    members = _members(operation, 2)
    destination, source = operation.operands[:2]
    type_ = operation.form.type
    read, write = operation.reader(source, type_), operation.writer(destination, type_)
    ufunc, neutral = _reduction(operation.form)
    absolute = operation.form.has("abs")

    def execute(gang: Gang, lanes: Lanes, mask: Any) -> None:
        value = np.broadcast_to(read(gang), gang.shape)
        if absolute:
            value = np.abs(value)

        def reduced(chosen: Mask) -> Array:
            found = ufunc.reduce(np.where(chosen, value, neutral), axis=1, keepdims=True, dtype=value.dtype)
            return np.where(np.isnan(found), _NAN, found) if found.dtype.kind == "f" else found

        masks: list[Any] = np.unique(mask[lanes.mask]).tolist() if mask.shape else [mask]
        result = reduced(lanes.mask & (np.uint32(masks[0]) & _BIT != 0))
        for other in masks[1:]:
            result = np.where(mask == other, reduced(lanes.mask & (np.uint32(other) & _BIT != 0)), result)
        write(gang, lanes, np.broadcast_to(result, gang.shape))

    return _together(operation, members, execute)


_NAN = np.array(0x7FFFFFFF, np.uint32).view(np.float32)[()]


def _reduction(form: Form) -> tuple[np.ufunc, Any]:
    """What reduces, and the value that changes nothing."""
    name, dtype = form.modifiers[1], DTYPES[form.type]
    if dtype.kind == "f":
        # Without .NaN a NaN is only the result when there is nothing else.
        if form.has("NaN"):
            return (np.minimum, dtype.type(np.inf)) if name == "min" else (np.maximum, dtype.type(-np.inf))
        return (np.fmin if name == "min" else np.fmax), dtype.type(np.nan)
    limits = np.iinfo(dtype)
    match name:
        case "add":
            return np.add, dtype.type(0)
        case "min":
            return np.minimum, dtype.type(limits.max)
        case "max":
            return np.maximum, dtype.type(limits.min)
        case "and":
            return np.bitwise_and, dtype.type(limits.max)
        case "or":
            return np.bitwise_or, dtype.type(0)
        case _:
            return np.bitwise_xor, dtype.type(0)
