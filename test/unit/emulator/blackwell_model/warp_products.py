"""`mma.sync` of narrow formats, with scales or without: `kind::f8f6f4`, `mxf8f6f4`, `mxf4` and `mxf4nvf4` of sm_120a.

PTX ISA, 9.7.14.3 "Block Scaling for mma.sync" with tables 35 to 37, 9.7.14.5.10 "Matrix Fragments for mma.m16n8k32",
9.7.14.5.11 "Matrix Fragments for mma.m16n8k64", 9.7.14.5.14 "mma". Which of the two threads of a pair has the scale of
which row is a picture (figure 43); it is here as public measurements on sm_120a have it, and as public kernels load it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from blackwell_model.data_path import bits_of_a
from blackwell_model.instruction_descriptor import Kind
from blackwell_model.loads_and_stores import Words
from blackwell_model.matrices import Matrix, value

M, N = 16, 8
THREADS = 32


@dataclass(frozen=True)
class RegisterBits:
    """Some bits of a thread's register of a fragment."""

    thread: int
    register: int
    first: int
    count: int


@dataclass(frozen=True)
class ScaleSelector:
    """`scale-data` with `{byte-id, thread-id}`: which bytes of which threads' registers are the scales."""

    byte: int = 0
    thread: int = 0


def k_of(kind: Kind) -> int:
    return 64 if kind.is_4_bit else 32


def a_element(kind: Kind, dtype: str, row: int, k: int) -> RegisterBits:
    """Registers 0 and 2 have the first eight rows, 2 and 3 the second half of K."""
    half, place = divmod(k, k_of(kind) // 2)
    return _element(kind, dtype, row % 8, row // 8 + 2 * half, place)


def b_element(kind: Kind, dtype: str, k: int, column: int) -> RegisterBits:
    half, place = divmod(k, k_of(kind) // 2)
    return _element(kind, dtype, column, half, place)


def d_element(row: int, column: int) -> RegisterBits:
    """Of f32 results; one of f16 is the half of a register, two columns in each."""
    return RegisterBits(4 * (row % 8) + column // 2, column % 2 + 2 * (row // 8), 0, 32)


def a_scale(row: int, index: int, selector: ScaleSelector) -> RegisterBits:
    """Of a row's scale with this index."""
    return RegisterBits(4 * (row % 8) + 2 * selector.thread + row // 8, 0, 8 * (selector.byte + index), 8)


def b_scale(column: int, index: int, selector: ScaleSelector) -> RegisterBits:
    return RegisterBits(4 * column + selector.thread, 0, 8 * (selector.byte + index), 8)


def selectors(count: int, operand: str) -> list[ScaleSelector]:
    """The valid ones (table 37) for so many scales; other values are undefined behaviour."""
    bytes_of = {1: (0, 1, 2, 3), 2: (0, 2), 4: (0,)}[count]
    threads = range(2 if operand == "a" else 4)
    return [ScaleSelector(byte, thread) for byte in bytes_of for thread in threads]


def scale_types(kind: Kind, count: int) -> tuple[str, ...]:
    """Of table 36, with what 9.1 added; empty for counts that a kind has not."""
    allowed = {
        (Kind.MXF8F6F4, 1): ("ue8m0",),
        (Kind.MXF4, 2): ("ue8m0",),
        (Kind.MXF4NVF4, 2): ("ue8m0",),
        (Kind.MXF4NVF4, 4): ("ue8m0", "ue4m3"),
    }
    return allowed.get((kind, count), ())


def read(registers: Words, place: RegisterBits) -> int:
    """`registers` is `[register, thread]`."""
    return int(registers[place.register, place.thread]) >> place.first & (1 << place.count) - 1


def write(registers: Words, place: RegisterBits, code: int) -> None:
    mask = (1 << place.count) - 1 << place.first
    registers[place.register, place.thread] = int(registers[place.register, place.thread]) & ~mask | code << place.first


@dataclass(frozen=True)
class Operand:
    """The registers of A or B, and of its scales."""

    dtype: str
    registers: Words
    scales: Words | None = None
    selector: ScaleSelector = ScaleSelector()


def product(kind: Kind, a: Operand, b: Operand, scale_type: str = "ue8m0", scale_count: int = 1) -> Matrix:
    """A times B, each with its scales, before C is added."""
    k = k_of(kind)
    block = k // scale_count
    left = np.ones((M, k))
    right = np.ones((k, N))
    for row, index in np.ndindex(M, k):
        left[row, index] = value(a.dtype, read(a.registers, a_element(kind, a.dtype, row, index)))
        if a.scales is not None:
            left[row, index] *= value(scale_type, _code(scale_type, a.scales, a_scale(row, index // block, a.selector)))
    for index, column in np.ndindex(k, N):
        right[index, column] = value(b.dtype, read(b.registers, b_element(kind, b.dtype, index, column)))
        if b.scales is not None:
            scale = b_scale(column, index // block, b.selector)
            right[index, column] *= value(scale_type, _code(scale_type, b.scales, scale))
    return left @ right


def _element(kind: Kind, dtype: str, group: int, register: int, place: int) -> RegisterBits:
    """Each of the four threads of a group has as many consecutive elements as a register has room for."""
    # Elements lie in a register as those of A do in a column of tensor memory.
    thread, first, count = bits_of_a(kind, dtype, place)
    return RegisterBits(4 * group + thread, register, first, count)


def _code(scale_type: str, scales: Words, place: RegisterBits) -> int:
    """Without the bit that pads a ue4m3."""
    byte = read(scales, place)
    return byte & 0x7F if scale_type == "ue4m3" else byte
