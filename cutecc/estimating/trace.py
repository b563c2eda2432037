"""What the warps of a block do, instruction by instruction, with what their memory accesses ask for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cutecc.emulator.counters.copies import CopyRequest, is_thread_copy
from cutecc.emulator.counters.watch import written_width
from cutecc.emulator.instructions.cp_async import operands_of
from cutecc.emulator.machine.lanes import WARP
from cutecc.emulator.machine.watch import AccessKind, Agent, Space, Watch
from cutecc.memory_rules.banks import count_wavefronts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cutecc.emulator.instructions.operation import Operation, Reader
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.lanes import Array, Lanes, Mask
    from cutecc.emulator.machine.program import Program

LINE = 128
"""Bytes of a line of the L1 cache, of which a wavefront serves one."""
SECTOR = 32
"""Bytes."""
_WORD = 4
"""Bytes that a wavefront serves of each thread."""


class Access(NamedTuple):
    """What one instruction of a warp asks of memory."""

    wavefronts: int = 0
    """Of shared memory and the L1 cache."""
    read: tuple[int, ...] = ()
    """Numbers of the sectors of global memory that it reads."""
    written: tuple[int, ...] = ()
    """Numbers of those that it writes."""
    filled: float = 1.0
    """The part of these that it writes."""
    copied: int = 0
    """Bytes that asynchronous copies write to shared memory."""
    barrier: int = -1
    """The address of an mbarrier in its block's shared memory."""
    number: int = 0
    """Arrivals at it; its parity; bytes it expects; a barrier's number."""
    threads: int = 0
    """Threads for which it counts, or that a barrier waits for."""


NOTHING = Access()
Step = tuple[int, Access]
"""The index of an operation in the program, and what it asks for."""


@dataclass
class BlockTrace:
    """One block from start to end."""

    block: int
    """Its number in the grid."""
    warps: list[list[Step]]

    @property
    def steps(self) -> int:
        """Instructions of all warps."""
        return sum(map(len, self.warps))


class TooLongError(Exception):
    """A block has more instructions than are worth the time."""


@dataclass
class _Pending:
    """What the instruction that is being executed has asked for so far, of one warp."""

    wavefronts: int = 0
    read: set[int] = field(default_factory=set[int])
    written: set[int] = field(default_factory=set[int])
    bytes_written: int = 0
    copied: int = 0

    def access(self) -> Access:
        filled = min(1.0, self.bytes_written / (SECTOR * len(self.written))) if self.written else 1.0
        return Access(self.wavefronts, tuple(sorted(self.read)), tuple(sorted(self.written)), filled, self.copied)


