"""Registers of multiplications that are under way (PTX ISA, "Asynchronous wgmma instructions").

From `wgmma.mma_async` until the `wgmma.wait_group` that covers it, its accumulators are neither to be read nor written,
and its sources in registers not written. Registers that other instructions wrote need a `wgmma.fence` before a
`wgmma.mma_async` uses them. Of `mov`, reads are passed over, and writes need no fence: compilers copy registers and set
them to constants wherever they like, and the assembler knows what to make of it.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from cutecc.emulator.checks.finding import Finding, FindingKind
from cutecc.emulator.checks.registers import Use, accumulators_of, registers_of, uses_of
from cutecc.emulator.checks.reports import Reports
from cutecc.emulator.instructions.operation import Operation
from cutecc.emulator.machine.gang import Gang
from cutecc.emulator.machine.lanes import Array, Lanes, Mask
from cutecc.emulator.machine.machine import Machine
from cutecc.emulator.machine.program import Program
from cutecc.ptx.syntax import Vector

KIND: FindingKind = "accumulator"


class Accumulators:
    """Watches the registers of one program's `wgmma.mma_async`."""

    def __init__(self, program: Program, machine: Machine, reports: Reports) -> None:
        self._machine = machine
        self._reports = reports
        self._uses: dict[int, Use] = {}
        """Of the operations that touch such registers: those only."""
        self._written: WeakKeyDictionary[Gang, dict[int, Mask]] = WeakKeyDictionary()
        """By register: which warps have written it since their last `wgmma.fence`."""
        multiplications = [each for each in program.operations if accumulators_of(each)]
        self._own = {each.index: (accumulators_of(each), _sources(each)) for each in multiplications}
        slots = frozenset(slot for own in self._own.values() for part in own for slot in part)
        for operation, use in zip(program.operations, uses_of(program), strict=True) if slots else ():
            reads = frozenset[int]() if operation.form.opcode == "mov" else use.reads & slots
            if operation.form.opcode != "wgmma" and (reads or use.writes & slots):
                self._uses[operation.index] = Use(reads, use.writes & slots)

    def concerns(self, operation: Operation) -> bool:
        return operation.index in self._uses or operation.form.opcode == "wgmma"

    def before(self, gang: Gang, lanes: Lanes, operation: Operation) -> None:
        """Threads are about to execute an operation that `concerns` this."""
        own = self._own.get(operation.index)
        if own is not None:
            self._start(gang, lanes, operation, own[0] | own[1])
            return
        use = self._uses.get(operation.index)
        if use is None:
            if operation.form.has("fence"):
                for slot, warps in self._written.get(gang, {}).items():
                    self._written[gang][slot] = warps & ~lanes.warps
            return
        if gang.in_flight:
            self._touch(gang, lanes, operation, use)
        if use.writes and operation.form.opcode != "mov":
            written = self._written.setdefault(gang, {})
            for slot in use.writes:
                old = written.get(slot)
                written[slot] = lanes.warps if old is None else old | lanes.warps

    def _touch(self, gang: Gang, lanes: Lanes, operation: Operation, use: Use) -> None:
        for each in gang.in_flight:
            reads = not use.reads.isdisjoint(each.accumulators)
            writes = not use.writes.isdisjoint(each.accumulators)
            if not reads and not writes and use.writes.isdisjoint(each.sources):
                continue
            does, what = "reads" if reads else "writes", "accumulator" if reads or writes else "source"
            warps = each.warps & lanes.warps
            if warps.any():
                text = f"{does} {what} registers of a wgmma that no wgmma.wait_group has waited for"
                self._report(gang, lanes, warps, operation, text, each.operation)
                return

    def _start(self, gang: Gang, lanes: Lanes, operation: Operation, slots: frozenset[int]) -> None:
        written = self._written.get(gang)
        if not written:
            return
        late = np.zeros(gang.warps, np.bool_)
        for slot in slots & written.keys():
            late |= written[slot]
        late &= lanes.warps
        if late.any():
            text = "starts a wgmma on registers that were written after the last wgmma.fence"
            self._report(gang, lanes, late, operation, text, None)

    def _report(
        self,
        gang: Gang,
        lanes: Lanes,
        warps: Array,
        operation: Operation,
        text: str,
        other: Operation | None,
    ) -> None:
        mask = lanes.mask & warps[:, None]
        row = int(mask.any(axis=1).argmax())

        def make() -> Finding:
            place = None if other is None else self._machine.place(other, gang, row, None, "started here")
            return self._machine.finding(KIND, text, operation, gang, mask, other=place)

        self._reports.add(KIND, operation.index, -1 if other is None else other.index, int(mask.sum()), make)


def _sources(operation: Operation) -> frozenset[int]:
    """Registers with matrix A."""
    a = operation.operands[1]
    if not isinstance(a, Vector):
        return frozenset()
    return frozenset(operation.scope.slot(name) for name in registers_of(a))
