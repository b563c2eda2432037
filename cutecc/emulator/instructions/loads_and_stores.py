"""Loads, stores, and what goes with them: prefetches, cache policies, conversions of addresses (PTX ISA, "Data
Movement and Conversion Instructions").

Caches are not modelled: their hints, eviction priorities and prefetch sizes change nothing, nor does `.nc`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cutecc.emulator.instructions.table import Step, instruction
from cutecc.emulator.instructions.types import DTYPES, bits_of
from cutecc.emulator.memory.spaces import (
    APERTURE_SHIFT,
    CLUSTER_SHIFT,
    FIRST_RANK,
    LOCAL_APERTURE,
    MODULE_APERTURE,
    OFFSET_MASK,
    PARAM_APERTURE,
    SHARED_ADDRESS_MASK,
    SHARED_APERTURE,
    base_space,
)
from cutecc.ptx.syntax import Address, Operand, Symbol

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.lanes import Array, Lanes

_SPACES = ("const", "global", "local", "param", "shared")
_VECTORS = {"v2": 2, "v4": 4, "v8": 8}
_CLEARED, _MOST_CLEARED = 8, 1 << 24
"""Bytes: what `st.bulk` writes is a multiple of the first, and not more than the second."""
_STORES = (
    *("weak", "volatile", "relaxed", "release", "mmio"),
    *("global", "local", "shared", "shared::cta", "shared::cluster", "param", "param::func"),
    *("b8", "b16", "b32", "b64", "b128", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f32", "f64"),
    *("v2", "v4", "v8", "wb", "cg", "cs", "wt"),
)
"""What the first modifier of a plain store may be: `st.async` and `st.bulk` are other instructions."""


def space_of(operation: Operation, operand: Operand) -> str:
    """The state space of an access: what the instruction says, else `generic`.

    The parameters of a function that is called are variables of its caller: for them it is where they lie.
    """
    written = next((each for each in operation.form.modifiers if base_space(each) in _SPACES), "generic")
    if (
        isinstance(operand, Address)
        and isinstance(operand.base, Symbol)
        and base_space(written) in ("param", "generic")
    ):
        return operation.symbol(operand.base.name)[0]
    return written


def element_type(operation: Operation) -> str:
    """The type of one element of a load or store."""
    type_ = operation.form.type
    if type_ not in DTYPES:
        raise operation.error(f"the emulator does not model accesses of type .{type_}")
    return type_


@instruction("ld.**", "ldu.**")
def _load(operation: Operation) -> Step:
    form = operation.form
    destination, source = operation.operands[:2]
    type_ = element_type(operation)
    dtype = DTYPES[type_]
    size, count = dtype.itemsize, _VECTORS.get(form.one_of(*_VECTORS), 1)
    items = _wanted(operation, operation.in_braces(destination, count))
    space, address = space_of(operation, source), operation.address(source)
    writers = [operation.writer(item, type_) for item in items]
    alignment = size * count
    # A writer extends a value with its sign only when the dtype has one.
    signed = dtype if dtype.kind == "i" else None

    def step(gang: Gang, lanes: Lanes) -> None:
        memory = gang.machine.memory
        values = memory.load(operation, gang, lanes, space, address(gang), size, len(writers), alignment)
        for write, value in zip(writers, values, strict=True):
            write(gang, lanes, value if signed is None else value.view(signed))

    return step


@instruction(f"st.{{{','.join(_STORES)}}}.**", "st.async.mmio?.release.{gpu,sys}.global?.*")
def _store(operation: Operation) -> Step:
    """An asynchronous store that releases is one; when it is performed, no thread is told."""
    form = operation.form
    target, source = operation.operands[:2]
    type_ = element_type(operation)
    bits, count = bits_of(DTYPES[type_]), _VECTORS.get(form.one_of(*_VECTORS), 1)
    space, address = space_of(operation, target), operation.address(target)
    readers = [operation.reader(item, type_) for item in operation.in_braces(source, count)]

    def step(gang: Gang, lanes: Lanes) -> None:
        values = [read(gang).view(bits) for read in readers]
        gang.machine.memory.store(operation, gang, lanes, space, address(gang), values)

    return step


@instruction("st.bulk.weak?.shared::cta?")
def _clear(operation: Operation) -> Step:
    """Zeros, a multiple of 8 bytes, in shared memory."""
    target, size, _ = operation.operands
    space, address, read_size = space_of(operation, target), operation.address(target), operation.reader(size, "u64")
    zero = [np.zeros((), np.uint64)]

    def step(gang: Gang, lanes: Lanes) -> None:
        addresses, sizes = address(gang), np.broadcast_to(read_size(gang), gang.shape)
        lanes = _with_size(operation, gang, lanes, sizes)
        for offset in range(0, int(sizes[lanes.mask].max(initial=0)), _CLEARED):
            some = lanes.only(sizes > offset)
            gang.machine.memory.store(operation, gang, some, space, addresses + np.uint64(offset), zero)

    return step


def _with_size(operation: Operation, gang: Gang, lanes: Lanes, sizes: Array) -> Lanes:
    """Faults of those threads whose size `st.bulk` does not take; the others."""
    wrong = lanes.mask & ((sizes % _CLEARED != 0) | (sizes > _MOST_CLEARED))
    if not wrong.any():
        return lanes
    message = f"the size of st.bulk is not a multiple of {_CLEARED} up to {_MOST_CLEARED}"
    gang.machine.fault("misaligned", message, operation, gang, wrong)
    return lanes.only(~wrong)


def _wanted(operation: Operation, items: tuple[Operand, ...]) -> tuple[Operand, ...]:
    """Without the elements at the end that no instruction uses.

    Compilers widen a load beyond what the program reads, as far as alignment allows; the program does not access that.
    """
    last = max((number for number, item in enumerate(items) if operation.is_used(item)), default=0)
    return items[: last + 1]


@instruction("prefetch.**", "prefetchu.**", "applypriority.**", "discard.**")
def _hint(operation: Operation) -> Step:
    """What is only told to caches. `discard` leaves undefined what it is told of; here it stays as it was."""
    return lambda gang, lanes: None


@instruction("createpolicy.**")
def _policy(operation: Operation) -> Step:
    """A cache policy is a number that only caches understand."""
    write = operation.writer(operation.operands[0], "b64")
    return lambda gang, lanes: write(gang, lanes, np.zeros(gang.shape, np.uint64))


# Addresses.

_TO_GENERIC = {
    "shared": SHARED_APERTURE,
    "local": LOCAL_APERTURE,
    "param": PARAM_APERTURE,
    "const": MODULE_APERTURE,
    "global": 0,  # a variable's address is in its window already
}


@instruction("cvta.{const,global,local,param,param::entry,shared,shared::cta,shared::cluster}.{u32,u64}")
def _to_generic(operation: Operation) -> Step:
    destination, source = operation.operands
    space = base_space(operation.form.modifiers[0])
    if isinstance(source, Symbol) and space == "param":
        space = operation.symbol(source.name)[0]
    read, write = operation.reader(source, "u64"), operation.writer(destination, operation.form.type)
    aperture = np.uint64(_TO_GENERIC[base_space(space)])
    dtype = DTYPES[operation.form.type]
    return lambda gang, lanes: write(gang, lanes, (read(gang) | aperture).astype(dtype))


@instruction("cvta.to.{const,global,local,param,param::entry,shared,shared::cta,shared::cluster}.{u32,u64}")
def _from_generic(operation: Operation) -> Step:
    destination, source = operation.operands
    space, dtype = base_space(operation.form.modifiers[1]), DTYPES[operation.form.type]
    read, write = operation.reader(source, "u64"), operation.writer(destination, operation.form.type)
    masks = {"shared": SHARED_ADDRESS_MASK, "global": 2**64 - 1}
    mask = np.uint64(masks.get(space, OFFSET_MASK))
    return lambda gang, lanes: write(gang, lanes, (read(gang) & mask).astype(dtype))


@instruction("isspacep.{const,global,local,param,param::entry,shared,shared::cta,shared::cluster}")
def _is_space(operation: Operation) -> Step:
    """Variables of the module count as global memory, those of the constant space too."""
    destination, source = operation.operands
    space = operation.form.type
    read, write = operation.reader(source, "u64"), operation.writer(destination, "pred")
    aperture = _TO_GENERIC[base_space(space)] >> APERTURE_SHIFT

    def step(gang: Gang, lanes: Lanes) -> None:
        address = np.broadcast_to(read(gang), gang.shape)
        top = address >> np.uint64(APERTURE_SHIFT)
        if space == "global":
            result = (top == 0) | (top == MODULE_APERTURE >> APERTURE_SHIFT)
        elif space == "const":
            result = np.zeros(gang.shape, np.bool_)
        else:
            result = top == aperture
        if space in ("shared", "shared::cta"):
            rank = (address & np.uint64(SHARED_ADDRESS_MASK)) >> np.uint64(CLUSTER_SHIFT)
            own = np.array([[block.rank + FIRST_RANK] for block in gang.blocks], np.uint64)
            result &= (rank == 0) | (rank == own)
        write(gang, lanes, result)

    return step
