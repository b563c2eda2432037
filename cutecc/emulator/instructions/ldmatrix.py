"""Matrices between shared memory and registers: `ldmatrix`, `stmatrix`, and `movmatrix` between registers.

Matrices of 8 rows of 16 bytes: thread `8i + r` gives the address of row `r` of matrix `i`; register `i` of a thread has
elements `2 * (lane % 4)` and the next of row `lane / 4` of matrix `i`, or of its transpose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from cutecc.emulator.instructions.aligned import aligned
from cutecc.emulator.instructions.operation import Operation
from cutecc.emulator.instructions.table import Step, instruction
from cutecc.emulator.machine.lanes import WARP, Array, Lanes

if TYPE_CHECKING:
    from cutecc.emulator.machine.gang import Gang

_COUNTS: Final = {"x1": 1, "x2": 2, "x4": 4}
_WORDS: Final = 4
"""Of a row."""


@instruction("ldmatrix.sync.aligned.m8n8.{x1,x2,x4}.trans?.{shared,shared::cta}?.b16")
def load(operation: Operation) -> Step:
    """Rows from shared memory; only the threads whose addresses count access memory, 16 bytes each."""
    form = operation.form
    count, transposed = _COUNTS[form.one_of("x1", "x2", "x4")], form.has("trans")
    space = form.one_of("shared", "shared::cta", default="generic")
    write = operation.vector_writer(operation.operands[0], "b32", count)
    address = operation.address(operation.operands[1])
    loading = np.arange(WARP) < 8 * count

    def execute(gang: Gang, lanes: Lanes) -> None:
        memory = gang.machine.memory
        words = memory.load(operation, gang, lanes.only(loading), space, address(gang), 4, _WORDS)
        rows = np.stack(words, axis=-1).reshape(gang.warps, 4, 8, _WORDS)
        registers = _transpose(rows) if transposed else rows
        write(gang, lanes, [registers[:, each].reshape(gang.shape) for each in range(count)])

    return aligned(operation, execute)


@instruction("stmatrix.sync.aligned.m8n8.{x1,x2,x4}.trans?.{shared,shared::cta}?.b16")
def store(operation: Operation) -> Step:
    """Rows to shared memory; only the threads whose addresses count access memory, 16 bytes each."""
    form = operation.form
    count, transposed = _COUNTS[form.one_of("x1", "x2", "x4")], form.has("trans")
    space = form.one_of("shared", "shared::cta", default="generic")
    address = operation.address(operation.operands[0])
    read = operation.vector_reader(operation.operands[1], "b32", count)
    storing = np.arange(WARP) < 8 * count

    def execute(gang: Gang, lanes: Lanes) -> None:
        matrices = np.zeros((gang.warps, 4, WARP), np.uint32)
        for number, register in enumerate(read(gang)):
            matrices[:, number] = register
        rows = matrices.reshape(gang.warps, 4, 8, _WORDS)
        rows = (_transpose(rows) if transposed else rows).reshape(gang.warps, WARP, _WORDS)
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