class Tracer(Watch):
    """Keeps what the warps of one machine do."""

    listens = True
    counts = True

    def __init__(self, program: Program, blocks: Sequence[int], warps: int, most_steps: int) -> None:
        """Of blocks of so many warps, by their numbers in the grid."""
        self.blocks = [BlockTrace(block, [[] for _ in range(warps)]) for block in blocks]
        self.between: Operation | None = None
        """A bulk copy of rows that begin inside of sectors."""
        self._program = program
        self._widths = [written_width(operation) for operation in program.operations]
        self._left = most_steps
        self._pending: dict[int, _Pending] = {}
        """By row of the gang that executes."""
        self._rows: dict[Agent, int] = {}
        self._agents = 0
        self._synchronisation = {
            operation.index: _Synchronisation(operation)
            for operation in program.operations
            if operation.index not in program.refused and _Synchronisation.fits(operation)
        }
        self._copies: dict[int, tuple[CopyRequest, tuple[Reader, Reader, int, Reader | None]]] = {}
        self._mask: Mask | None = None
        self._active: list[tuple[int, list[Step]]] = []

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
        if space not in ("global", "shared"):
            return
        # A request is as wide as the instruction, also where the program uses only some of the elements.
        size = max(size, self._widths[operation.index])
        for row in lanes.rows:
            mask = lanes.mask[row]
            pending = self._of(row)
            if space == "shared":
                merge = operation.instruction.opcode not in ("ldmatrix", "stmatrix")
                found = count_wavefronts(addresses[row][None], mask[None], size, atomic=kind == "atomic", merge=merge)
                pending.wavefronts += found[1]
                continue
            self._global(pending, addresses[row][mask].astype(np.int64), size, kind)

    def _global(self, pending: _Pending, addresses: Array, size: int, kind: AccessKind) -> None:
        sectors = set((addresses // SECTOR).tolist())
        # One of 8 bytes a thread is served by half-warps, of 16 bytes by quarter-warps.
        pending.wavefronts += max(len({each // (LINE // SECTOR) for each in sectors}), size // _WORD)
        if kind == "write":
            pending.written |= sectors
            pending.bytes_written += len(addresses) * size
        else:
            pending.read |= sectors

    def spawn(self, gang: Gang, lanes: Lanes, operation: Operation) -> Agent:
        self._agents += 1
        self._rows[self._agents] = lanes.rows[0]
        return self._agents

    def asynchronous_access(
        self, agent: Agent, operation: Operation, kind: AccessKind, space: Space, addresses: Array, size: int
    ) -> None:
        if is_thread_copy(operation) or space not in ("global", "shared") or operation.form.opcode != "cp":
            return
        pending = self._of(self._rows[agent])
        if space == "shared":
            if kind == "write":
                pending.copied += size * int(np.size(addresses))
            return
        starts = np.asarray(addresses, np.int64).reshape(-1)
        sectors = sectors_of(starts, size)
        if kind == "read":
            pending.read |= sectors
            if self.between is None and size > SECTOR and (starts % SECTOR).any():
                self.between = operation
        else:
            pending.written |= sectors
            pending.bytes_written += SECTOR * len(sectors)

    def executed(self, gang: Gang, lanes: Lanes, operation: Operation) -> None:
        mask = lanes.mask
        if mask is not self._mask:
            self._mask = mask
            self._active = [
                (row, self.blocks[gang.blocks[row].slot].warps[int(gang.warp_numbers[row, 0])]) for row in lanes.rows
            ]
        self._left -= len(self._active)
        if self._left < 0:
            raise TooLongError
        index = operation.index
        if is_thread_copy(operation):
            self._thread_copy(gang, mask, operation)
        synchronisation = self._synchronisation.get(index)
        if synchronisation is not None:
            for row, steps in self._active:
                steps.extend((index, each) for each in synchronisation.accesses(gang, mask, row, self._taken(row)))
            return
        pending = self._pending
        for row, steps in self._active:
            found = pending.pop(row, None) if pending else None
            steps.append((index, NOTHING if found is None else found.access()))

    def _taken(self, row: int) -> Access:
        found = self._pending.pop(row, None)
        return NOTHING if found is None else found.access()

    def _of(self, row: int) -> _Pending:
        return self._pending.setdefault(row, _Pending())

    def _thread_copy(self, gang: Gang, mask: Mask, operation: Operation) -> None:
        request = self._copies.get(operation.index)
        if request is None:
            request = self._copies[operation.index] = CopyRequest(operation), operands_of(operation)
        counting, (_, source, size, wanted) = request
        sources = source(gang)
        reading = mask if wanted is None else mask & (np.broadcast_to(wanted(gang), gang.shape) != 0)
        for row, _ in self._active:
            pending = self._of(row)
            if reading[row].any():
                self._global(pending, sources[row][reading[row]].astype(np.int64), size, "read")
            _, (_, wavefronts, _) = counting.count(gang, gang.mask(row, mask[row]))
            pending.wavefronts = wavefronts


def sectors_of(starts: Array, size: int) -> set[int]:
    """Numbers of the sectors that `size` bytes from each of these addresses on touch."""
    if size > 1:
        offsets = np.append(np.arange(0, size, SECTOR), size - 1)
        starts = (starts[:, None] + offsets).reshape(-1)
    return set((starts // SECTOR).tolist())


class _Synchronisation:
    """An instruction that arrives at a barrier, or waits for one, or ends in an arrival."""

    def __init__(self, operation: Operation) -> None:
        self._operation = operation
        form, operands = operation.form, operation.operands
        self._barrier: Reader | None = None
        self._number: Reader | None = None
        self._threads: Reader | None = None
        self._guard = operation.condition()
        self.is_block = form.opcode in ("bar", "barrier")
        if self.is_block:
            places = operands[1:] if form.has("red") else operands
            self._number = operation.reader(places[0], "u32")
            count = places[1] if len(places) > (2 if form.has("red") else 1) else None
            self._threads = None if count is None else operation.reader(count, "u32")
        elif form.opcode == "mbarrier":
            at = 0 if form.modifiers[0] in ("init", "inval", "expect_tx", "complete_tx") else 1
            self._barrier = operation.address(operands[at])
            rest = operands[at + 1 :]
            self._number = operation.reader(rest[0], "u32") if rest else None
        else:
            self._barrier = operation.address(operands[_barrier_operand(operation)])

    @staticmethod
    def fits(operation: Operation) -> bool:
        form = operation.form
        if form.opcode in ("bar", "barrier"):
            return "warp" not in form.modifiers and "cluster" not in form.modifiers
        if form.opcode == "mbarrier":
            return form.modifiers[0] in ("init", "arrive", "expect_tx", "try_wait", "test_wait", "arrive_drop")
        return form.opcode == "cp" and _ends_at_mbarrier(operation)

    def accesses(self, gang: Gang, mask: Mask, row: int, asked: Access) -> list[Access]:
        """What a warp does with it: one for each barrier that its threads name."""
        lanes = mask[row]
        if self._guard is not None:
            lanes = lanes & np.broadcast_to(self._guard(gang), gang.shape)[row]
        active = np.flatnonzero(lanes)
        if not len(active):
            return [asked]
        numbers = None if self._number is None else np.broadcast_to(self._number(gang), gang.shape)[row][active]
        if self.is_block:
            threads = (
                0 if self._threads is None else int(np.broadcast_to(self._threads(gang), gang.shape)[row, active[0]])
            )
            assert numbers is not None
            return [asked._replace(number=int(numbers[0]), threads=threads)]
        assert self._barrier is not None
        places = (self._barrier(gang)[row][active] & np.uint64(2**24 - 1)).astype(np.int64)
        found: list[Access] = []
        for place in np.unique(places).tolist():
            chosen = places == place
            number = 1 if numbers is None else int(numbers[chosen][0])
            found.append(asked._replace(barrier=place, number=number, threads=int(np.count_nonzero(chosen))))
            asked = NOTHING
        return found


def _ends_at_mbarrier(operation: Operation) -> bool:
    form = operation.form
    return form.has("mbarrier::complete_tx::bytes") or (form.has("mbarrier") and form.has("arrive"))


def _barrier_operand(operation: Operation) -> int:
    """Which operand of an asynchronous copy is the mbarrier."""
    form = operation.form
    if form.has("arrive"):
        return 0
    return 2 if form.has("tensor") else 3


def warps_of(threads: int) -> int:
    return -(-threads // WARP)
