"""Which bits of tensor memory each register of each thread has in `tcgen05.ld` and `tcgen05.st`, and `.red`.

PTX ISA, 9.7.16.2.3 "Data Movement Shape" with the fragments 9.7.16.2.3.1.1 to .5, 9.7.16.8.2 "Packing and Unpacking",
9.7.16.8.3 "tcgen05.ld", 9.7.16.8.4 "tcgen05.st", tables 49 and 50. The fragments are pictures in the manual (figures
183 to 187, and 193 for packing); what is here for them is what CuTe DSL's atoms have as layouts of threads and values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Literal

import numpy as np
import numpy.typing as npt

from blackwell_model.cells import COLUMNS, LANES, Bits, Cell, decode_address, encode_address

THREADS = 32
COUNTS = (1, 2, 4, 8, 16, 32, 64, 128)

Words = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class _Fragment:
    lanes: int
    columns: int
    """Of one repetition."""
    registers: int
    """Of one thread for one repetition."""


class Shape(Enum):
    """The qualifier's `lanes x bits`, of one repetition; `.16x32bx2` is two accesses of `.16x32b`."""

    S16X64B = _Fragment(16, 2, 1)
    S16X128B = _Fragment(16, 4, 2)
    S16X256B = _Fragment(16, 8, 4)
    S32X32B = _Fragment(32, 1, 1)
    S16X32BX2 = _Fragment(16, 1, 1)

    @property
    def lanes(self) -> int:
        return self.value.lanes


@dataclass(frozen=True)
class Piece:
    """Bits of a thread's register, and the bits of tensor memory that they are moved from or to."""

    register_bit: int
    memory: Bits


def registers(shape: Shape, count: int) -> int | None:
    """How many a thread has for `.xN`, or None where the manual's table has no such form."""
    number = shape.value.registers * count
    return number if count in COUNTS and number <= 128 else None


def columns(shape: Shape, count: int, *, packed: bool = False) -> int:
    """How many columns one access takes, from its address on: twice as many when 16 of their 32 bits are moved."""
    return shape.value.columns * count * (2 if packed else 1)


def fragment(shape: Shape, thread: int, register: int) -> Cell:
    """Lane and column from the address of the access on, in columns of register width."""
    quad, place = divmod(thread, 4)
    repetition, within = divmod(register, shape.value.registers)
    first = repetition * shape.value.columns
    match shape:
        case Shape.S32X32B:
            return Cell(thread, first)
        case Shape.S16X32BX2:
            return Cell(thread % 16, first)
        case Shape.S16X64B:
            # Of four threads, the first and third have lane `quad`, the others the lane eight below.
            return Cell(quad + 8 * (place % 2), first + place // 2)
        case Shape.S16X128B:
            return Cell(quad + 8 * within, first + place)
        case Shape.S16X256B:
            return Cell(quad + 8 * (within // 2), first + 2 * place + within % 2)


def pieces(
    address: int, shape: Shape, thread: int, register: int, *, packed: bool = False, half_split: int = 0
) -> tuple[Piece, ...]:
    """Where a thread's register is in tensor memory.

    `packed` is `.pack::16b` of a load and `.unpack::16b` of a store: the low halves of two neighbouring columns, the
    first in the register's low half. `half_split` is `immHalfSplitoff`, added to the address for threads 16 to 31.
    """
    if shape is Shape.S16X32BX2 and thread >= 16:
        address += half_split
    base, inside = decode_address(address), fragment(shape, thread, register)
    if not packed:
        return (Piece(0, Bits(base.moved(inside.lane, inside.column), 0, 32)),)
    first = base.moved(inside.lane, 2 * inside.column)
    return (Piece(0, Bits(first, 0, 16)), Piece(16, Bits(first.moved(columns=1), 0, 16)))


def load(memory: Words, address: int, shape: Shape, count: int, *, packed: bool = False, half_split: int = 0) -> Words:
    """The registers of all threads, `[register, thread]`."""
    number = _number(shape, count)
    loaded = np.zeros((number, THREADS), np.uint32)
    for register, thread in np.ndindex(number, THREADS):
        for piece in pieces(address, shape, thread, register, packed=packed, half_split=half_split):
            cell = _existing(piece.memory.cell)
            bits = int(memory[cell.lane, cell.column]) >> piece.memory.first & (1 << piece.memory.count) - 1
            loaded[register, thread] |= np.uint32(bits << piece.register_bit)
    return loaded


def store(
    memory: Words, address: int, shape: Shape, values: Words, *, packed: bool = False, half_split: int = 0
) -> Words:
    """The memory afterwards. The manual has no word on the high half of an unpacked column: it stays here."""
    after = memory.copy()
    for register, thread in np.ndindex(*values.shape):
        for piece in pieces(address, shape, thread, register, packed=packed, half_split=half_split):
            cell = _existing(piece.memory.cell)
            mask = (1 << piece.memory.count) - 1
            kept = int(after[cell.lane, cell.column]) & ~(mask << piece.memory.first)
            moved = int(values[register, thread]) >> piece.register_bit & mask
            after[cell.lane, cell.column] = kept | moved << piece.memory.first
    return after


def reduce(
    values: Sequence[int],
    operation: Literal["min", "max"],
    dtype: Literal["f32", "u32", "s32"],
    *,
    absolute: bool = False,
    nan: bool = False,
) -> int:
    """What `.red` gives a thread for the registers that it loaded, as bits.

    Of floats as `min` and `max` have it: -0 is less than +0; without `.NaN` a NaN counts only where all are, with it
    one is enough, and the result is the canonical one. `.abs` takes the magnitudes first.
    """
    bits = np.array(values, np.uint32)
    choose = min if operation == "min" else max
    if dtype == "u32":
        return choose(int(each) for each in bits)
    if dtype == "s32":
        return choose(int(each) for each in bits.view(np.int32)) & 0xFFFFFFFF
    if absolute:
        bits &= np.uint32(0x7FFFFFFF)
    numbers = bits[~np.isnan(bits.view(np.float32))]
    if not len(numbers) or (nan and len(numbers) < len(bits)):
        return 0x7FFFFFFF
    return choose((int(each) for each in numbers), key=_rank)


def _rank(bits: int) -> int:
    """Orders floats by their bits, -0 before +0."""
    return -(bits & 0x7FFFFFFF) - 1 if bits >> 31 else bits


def _number(shape: Shape, count: int) -> int:
    number = registers(shape, count)
    if number is None:
        raise ValueError(f"no form of {shape.name} has x{count}")
    return number


def _existing(cell: Cell) -> Cell:
    if not cell.exists:
        raise ValueError(f"{encode_address(cell):#x} is outside of {LANES} lanes and {COLUMNS} columns")
    return cell
