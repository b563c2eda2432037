"""`atom` and `red`: read-modify-write of memory (PTX ISA, "Parallel Synchronization and Communication Instructions").

Threads with the same address take turns in the order of warps and lanes. Reductions of bulk copies do the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from cutecc.emulator.instructions.loads_and_stores import space_of
from cutecc.emulator.instructions.table import Step, instruction
from cutecc.emulator.instructions.types import DTYPES, bits_of
from cutecc.emulator.machine.lanes import Array, Lanes
from cutecc.emulator.memory.conflicts import Accumulate, OneByOne, Update
from cutecc.emulator.memory.spaces import base_space
from cutecc.ptx.syntax import Sink

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.gang import Gang

_OPERATIONS = ("and", "or", "xor", "cas", "exch", "add", "inc", "dec", "min", "max")
_LEADING = (
    *("relaxed", "acquire", "release", "acq_rel"),
    *("cta", "cluster", "gpu", "sys", "global", "shared", "shared::cta", "shared::cluster"),
    *_OPERATIONS,
)
"""What the first modifier may be: most of `red.async` is another instruction."""
_VECTORS = {"v2": 2, "v4": 4, "v8": 8}

Prepare = Callable[["Array", "Array"], Update]
"""Operands `b` and `c` (`b` again where there is no `c`), flat, of the type's dtype → what one turn does."""


@instruction(f"atom.{{{','.join(_LEADING)}}}.**")
def _atom(operation: Operation) -> Step:
    destination, target, *sources = operation.operands
    return _update(operation, destination, target, sources)


@instruction(
    f"red.{{{','.join(_LEADING)}}}.**",
    "red.async.mmio?.release.{gpu,sys}.global?.{inc,dec,min,max,and,or,xor,add}.*",
)
def _red(operation: Operation) -> Step:
    target, *sources = operation.operands
    return _update(operation, Sink(), target, sources)


def _update(operation: Operation, destination: Any, target: Any, sources: list[Any]) -> Step:
    form = operation.form
    name = form.one_of(*_OPERATIONS)
    # The type is the last modifier, but for vectors of halves: `.noftz.v2.f16` and `.v2.f16` alike.
    type_ = form.type
    if type_ not in DTYPES or not name:
        raise operation.error(f"the emulator does not model '{form}'")
    dtype = DTYPES[type_]
    bits = bits_of(dtype)
    size = bits.itemsize
    count = _VECTORS.get(form.one_of(*_VECTORS), 1)
    space, address = space_of(operation, target), operation.address(target)
    prepare = update_of(operation, name, type_, base_space(space))
    taken = 2 if name == "cas" else 1
    if len(sources) < taken:
        raise operation.error(f"'{form}' takes {taken} operand{'s' * (taken > 1)} behind the address")
    operands = [
        [operation.reader(item, type_) for item in operation.in_braces(source, count)] for source in sources[:taken]
    ]
    items = [destination] * count if isinstance(destination, Sink) else operation.in_braces(destination, count)
    writers = [operation.writer(item, type_) for item in items]

    def step(gang: Gang, lanes: Lanes) -> None:
        addresses = address(gang)
        memory = gang.machine.memory
        values = [[np.broadcast_to(read(gang), gang.shape).reshape(-1) for read in each] for each in operands]
        for number in range(count):
            update = prepare(values[0][number], values[-1][number])
            place = addresses + np.uint64(number * size) if number else addresses
            old = memory.update(operation, gang, lanes, space, place, update, size, size if number else size * count)
            writers[number](gang, lanes, old.view(dtype))

    return step


def update_of(operation: Operation, name: str, type_: str, space: str) -> Prepare:
    """What makes an update of the operands, for the operation `name` on elements of a type; of bulk reductions too."""
    match name, type_:
        case (("and" | "or" | "xor"), _):
            return _accumulating(getattr(np, f"bitwise_{name}"))
        case "add", ("u32" | "s32" | "u64" | "s64" | "f64"):
            return _accumulating(np.add)
        case (("min" | "max"), ("u32" | "s32" | "u64" | "s64")):
            return _accumulating(getattr(np, f"{name}imum"))
        case "add", "f32":
            return _add_floats(flushes=space != "shared")
        case (("add" | "min" | "max"), ("f16" | "f16x2" | "bf16" | "bf16x2")):
            return _halves(name, type_)
        case "exch", _:
            return _exchange
        case "cas", _:
            return _compare_and_swap
        case "inc", "u32":
            return _increment
        case "dec", "u32":
            return _decrement
        case _:
            raise operation.error(f"the emulator does not model '{operation.form}'")


def _accumulating(ufunc: np.ufunc) -> Prepare:
    return lambda b, c: Accumulate(ufunc, b)


