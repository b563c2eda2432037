"""Counting while a kernel runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cutecc.emulator.counters.classes import class_of, matrix_work
from cutecc.emulator.counters.copies import CopyRequest, is_thread_copy
from cutecc.emulator.counters.counters import Counters, InstructionCounts
from cutecc.emulator.counters.counts import Counts
from cutecc.emulator.instructions.types import DTYPES
from cutecc.emulator.machine.watch import AccessKind, Agent, Space, Watch
from cutecc.memory_rules.banks import count_wavefronts
from cutecc.memory_rules.sectors import count_sectors
from cutecc.ptx.syntax import Immediate

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation, Reader
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.lanes import Array, Lanes, Mask
    from cutecc.emulator.machine.program import Program

_OF_WHOLE_ROWS = ("ldmatrix", "stmatrix")


class CounterWatch(Watch):
    """Counts what the blocks of one or several machines do with a program."""

    listens = True
    counts = True

    def __init__(self, program: Program) -> None:
        self._program = program
        self._counts: list[Counts | None] = [None] * len(program.operations)
        self._widths: list[int] = [written_width(operation) for operation in program.operations]
        self._increments = [_is_increment(operation) for operation in program.operations]
        self._guards: list[Reader | None] = [operation.condition() for operation in program.operations]
        self._copies: dict[int, CopyRequest] = {}
        self._mask: Mask | None = None
        self._size = (0, 0)
        """Warps and threads of `_mask`, which is often the same from one instruction to the next."""

    @property
    def counters(self) -> Counters:
        """What has been counted so far."""
        return Counters.of(
            _finished(self._program.name, operation, counts)
            for operation, counts in zip(self._program.operations, self._counts, strict=True)
            if counts is not None
        )

    def executed(self, gang: Gang, lanes: Lanes, operation: Operation) -> None:
        counts = self._of(operation)
        mask = lanes.mask
        if mask is not self._mask:
            self._mask = mask
            self._size = int(np.count_nonzero(mask.any(axis=1))), int(np.count_nonzero(mask))
        warps, threads = self._size
        counts.warps += warps
        counts.threads += threads
        guard = self._guards[operation.index]
        if guard is not None:
            mask = mask & guard(gang)
            threads = int(np.count_nonzero(mask))
        counts.predicated_threads += threads
        if is_thread_copy(operation) and threads:
            self._count_copy(gang, mask, operation, counts)

    def _count_copy(self, gang: Gang, mask: Mask, operation: Operation, counts: Counts) -> None:
        request = self._copies.get(operation.index)
        if request is None:
            request = self._copies[operation.index] = CopyRequest(operation)
        sectors, wavefronts = request.count(gang, mask)
        _add_sectors(counts, sectors)
        _add_wavefronts(counts, wavefronts)

    def access(
        self,
        gang: Gang,
        lanes: Lanes,
        operation: Operation,
        kind: AccessKind,
        space: Space,
        addresses: Array,
        size: int,
    ) -> None:
        if operation.instruction.opcode == "call":
            # What `printf` reads is read by no instruction of the kernel.
            return
        counts, mask = self._of(operation), lanes.mask
        _add_bytes(counts, kind, space, "", size * int(np.count_nonzero(mask)))
        # A request is as wide as the instruction, also where the program uses only some of the elements.
        size = max(size, self._widths[operation.index])
        if space == "global":
            _add_sectors(counts, count_sectors(addresses, mask, size))
        elif space == "shared":
            merge = operation.instruction.opcode not in _OF_WHOLE_ROWS
            atomic = kind == "atomic" and not self._increments[operation.index]
            found = count_wavefronts(addresses, mask, size, atomic=atomic, merge=merge)
            _add_wavefronts(counts, found)

    def asynchronous_access(
        self, agent: Agent, operation: Operation, kind: AccessKind, space: Space, addresses: Array, size: int
    ) -> None:
        # All accesses to tensor memory are asynchronous.
        prefix = "" if space == "tensor" else "async_"
        _add_bytes(self._of(operation), kind, space, prefix, size * int(np.size(addresses)))

    def multiplied(self, operation: Operation, flops: int) -> None:
        counts = self._of(operation)
        counts.matrix_operations += 1
        counts.matrix_flops += flops

    def _of(self, operation: Operation) -> Counts:
        counts = self._counts[operation.index]
        if counts is None:
            counts = self._counts[operation.index] = Counts()
        return counts


def written_width(operation: Operation) -> int:
    """Bytes that each thread accesses with a vector load, as written, or for a row; 0 for other instructions."""
    form = operation.form
    if form.opcode in _OF_WHOLE_ROWS:
        return 16
    vector = form.one_of("v2", "v4", "v8")
    if form.opcode not in ("ld", "ldu") or not vector or form.type not in DTYPES:
        return 0
    return int(vector[1:]) * DTYPES[form.type].itemsize


def _is_increment(operation: Operation) -> bool:
    """Whether it adds 1 to shared memory and nothing reads the result: hardware adds the threads of a word at once."""
    form = operation.form
    if form.opcode not in ("atom", "red") or not form.has("add") or form.type not in ("u32", "s32"):
        return False
    return operation.operands[-1] == Immediate("integer", 1) and not _is_used(operation)


def _is_used(operation: Operation) -> bool:
    """Whether anything reads the result of an `atom`."""
    return operation.form.opcode == "atom" and operation.is_used(operation.operands[0])


def _add_sectors(counts: Counts, found: tuple[int, int, int]) -> None:
    requests, sectors, ideal = found
    counts.global_requests += requests
    counts.global_sectors += sectors
    counts.global_ideal_sectors += ideal


def _add_wavefronts(counts: Counts, found: tuple[int, int, int]) -> None:
    requests, wavefronts, ideal = found
    counts.shared_requests += requests
    counts.shared_wavefronts += wavefronts
    counts.shared_ideal_wavefronts += ideal


def _add_bytes(counts: Counts, kind: AccessKind, space: Space, prefix: str, size: int) -> None:
    for direction in ("read", "written") if kind == "atomic" else ("read",) if kind == "read" else ("written",):
        name = f"{prefix}{space}_bytes_{direction}"
        setattr(counts, name, getattr(counts, name) + size)


def _finished(kernel: str, operation: Operation, counts: Counts) -> InstructionCounts:
    written, form = operation.instruction, operation.form
    together, work = matrix_work(form)
    if work:
        counts.matrix_operations = counts.warps // together
        counts.matrix_flops = counts.matrix_operations * work
    place = written.line, written.location
    is_used = form.opcode != "atom" or _is_used(operation)
    return InstructionCounts(kernel, operation.index, str(form), written.text, *place, class_of(form), counts, is_used)
