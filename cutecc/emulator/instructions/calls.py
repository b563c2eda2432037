"""The functions of the CUDA device runtime that kernels call, and instructions that stop a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from cutecc.emulator.instructions import heap
from cutecc.emulator.instructions.table import Step, instruction
from cutecc.emulator.machine.lanes import WARP, Array, Lanes
from cutecc.runtime.program.printing import Conversion, converted, parse_format

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.gang import Gang

Provided = Callable[["Operation", "Gang", Lanes, list[Array]], Array | None]
"""Called with the arguments, unsigned arrays `(warps, 32)`; gives the result."""

_LONGEST_STRING = 1 << 16
"""Bytes: a string without an end is an error."""


def provided(name: str) -> Provided | None:
    """What the emulator does when a kernel calls the `.extern .func` of this name; `None` when it has none."""
    return _FUNCTIONS.get(name)


# printf.


def _vprintf(operation: Operation, gang: Gang, lanes: Lanes, arguments: list[Array]) -> Array:
    """`vprintf(format, buffer)`: prints a line of every thread, by warp and lane; gives the number of arguments."""
    formats, buffers = arguments
    counts = np.zeros(gang.shape, np.uint32)
    texts: dict[int, str] = {}
    for address in np.unique(formats[lanes.mask]):
        same = lanes.only(formats == address)
        pieces = _pieces(operation, _string(operation, gang, same, int(address)))
        conversions = [piece for piece in pieces if isinstance(piece, Conversion)]
        values = _arguments(operation, gang, same, buffers, conversions)
        for thread in np.flatnonzero(same.mask):
            row, lane = divmod(int(thread), WARP)
            given = iter([int(value[row, lane]) for value in values])
            words = [
                each if isinstance(each, str) else _word(operation, gang, row, lane, each, next(given))
                for each in pieces
            ]
            texts[int(thread)] = "".join(words)
        counts[same.mask] = len(conversions)
    for _, text in sorted(texts.items()):
        gang.machine.print(text)
    return counts


def _pieces(operation: Operation, text: str) -> list[str | Conversion]:
    try:
        return parse_format(text, strings=True)
    except ValueError as error:
        raise operation.error(f"printf: {error}") from None


def _arguments(
    operation: Operation, gang: Gang, lanes: Lanes, buffers: Array, conversions: list[Conversion]
) -> list[Array]:
    """The bits of each argument: as C promotes them, each at a multiple of its size."""
    values: list[Array] = []
    offset = 0
    for conversion in conversions:
        size = 8 if conversion.takes_float or conversion.bits == 64 else 4
        offset = -(-offset // size) * size
        addresses = buffers.astype(np.uint64) + np.uint64(offset)
        (value,) = gang.machine.memory.load(operation, gang, lanes, "generic", addresses, size, 1)
        values.append(value)
        offset += size
    return values


def _word(operation: Operation, gang: Gang, row: int, lane: int, conversion: Conversion, bits: int) -> str:
    """What one thread prints for one argument."""
    if conversion.letter == "s":
        text = _string(operation, gang, Lanes(gang.mask((row, lane))), bits)[: conversion.precision]
        return text.ljust(conversion.width) if "-" in conversion.flags else text.rjust(conversion.width)
    if conversion.takes_float:
        return converted(conversion, float(np.uint64(bits).view(np.float64)), "f64")
    return converted(conversion, bits, "i64" if conversion.bits == 64 else "i32")


# assert.


def _assert_fail(operation: Operation, gang: Gang, lanes: Lanes, arguments: list[Array]) -> None:
    """`__assertfail(message, file, line, function, character size)`."""
    message, file, line, function = arguments[:4]
    rest = lanes
    while rest.any():
        row, lane = divmod(int(rest.mask.argmax()), WARP)
        one = Lanes(gang.mask((row, lane)))
        words = [_string(operation, gang, one, int(each[row, lane])) for each in (message, file, function)]
        where = f"{words[1]}:{int(line[row, lane])}"
        text = f"assertion '{words[0]}' failed at {where}" + (f" in {words[2]}" if words[2] else "")
        same = rest.mask.copy()
        for each in (message, file, line, function):
            same &= each == each[row, lane]
        gang.machine.fault("trap", text, operation, gang, same)
        rest = rest.only(~same)


_FUNCTIONS: dict[str, Provided] = {
    "vprintf": _vprintf,
    "__assertfail": _assert_fail,
    "malloc": heap.allocate,
    "free": heap.release,
}


# Strings in memory.


def _string(operation: Operation, gang: Gang, lanes: Lanes, address: int) -> str:
    """The text up to a zero byte, read by one of the threads."""
    if address == 0:
        return "(null)"
    row, lane = divmod(int(lanes.mask.argmax()), WARP)
    one = Lanes(gang.mask((row, lane)))
    data = bytearray()
    while len(data) < _LONGEST_STRING:
        addresses = np.full(gang.shape, address + len(data), np.uint64)
        (found,) = gang.machine.memory.load(operation, gang, one, "generic", addresses, 1, 1)
        byte = int(found[row, lane])
        if byte == 0:
            return data.decode("utf-8", "replace")
        data.append(byte)
    raise operation.error(f"a string of more than {_LONGEST_STRING} bytes, or without its end")


# Instructions.


@instruction("trap", "brkpt")
def _trap(operation: Operation) -> Step:
    def step(gang: Gang, lanes: Lanes) -> None:
        gang.machine.fault("trap", f"executes '{operation.form}'", operation, gang, lanes.mask)

    return step