def _exchange(b: Array, c: Array) -> Update:
    return OneByOne(lambda old, threads: b[threads].view(old.dtype), lambda old, b, c: b, (b, c))


def _compare_and_swap(b: Array, c: Array) -> Update:
    def turn(old: Array, threads: Array) -> Array:
        return np.where(old == b[threads].view(old.dtype), c[threads].view(old.dtype), old)

    return OneByOne(turn, lambda old, b, c: c if old == b else old, (b, c))


def _increment(b: Array, c: Array) -> Update:
    def turn(old: Array, threads: Array) -> Array:
        return np.where(old >= b[threads], np.uint32(0), old + np.uint32(1))

    return OneByOne(turn, lambda old, b, c: 0 if old >= b else old + 1, (b, c))


def _decrement(b: Array, c: Array) -> Update:
    def turn(old: Array, threads: Array) -> Array:
        return np.where((old == 0) | (old > b[threads]), b[threads], old - np.uint32(1))

    return OneByOne(turn, lambda old, b, c: b if old == 0 or old > b else old - 1, (b, c))


# Floating-point.


def _add_floats(flushes: bool) -> Prepare:
    """`add.f32`: in shared memory it keeps subnormal numbers, in global memory it takes them, and gives them, as zeros
    of their sign. Through a generic address it is taken to be global memory's."""

    def prepare(b: Array, c: Array) -> Update:
        def turn(old: Array, threads: Array) -> Array:
            x, y = old.view(np.float32), b[threads]
            result = _flushed(_flushed(x) + _flushed(y)) if flushes else x + y
            return np.where(np.isnan(result), _NAN, result).view(old.dtype)

        return Accumulate(np.add, b, turn, _ordinary)

    return prepare


def _ordinary(table: Array) -> bool:
    """Whether a running sum needs no flushing, and has no NaN."""
    magnitude = np.abs(table)
    return not bool((((magnitude < _SMALLEST) & (magnitude > 0)) | np.isnan(magnitude)).any())


_SMALLEST = np.finfo(np.float32).tiny
_NAN = np.uint32(0x7FFFFFFF).view(np.float32)


def _flushed(value: Array) -> Array:
    return np.where(np.abs(value) < _SMALLEST, np.copysign(np.float32(0), value), value)


def _halves(name: str, type_: str) -> Prepare:
    """Of one or two halves: exact in `f32`, but for `add`, whose second rounding changes nothing."""
    decode, encode = (_from_bf16, _to_bf16) if type_.startswith("bf16") else (_from_f16, _to_f16)
    combine = {"add": np.add, "min": _minimum, "max": _maximum}[name]

    def prepare(b: Array, c: Array) -> Update:
        def turn(old: Array, threads: Array) -> Array:
            result = combine(decode(old.view(np.uint16)), decode(b[threads].view(np.uint16)))
            return encode(result).view(old.dtype)

        return turn

    return prepare


def _from_f16(bits: Array) -> Array:
    return bits.view(np.float16).astype(np.float32)


def _to_f16(value: Array) -> Array:
    return np.where(np.isnan(value), np.uint16(0x7FFF), value.astype(np.float16).view(np.uint16))


def _from_bf16(bits: Array) -> Array:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def _to_bf16(value: Array) -> Array:
    bits = value.view(np.uint32)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(value), np.uint16(0x7FFF), rounded.astype(np.uint16))


def _minimum(x: Array, y: Array) -> Array:
    """Of a NaN and a number the number; -0 is less than +0."""
    return np.where((x == 0) & (y == 0), np.where(np.signbit(x), x, y), np.fmin(x, y))


def _maximum(x: Array, y: Array) -> Array:
    return np.where((x == 0) & (y == 0), np.where(np.signbit(x), y, x), np.fmax(x, y))


# Reductions of bulk copies: what is in memory, combined with what comes.

REDUCTIONS: Final = ("add", "min", "max", "inc", "dec", "and", "or", "xor")
_UNSIGNED: Final = {"b32": "u32", "b64": "u64"}

Reduce = Callable[[Array, Array], Array]
"""Old and new bytes, flat and contiguous → the bytes that replace the old ones."""


def reduction(operation: Operation, name: str, type_: str, space: str) -> Reduce:
    """The reduction of elements of a type in `global` or `shared` memory; the same as `red` does for a thread."""
    prepare = update_of(operation, name, _UNSIGNED.get(type_, type_), space)
    dtype = DTYPES[type_]

    def reduce(old: Array, new: Array) -> Array:
        values = np.ascontiguousarray(new).view(dtype)
        update = prepare(values, values)
        return update(np.ascontiguousarray(old).view(bits_of(dtype)), np.arange(values.size)).view(np.uint8)

    return reduce
