"""Where an access was, in words: which thread of which block, at what address. Findings are made with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cutecc.emulator.checks.finding import Finding, FindingKind, Place
from cutecc.emulator.memory.tensor_memory import describe_cell

if TYPE_CHECKING:
    from cutecc.emulator.checks.access import MakeFinding
    from cutecc.emulator.checks.agents import Started
    from cutecc.emulator.checks.clocks import Clocks
    from cutecc.emulator.checks.history import History
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.lanes import Array, Mask
    from cutecc.emulator.machine.machine import Machine
    from cutecc.emulator.machine.watch import Space


@dataclass(frozen=True, eq=False)
class Places:
    """Those of one machine, and of the blocks of its launch that ran before."""

    _machine: Machine
    _history: History
    _clocks: Clocks

    def of_agent(self, number: int, operation: Operation, what: str) -> Place:
        """Where an agent was when it executed an operation."""
        block = self._history.blocks[number >> self._clocks.shift]
        column = number & (self._clocks.stride - 1)
        thread = None
        if column < self._clocks.agents_per_block:
            thread = self._machine.thread_index(column)
        elif column >= self._clocks.copier:
            thread = self._machine.thread_index(column - self._clocks.copier)
        return Place.of(operation.instruction, block, thread, what)

    def of_threads(self, gang: Gang, mask: Mask, operation: Operation, space: Space, addresses: Array) -> MakeFinding:
        """`Access.finding` of what threads access."""

        def make(text: str, part: int, other: Place | None, kind: FindingKind) -> Finding:
            row, lane = divmod(int(np.flatnonzero(mask)[part]), 32)
            place = self._machine.place(operation, gang, row, lane)
            return Finding(kind, text, place, self.describe(space, int(addresses[part])), other)

        return make

    def of_operation(self, started: Started, space: Space, addresses: Array) -> MakeFinding:
        """The same of an asynchronous operation."""

        def make(text: str, part: int, other: Place | None, kind: FindingKind) -> Finding:
            threads = np.flatnonzero(started.lanes.mask)
            row, lane = divmod(int(threads[part if started.copies else 0]), 32)
            only = len(threads) == 1 or started.copies
            place = self._machine.place(started.operation, started.gang, row, lane if only else None)
            return Finding(kind, text, place, self.describe(space, int(addresses[part])), other)

        return make

    def describe(self, space: Space, address: int) -> str:
        """An address: the block as well, where there are several."""
        memory = self._machine.memory
        if space == "tensor":
            return describe_cell(address)
        if space != "shared":
            return memory.describe(space, address)
        slot, offset = divmod(address, memory.shared_stride)
        text = memory.describe("shared", offset)
        return text if len(self._machine.blocks) == 1 else f"{text} of {self._machine.blocks[slot].name}"
