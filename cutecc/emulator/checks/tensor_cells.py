"""Accesses to tensor memory: reads of what nothing has written, and pairs of accesses that nothing orders.

All of them are asynchronous operations: loads and stores of a warp, multiplications and copies of a tensor pipe. An
operation is ordered behind what its thread knew to be over when it started it, and behind what the same thread had
issued to the pipe (`instructions.tcgen05_pipe`). Deallocation is an access to all of the cells by the threads alone.

The manual wants `tcgen05.fence::before_thread_sync` and `after_thread_sync` around barriers between threads as well.
Compilers keep these instructions in their order, and NVIDIA's kernels leave the fences out: so do the checks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from cutecc.emulator.checks import wording
from cutecc.emulator.checks.clocks import ORDER, Clocks, Numbers
from cutecc.emulator.checks.shadow import AGENT_MASK, Stamps
from cutecc.emulator.memory.tensor_memory import CELL, COLUMNS, LANES, TensorAllocation

if TYPE_CHECKING:
    from cutecc.emulator.checks.access import MakeFinding
    from cutecc.emulator.checks.finding import Place
    from cutecc.emulator.checks.history import History
    from cutecc.emulator.checks.reports import Reports
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.watch import AccessKind

_CELLS: Final = LANES * COLUMNS


def _plane() -> Stamps:
    return np.zeros(_CELLS, np.int64)


@dataclass(eq=False, slots=True)
class _Shadow:
    """Who accessed each cell of one multiprocessor last: stamps, see `shadow`."""

    writers: Stamps = field(default_factory=_plane)
    loads: Stamps = field(default_factory=_plane)
    """By `tcgen05.ld`."""
    pipe: Stamps = field(default_factory=_plane)
    """Read by operations of the tensor pipe."""


@dataclass(slots=True)
class TensorAccess:
    """One operation's, or the threads' themselves, to cells of one multiprocessor."""

    operation: Operation
    agent: int
    """A number with serial."""
    view: int
    """What it knows."""
    finding: MakeFinding


@dataclass(eq=False)
class TensorCells:
    """All tensor memory of one machine."""

    _clocks: Clocks
    _history: History
    _operations: list[Operation]
    _reports: Reports
    _which: frozenset[str]
    _place: Callable[[int, Operation, str], Place]
    """Where an agent was when it executed an operation."""
    _shadows: dict[int, _Shadow] = field(default_factory=dict[int, _Shadow])
    """By number of the multiprocessor."""

    def access(self, access: TensorAccess, kind: AccessKind, addresses: Numbers) -> None:
        """An operation reads or writes cells, by their addresses (`TensorMemory.cells`)."""
        if not len(addresses):
            return
        number, cells = int(addresses[0]) // (_CELLS * CELL), addresses // CELL % _CELLS
        shadow = self._shadows.setdefault(number, _Shadow())
        writers = shadow.writers[cells]
        if kind == "read" and "initialisation" in self._which and not writers.all():
            self._uninitialised(access, int(np.flatnonzero(writers == 0)[0]), addresses)
        if "races" in self._which:
            self._compare(access, kind, writers, "write")
            if kind == "write":
                self._compare(access, kind, shadow.loads[cells], "read")
                self._compare(access, kind, shadow.pipe[cells], "read")
        stamp = self._stamp(access)
        if kind == "write":
            shadow.writers[cells] = stamp
        else:
            (shadow.loads if access.operation.form.has("ld") else shadow.pipe)[cells] = stamp

    def allocate(self, number: int, allocation: TensorAllocation) -> None:
        """Columns have been allocated: nothing is in them."""
        shadow = self._shadows.get(number)
        if shadow is not None:
            columns = slice(allocation.first, allocation.stop)
            for plane in (shadow.writers, shadow.loads, shadow.pipe):
                plane.reshape(LANES, COLUMNS)[:, columns] = 0

    def deallocate(self, access: TensorAccess, number: int, allocation: TensorAllocation) -> None:
        """Threads give columns back: what was done to them has to be over."""
        shadow = self._shadows.get(number)
        if shadow is None or "races" not in self._which:
            return
        columns = slice(allocation.first, allocation.stop)
        for plane, did in ((shadow.writers, "write"), (shadow.loads, "read"), (shadow.pipe, "read")):
            stamps = plane.reshape(LANES, COLUMNS)[:, columns].reshape(-1)
            self._compare(access, "write", stamps, "write" if did == "write" else "read")

    def _stamp(self, access: TensorAccess) -> int:
        event = self._clocks.now
        self._clocks.now += 1
        self._history.note(event, access.operation.index)
        return event << 32 | access.agent

    def _compare(self, access: TensorAccess, kind: AccessKind, stamps: Stamps, did: AccessKind) -> None:
        """Find earlier accesses to the cells that are not known to be over."""
        first = int(stamps[0])
        for stamp in [first] if bool((stamps == first).all()) else np.unique(stamps).tolist():
            agent, event = stamp & AGENT_MASK, stamp >> 32
            if stamp and agent != access.agent and not self._clocks.knows_one(access.view, agent, event, ORDER):
                part = int(np.flatnonzero(stamps == stamp)[0])
                self._race(access, kind, part, agent, event, did)

    def _race(self, access: TensorAccess, kind: AccessKind, part: int, agent: int, event: int, did: AccessKind) -> None:
        other = self._operations[int(self._history.operations(np.array([event]))[0])]
        text = wording.tensor_race(kind, access.operation, did, other)
        place = self._place(agent, other, wording.done(did, other))
        make = access.finding
        self._reports.add("race", access.operation.index, other.index, 1, lambda: make(text, part, place, "race"))

    def _uninitialised(self, access: TensorAccess, part: int, addresses: Numbers) -> None:
        text, make = wording.uninitialised_tensor(access.operation), access.finding
        self._reports.add(
            "uninitialised-tensor",
            access.operation.index,
            -1,
            1,
            lambda: make(text, part, None, "uninitialised-tensor"),
        )
