"""Registers of multiplications that are under way (PTX ISA, "Asynchronous wgmma instructions").

From `wgmma.mma_async` until the `wgmma.wait_group` that covers it, its accumulators are neither to be read nor written,
and its sources in registers not written. A warp's first `wgmma.mma_async` needs a `wgmma.fence` before it, and so do
registers that other instructions wrote since. Compilers copy registers and set them to constants wherever they like,
behind a fence too, and the assembler knows what to make of it. So of `mov`, reads are passed over; a copy is as its
source is; and what is set to a constant needs a fence anywhere after the last `wgmma.mma_async` with this register.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from weakref import WeakKeyDictionary

import numpy as np

from cutecc.emulator.checks.finding import Finding, FindingKind
from cutecc.emulator.checks.registers import Use, accumulators_of, slots_of, uses_of
from cutecc.emulator.checks.reports import Reports
from cutecc.emulator.instructions.operation import Operation
from cutecc.emulator.machine.gang import Gang
from cutecc.emulator.machine.lanes import Array, Lanes, Mask
from cutecc.emulator.machine.machine import Machine
from cutecc.emulator.machine.program import Program
from cutecc.ptx.syntax import Vector

KIND: FindingKind = "accumulator"


@dataclass(frozen=True, slots=True)
class _Write:
    """What an operation other than a `wgmma` does to registers that are followed, by their place among these."""

    copies: Array | None
    """Of a `mov`: what it reads of them. `None` of others."""
    results: Array


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is known of a program before it runs. By index of operation, registers by their place among the followed."""

    registers: int
    """How many are followed: those of multiplications, and what `mov` brings there."""
    own: dict[int, Array]
    """Of each `wgmma.mma_async`."""
    uses: dict[int, Use]
    """What others do to registers of multiplications, by slot: those only that touch them."""
    writes: dict[int, _Write]


@lru_cache(maxsize=16)
def _plan_of(program: Program) -> _Plan:
    own = {each.index: _own(each) for each in program.operations if accumulators_of(each)}
    slots = frozenset(slot for each in own.values() for slot in each)
    others = [each for each in program.operations if slots and each.form.opcode != "wgmma"]
    used = uses_of(program)
    places = {slot: place for place, slot in enumerate(_with_copied(others, used, slots))}

    def among(chosen: Iterable[int]) -> Array:
        return np.array([places[slot] for slot in chosen if slot in places], np.intp)

    uses: dict[int, Use] = {}
    writes: dict[int, _Write] = {}
    for operation in others:
        use, copies = used[operation.index], operation.form.opcode == "mov"
        own_use = Use(frozenset() if copies else use.reads & slots, use.writes & slots)
        if own_use.reads | own_use.writes:
            uses[operation.index] = own_use
        if len(results := among(use.writes)):
            writes[operation.index] = _Write(among(use.reads) if copies else None, results)
    return _Plan(len(places), {index: among(each) for index, each in own.items()}, uses, writes)


class _Followed:
    """What one gang's warps did to the registers that are followed, arrays of shape `(registers, warps)`."""

    def __init__(self, registers: int, warps: int) -> None:
        self.computed = np.zeros((registers, warps), np.bool_)
        """Written since the warp's last `wgmma.fence`."""
        self.constant = np.zeros((registers, warps), np.bool_)
        """Set to a constant since the last `wgmma.mma_async` with this register."""
        self.unfenced = np.ones((registers, warps), np.bool_)
        """Since that one, or the start, the warp has executed no `wgmma.fence`."""
        self.writers = np.zeros((registers, warps), np.intp)
        """The operation that wrote it last, `mov` from another register left out."""
        self.fenced = np.zeros(warps, np.bool_)
        """Whether the warp has executed any `wgmma.fence`."""

    def write(self, write: _Write, warps: Array, index: int) -> None:
        """Warps execute the operation of this index."""
        results = write.results[:, None], warps
        if write.copies is None or not len(write.copies):
            self.computed[results] = write.copies is None
            self.constant[results] = write.copies is not None
            self.writers[results] = index
            return
        sources = write.copies[:, None], warps
        self.computed[results] = self.computed[sources].any(axis=0)
        self.constant[results] = self.constant[sources].any(axis=0)
        self.writers[results] = self.writers[sources].max(axis=0)

    def fence(self, warps: Mask) -> None:
        self.fenced |= warps
        self.computed[:, warps] = False
        self.unfenced[:, warps] = False

    def start(self, registers: Array, warps: Mask) -> tuple[Mask, Mask]:
        """A multiplication with these registers: which warps have executed no fence, and which registers are late."""
        chosen = registers[:, None], np.flatnonzero(warps)
        late = np.zeros((len(registers), len(warps)), np.bool_)
        late[:, warps] = self.computed[chosen] | (self.constant[chosen] & self.unfenced[chosen])
        unfenced = warps & ~self.fenced
        self.fenced |= warps  # It is told once.
        self.computed[chosen] = self.constant[chosen] = False
        self.unfenced[chosen] = True
        return unfenced, late


