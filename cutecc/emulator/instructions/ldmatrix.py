"""Matrices between shared memory and registers: `ldmatrix`, `stmatrix`, and `movmatrix` between registers.

Rows in memory have 16 bytes each, and every thread gives the address of one. Fragments are as the PTX ISA, "ldmatrix"
and "stmatrix", has them:

- `.m8n8` of 16 bits: thread `8i + r` has the address of row `r` of matrix `i`; register `i` of a thread has elements
  `2 * (lane % 4)` and the next of row `lane / 4` of matrix `i`, or of its transpose.
- `.m8n16` of 4 and 6 bits: likewise, and the register has the four elements from `4 * (lane % 4)` on, each in a byte.
- `.m16n16.trans`: thread `16i + r` has the address of row `r` of matrix `i`; register `2i` has the four elements from
  row `4 * (lane % 4)` on of column `lane / 4`, register `2i + 1` those of the column 8 further: what A of `mma` is made
  of where it lies by columns.
- `stmatrix.m16n8.trans`: rows as of `.m8n8`; the bytes of a register go to row `2 * (lane % 4)` and the next of column
  `lane / 4`, then to those rows of the column 8 further: what D of `mma` is.

Elements of 4 and 6 bits are the lower bits of a byte. They lie one behind the other, the lowest bits first, with what a
row has left behind them; as `.b4x16_p64` and `.b6x16_p32` that is not read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from cutecc.emulator.instructions.aligned import aligned
from cutecc.emulator.instructions.operation import Operation
from cutecc.emulator.instructions.table import Step, instruction
from cutecc.emulator.machine.lanes import WARP, Array, Lanes
from cutecc.emulator.numbers.unpacking import elements_in

if TYPE_CHECKING:
    from cutecc.emulator.machine.gang import Gang

_COUNTS: Final = {"x1": 1, "x2": 2, "x4": 4}
_WORDS: Final = 4
"""Of a row."""
_SPACE: Final = "{shared,shared::cta}?"


@dataclass(frozen=True)
class _Rows:
    """What of a row is read, and the 16 bytes that are made of it."""

    words: int
    alignment: int
    """Bytes."""
    expand: Callable[[Array], Array]
    """Bytes in the last axis, of which there are 16 then."""


_WHOLE: Final = _Rows(4, 16, lambda row: row)
_PACKED: Final = {
    "b4x16_p64": _Rows(2, 16, lambda row: elements_in(row, 4)),
    "b6x16_p32": _Rows(3, 16, lambda row: elements_in(row, 6)),
    "s4": _Rows(2, 8, lambda row: (elements_in(row, 4) ^ 8) - np.uint8(8)),
}


@instruction(
    f"ldmatrix.sync.aligned.m8n8.{{x1,x2,x4}}.trans?.{_SPACE}.b16",
    f"ldmatrix.sync.aligned.m8n16.{{x1,x2,x4}}.{_SPACE}.b8x16.{{b6x16_p32,b4x16_p64}}",
    f"ldmatrix.sync.aligned.m8n16.{{x1,x2,x4}}.{_SPACE}.s8.s4",
    f"ldmatrix.sync.aligned.m16n16.{{x1,x2}}.trans.{_SPACE}.b8",
    f"ldmatrix.sync.aligned.m16n16.{{x1,x2}}.trans.{_SPACE}.b8x16.{{b6x16_p32,b4x16_p64}}",
)
def load(operation: Operation) -> Step:
    """Rows from shared memory; only the threads whose addresses count access memory."""
    form = operation.form
    is_large = form.has("m16n16")
    registers = _COUNTS[form.one_of(*_COUNTS)] * (2 if is_large else 1)
    kind = _PACKED.get(form.type, _WHOLE)
    space = form.one_of("shared", "shared::cta", default="generic")
    write = operation.vector_writer(operation.operands[0], "b32", registers)
    address = operation.address(operation.operands[1])
    loading = np.arange(WARP) < 8 * registers
    transpose = _transpose_bytes if is_large else _transpose if form.has("trans") else None

    def execute(gang: Gang, lanes: Lanes) -> None:
        memory = gang.machine.memory
        there = lanes.only(loading)
        words = memory.load(operation, gang, there, space, address(gang), 4, kind.words, kind.alignment)
        rows = np.ascontiguousarray(kind.expand(np.stack(words, axis=-1).view(np.uint8))).view(np.uint32)
        matrices = rows.reshape(gang.warps, 4, 8, _WORDS)
        if transpose is not None:
            matrices = transpose(matrices)
        write(gang, lanes, [matrices[:, each].reshape(gang.shape) for each in range(registers)])

    return aligned(operation, execute)


@instruction(
    f"stmatrix.sync.aligned.m8n8.{{x1,x2,x4}}.trans?.{_SPACE}.b16",
    f"stmatrix.sync.aligned.m16n8.{{x1,x2,x4}}.trans.{_SPACE}.b8",
)
def store(operation: Operation) -> Step:
    """Rows to shared memory; only the threads whose addresses count access memory, 16 bytes each."""
    form = operation.form
    count = _COUNTS[form.one_of(*_COUNTS)]
    space = form.one_of("shared", "shared::cta", default="generic")
    address = operation.address(operation.operands[0])
    read = operation.vector_reader(operation.operands[1], "b32", count)
    storing = np.arange(WARP) < 8 * count
    transpose = _rows_of_result if form.has("m16n8") else _transpose if form.has("trans") else None

    def execute(gang: Gang, lanes: Lanes) -> None:
        matrices = np.zeros((gang.warps, 4, WARP), np.uint32)
        for number, register in enumerate(read(gang)):
            matrices[:, number] = register
        rows = matrices.reshape(gang.warps, 4, 8, _WORDS)
        if transpose is not None:
            rows = transpose(rows)
        rows = rows.reshape(gang.warps, WARP, _WORDS)
        words = [np.ascontiguousarray(rows[..., each]) for each in range(_WORDS)]
        gang.machine.memory.store(operation, gang, lanes.only(storing), space, address(gang), words)

    return aligned(operation, execute)


@instruction("movmatrix.sync.aligned.m8n8.trans.b16")
def move(operation: Operation) -> Step:
    """The transpose of a matrix in registers."""
    write = operation.writer(operation.operands[0], "b32")
    read = operation.reader(operation.operands[1], "b32")

    def execute(gang: Gang, lanes: Lanes) -> None:
        rows = np.ascontiguousarray(np.broadcast_to(read(gang), gang.shape)).reshape(gang.warps, 8, _WORDS)
        write(gang, lanes, _transpose(rows).reshape(gang.shape))

    return aligned(operation, execute)


def _transpose(rows: Array) -> Array:
    """8 by 8 elements of 16 bits in the last two axes, rows of 4 words."""
    return np.ascontiguousarray(rows.view(np.uint16).swapaxes(-1, -2)).view(np.uint32)


def _transpose_bytes(rows: Array) -> Array:
    """16 by 16 bytes of two neighbours in the second axis, rows of 4 words: columns 0 to 7, then 8 to 15."""
    large = rows.view(np.uint8).reshape(len(rows), 2, 16, 16)
    return np.ascontiguousarray(large.swapaxes(-1, -2)).view(np.uint32).reshape(rows.shape)


def _rows_of_result(registers: Array) -> Array:
    """8 rows of 16 bytes of registers that hold 16 by 8 of them, as `mma` has its result."""
    group, quad, upper, odd = range(2, 6)
    parts = registers.view(np.uint8).reshape(len(registers), 4, 8, 4, 2, 2)
    return np.ascontiguousarray(parts.transpose(0, 1, quad, odd, upper, group)).view(np.uint32).reshape(registers.shape)
