"""Accesses to tensor memory: reads of what nothing has written, and pairs of accesses that nothing orders.

All of them are asynchronous operations: loads and stores of a warp, multiplications and copies of a tensor pipe. An
operation is ordered behind what its thread knew to be over when it started it, and behind what the same thread had
issued to the pipe (`instructions.tcgen05_pipe`). Deallocation is an access to all of the cells by the threads alone.

The manual wants `tcgen05.fence::before_thread_sync` and `after_thread_sync` around barriers between threads as well.
Compilers keep these instructions in their order, and NVIDIA's kernels leave the fences out: so do the checks, unless
`tensor-fences` is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from cutecc.emulator.checks import wording
from cutecc.emulator.checks.clocks import FENCED_AFTER, FENCED_BEFORE, ORDER, Clocks, Numbers
from cutecc.emulator.checks.shadow import AGENT_MASK, Stamps
from cutecc.emulator.memory.tensor_memory import CELL, COLUMNS, LANES, TensorAllocation

if TYPE_CHECKING:
    from cutecc.emulator.checks.access import MakeFinding
    from cutecc.emulator.checks.finding import FindingKind, Place
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

    def __post_init__(self) -> None:
        self._orders = bool({"races", "tensor-fences"} & self._which)

    def access(self, access: TensorAccess, kind: AccessKind, addresses: Numbers, scales: bool = False) -> None:
        """An operation reads or writes cells, by their addresses (`TensorMemory.cells`); reads `scales` there."""
        if not len(addresses):
            return
        number, cells = int(addresses[0]) // (_CELLS * CELL), addresses // CELL % _CELLS
        shadow = self._shadows.setdefault(number, _Shadow())
        writers = shadow.writers[cells]
        if kind == "read" and "initialisation" in self._which and not writers.all():
            self._uninitialised(access, int(np.flatnonzero(writers == 0)[0]), addresses)
        if scales and "layouts" in self._which:
            self._judge_scales(access, writers)
        if self._orders:
            self._compare(access, kind, writers, "write")
            if kind == "write":
                self._compare(access, kind, shadow.loads[cells], "read")
                self._compare(access, kind, shadow.pipe[cells], "read")
        stamp = self._stamp(access)
        if kind == "write":
            shadow.writers[cells] = stamp
        else:
            (shadow.loads if access.operation.form.has("ld") else shadow.pipe)[cells] = stamp

    def deallocate(self, access: TensorAccess, number: int, allocation: TensorAllocation) -> None:
        """Threads give columns back: what was done to them has to be over. For who gets them next nothing is in them.

        (Of a pair, one block may already use what it has got while the other has yet to hear of it.)
        """
        shadow = self._shadows.get(number)
        if shadow is None:
            return
        columns = slice(allocation.first, allocation.stop)
        for plane, did in ((shadow.writers, "write"), (shadow.loads, "read"), (shadow.pipe, "read")):
            cells = plane.reshape(LANES, COLUMNS)[:, columns]
            if "races" in self._which:
                self._compare(access, "write", cells.reshape(-1), "write" if did == "write" else "read")
            cells[...] = 0

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
            if not stamp or agent == access.agent:
                continue
            part = int(np.flatnonzero(stamps == stamp)[0])
            if not self._clocks.knows_one(access.view, agent, event, ORDER):
                if did == "read" and self._are_in_order(access, agent, event):
                    continue
                if "races" in self._which and not self._is_told(access, event):
                    self._race(access, kind, part, agent, event, did)
            elif self._clocks.tensor_fences and self._lacks_fence(access, agent, event):
                self._unfenced(access, kind, part, agent, event, did)

    def _are_in_order(self, access: TensorAccess, agent: int, event: int) -> bool:
        """Whether a thread's operation writes over what its earlier one in the same pipe reads.

        Kernels count on that, whatever the kinds and shapes, as where scores come in the place of the probabilities
        that the product before reads; and newer manuals are said to promise it.
        """
        if self._clocks.is_thread(access.agent) or not self._same_warp(access.agent, agent):
            return False
        return not _is_transfer(access.operation) and not _is_transfer(self._operation(event))

    def _same_warp(self, one: int, two: int) -> bool:
        """Whether a warp has issued both operations."""
        clocks = self._clocks
        if one >> clocks.shift != two >> clocks.shift:
            return False
        return clocks.warp_of_operation(one) == clocks.warp_of_operation(two)

    def _is_told(self, access: TensorAccess, event: int) -> bool:
        """Whether the columns are given back behind others that have not waited for this operation either."""
        gives_back = access.operation.form.modifiers[0] == "dealloc"
        return gives_back and self._reports.is_part("race", self._operation(event).index)

    def _lacks_fence(self, access: TensorAccess, agent: int, event: int) -> bool:
        """Whether fences are missing on the way from an earlier operation, which is over, to this one.

        What one warp loads and stores, and waits for, needs none, nor what one thread issues to the pipe; and of
        deallocation the manual says nothing.
        """
        clocks = self._clocks
        if clocks.is_thread(access.agent) or clocks.knows_one(access.view, agent, event, FENCED_AFTER):
            return False
        other = self._operation(event)
        return not self._same_warp(agent, access.agent) or (_is_transfer(access.operation) and not _is_transfer(other))

    def _unfenced(
        self, access: TensorAccess, kind: AccessKind, part: int, agent: int, event: int, did: AccessKind
    ) -> None:
        other = self._operation(event)
        before = not self._clocks.knows_one(access.view, agent, event, FENCED_BEFORE)
        text, make = wording.tensor_fence(kind, access.operation, did, other, before), access.finding
        place = self._place(agent, other, wording.done(did, other))
        index = access.operation.index
        kind_: FindingKind = "missing-tensor-fence"
        self._reports.add(kind_, index, other.index, 1, lambda: make(text, part, place, kind_))

    def _judge_scales(self, access: TensorAccess, writers: Stamps) -> None:
        """Find scale factors that an accumulator was written over, or that are read beside their place."""
        for stamp in np.unique(writers[writers != 0]).tolist():
            other = self._operation(stamp >> 32)
            if other.form.modifiers[0] == "mma":
                text, make = wording.no_scales(access.operation, other), access.finding
                part, agent = int(np.flatnonzero(writers == stamp)[0]), stamp & AGENT_MASK
                place = self._place(agent, other, wording.done("write", other))
                self._reports.add(
                    "layout",
                    access.operation.index,
                    other.index,
                    1,
                    lambda make=make, text=text, part=part, place=place: make(text, part, place, "layout"),
                )

    def _operation(self, event: int) -> Operation:
        """What made an access."""
        return self._operations[int(self._history.operations(np.array([event]))[0])]

    def _race(self, access: TensorAccess, kind: AccessKind, part: int, agent: int, event: int, did: AccessKind) -> None:
        other = self._operation(event)
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


def _is_transfer(operation: Operation) -> bool:
    return operation.form.modifiers[0] in ("ld", "st")