class Accumulators:
    """Watches the registers of one program's `wgmma.mma_async`."""

    def __init__(self, program: Program, machine: Machine, reports: Reports) -> None:
        self._operations = program.operations
        self._machine = machine
        self._reports = reports
        self._plan = _plan_of(program)
        self._followed: WeakKeyDictionary[Gang, _Followed] = WeakKeyDictionary()

    def concerns(self, operation: Operation) -> bool:
        plan = self._plan
        return operation.index in plan.uses or operation.index in plan.writes or operation.form.opcode == "wgmma"

    def before(self, gang: Gang, lanes: Lanes, operation: Operation) -> None:
        """Threads are about to execute an operation that `concerns` this."""
        index, plan = operation.index, self._plan
        use = plan.uses.get(index)
        if use is not None and gang.in_flight:
            self._touch(gang, lanes, operation, use)
        followed = self._followed.get(gang)
        if followed is None:
            followed = self._followed[gang] = _Followed(plan.registers, gang.warps)
        if index in plan.own:
            self._start(gang, lanes, operation, followed)
        elif index in plan.writes:
            followed.write(plan.writes[index], np.flatnonzero(lanes.warps), index)
        elif operation.form.opcode == "wgmma" and operation.form.has("fence"):
            followed.fence(lanes.warps)

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
                self._report(gang, lanes, warps, operation, text, each.operation, "started here")
                return

    def _start(self, gang: Gang, lanes: Lanes, operation: Operation, followed: _Followed) -> None:
        registers = self._plan.own[operation.index]
        writers = followed.writers[registers]
        unfenced, late = followed.start(registers, lanes.warps)
        if not unfenced.any() and not late.any():
            return
        text = "starts a wgmma on registers that were written after the last wgmma.fence"
        warps: Array = np.logical_or.reduce(late, axis=0)
        if unfenced.any():
            text, warps = "starts the first wgmma of a warp without a wgmma.fence before it", unfenced
        writer = self._operations[int(writers[late][0])] if late.any() else None
        self._report(gang, lanes, warps, operation, text, writer, "written")

    def _report(
        self,
        gang: Gang,
        lanes: Lanes,
        warps: Array,
        operation: Operation,
        text: str,
        other: Operation | None,
        what: str,
    ) -> None:
        mask = lanes.mask & warps[:, None]
        row, lane = divmod(int(mask.argmax()), 32)

        def make() -> Finding:
            place = None if other is None else self._machine.place(other, gang, row, lane, what)
            if place is not None and place.text.startswith("mov"):
                # The line of a `mov` is that of what the compiler happened to put it beside.
                place = replace(place, location=None)
            return self._machine.finding(KIND, text, operation, gang, mask, other=place)

        self._reports.add(KIND, operation.index, -1 if other is None else other.index, int(mask.sum()), make)


def _with_copied(operations: list[Operation], uses: list[Use], slots: frozenset[int]) -> list[int]:
    """These registers and all whose values `mov` brings there, one after the other."""
    moves = [uses[each.index] for each in operations if each.form.opcode == "mov"]
    found, more = set[int](), set(slots)
    while more:
        found |= more
        more = {slot for each in moves if not each.writes.isdisjoint(more) for slot in each.reads} - found
    return sorted(found)


def _own(operation: Operation) -> list[int]:
    """The registers of a `wgmma.mma_async`, accumulators first, then those with matrix A."""
    sources = slots_of(operation, [a for a in operation.operands[1:2] if isinstance(a, Vector)])
    return list(dict.fromkeys([*slots_of(operation, operation.operands[:1]), *sources]))
