"""All checks of one machine, as one `Watch`."""

from __future__ import annotations

import functools
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from cutecc.emulator.checks.access import Access
from cutecc.emulator.checks.accumulators import Accumulators
from cutecc.emulator.checks.agents import Agents
from cutecc.emulator.checks.barrier_phases import BarrierPhases
from cutecc.emulator.checks.clocks import PROXY_GLOBAL, PROXY_SHARED, PROXY_TENSOR_MAP, Clocks
from cutecc.emulator.checks.cta_groups import report_mixed_groups
from cutecc.emulator.checks.exits import Exits
from cutecc.emulator.checks.finding import Finding, FindingKind, Place
from cutecc.emulator.checks.history import History
from cutecc.emulator.checks.initialisation import LocalMemory
from cutecc.emulator.checks.layouts import Layouts
from cutecc.emulator.checks.locations import Locations
from cutecc.emulator.checks.order import WEAK, fences_threads, strength
from cutecc.emulator.checks.pair_allocations import PairAllocations
from cutecc.emulator.checks.places import Places
from cutecc.emulator.checks.races import Races
from cutecc.emulator.checks.registers import guard_of, uses_of
from cutecc.emulator.checks.reports import Reports
from cutecc.emulator.checks.shadow import SharedShadow
from cutecc.emulator.checks.signals import Signals
from cutecc.emulator.checks.spreading import LOADS, STORES, undefined_registers
from cutecc.emulator.checks.stored_values import changes, same_value
from cutecc.emulator.checks.synchronisation import Synchronisation
from cutecc.emulator.checks.tensor_cells import TensorAccess, TensorCells
from cutecc.emulator.checks.undefined import Undefined
from cutecc.emulator.instructions.block_barrier import barriers_of
from cutecc.emulator.machine.lanes import Array, Lanes, Mask
from cutecc.emulator.machine.watch import AccessKind, Agent, Layout, Space, Watch
from cutecc.emulator.memory.spaces import MODULE_APERTURE
from cutecc.emulator.memory.tensor_memory import TensorAllocation, cells_of, describe_cell

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.machine import Machine
    from cutecc.emulator.machine.program import Program


class Checker(Watch):
    """Makes checks on a machine, whose blocks are there already. What they find is told to it at the end."""

    listens = True

    def __init__(self, machine: Machine, program: Program, which: frozenset[str], history: History) -> None:
        """`which` are names of `CheckName`; `history` is of the launch, for accesses to global memory."""
        self._machine = machine
        self._program = program
        self.which = which
        self._reports = Reports()
        self._history = history
        self.accumulators = Accumulators(program, machine, self._reports) if "accumulators" in which else None
        memory = machine.memory
        copies = any(each.form.opcode == "cp" and not each.form.has("bulk") for each in program.operations)
        self._clocks = Clocks(
            len(machine.blocks),
            machine.agents_per_block,
            machine.shape.threads,
            history.now,
            copies,
            "tensor-fences" in which,
        )
        self._places = Places(machine, history, self._clocks)
        self._agents = Agents(self._clocks)
        self._locations = Locations(self._clocks)
        self._synchronisation = Synchronisation(self._clocks, self._agents, self._locations, memory.shared_stride)
        in_clusters = machine.shape.cluster != (1, 1, 1)
        self._shared = SharedShadow(memory.shared.size, self._clocks, memory.shared_stride, in_clusters)
        self._local = LocalMemory(program.local_bytes) if "initialisation" in which else None
        self._results = [sorted(use.writes) for use in uses_of(program)]
        self.undefined: Undefined | None = None
        self._deciding: dict[int, frozenset[int]] = {}
        if self._local is not None:
            unwritten, maybe = undefined_registers(program)
            forget = self._local.forget
            self.undefined = Undefined(program, machine, self._reports, unwritten, self._places.describe, forget)
            self._deciding = _deciding(program, maybe)
            self.counts = bool(self._deciding)
        self._exits = Exits(self._clocks, memory.shared_stride) if "races" in which else None
        phases = BarrierPhases(program, self._clocks, machine.report)
        self._barrier_phases = phases if phases.concerned else None
        self._numbers: WeakKeyDictionary[Gang, NDArray[np.int64]] = WeakKeyDictionary()
        self._ordered = bool({"races", "proxies", "tensor-fences"} & which)
        self._strong = [strength(each) != WEAK for each in program.operations]
        self._signals: Signals | None = None
        if "races" in which:
            describe = functools.partial(self._places.describe, "global")
            self._signals = Signals(program, self._clocks, history, self._locations, describe)
        self._races = Races(
            self._clocks,
            history,
            program,
            self._reports,
            which,
            self._places.of_agent,
            self._agents.bursts,
            machine.shape.cluster,
            self._signals,
            self._synchronisation.narrow,
        )
        self._tensor_cells = TensorCells(
            self._clocks, history, program.operations, self._reports, which, self._places.of_agent
        )
        self._layouts: Layouts | None = None
        if "layouts" in which:
            self._layouts = Layouts(self._shared, history, program.operations, self._reports, self._places.of_agent)
        self._pairs = PairAllocations(self._clocks) if "races" in which else None
        self._remembers_shared = bool({"races", "proxies", "initialisation", "layouts"} & which)
        self._heap = None if memory.heap is None else MODULE_APERTURE | memory.heap.start
        """The first address that is allocated from."""
        history.map(memory.allocations, len(program.module_image), self._clocks)
        for block in machine.blocks:
            self._clocks.start_block(block.slot, history.start_block(block))
        report_mixed_groups(program, machine.blocks[0].index, self._reports)

    def _number(self, gang: Gang) -> NDArray[np.int64]:
        """The threads' numbers with serials, shape `(warps, 32)`."""
        found = self._numbers.get(gang)
        if found is None:
            found = self._numbers[gang] = self._clocks.agents_of(gang.agents)
        return found

    # Memory.

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
        if space == "local":
            self._access_local(gang, lanes, operation, kind, addresses, size)
            return
        mask = lanes.mask
        if space == "global":
            self._follow_in_heap(gang, mask, operation, kind, addresses, size)
        if not (self._ordered or (space == "shared" and self._remembers_shared)):
            return
        if space == "shared":
            self._follow(gang, mask, operation, kind, addresses, size)
        numbers = self._number(gang)[mask]
        threads = gang.agents[mask]
        chosen = addresses[mask]
        access = Access(
            operation,
            kind,
            space,
            numbers,
            self._clocks.view_of[threads],
            self._places.of_threads(gang, mask, operation, space, chosen),
            proxy=PROXY_TENSOR_MAP if operation.form.opcode == "cp" and operation.form.has("tensor") else None,
        )
        if kind == "write":
            _remember_values(access, gang, mask, addresses)
        self._note(access, chosen, size)
        if self._strong[operation.index]:
            self._locations.access(threads, operation, kind, space, chosen)
            if space == "global" and self._signals is not None:
                self._signals.access(threads, operation, kind, chosen)

    def _follow(self, gang: Gang, mask: Mask, operation: Operation, kind: AccessKind, places: Array, size: int) -> None:
        """Undefined values on their way through shared memory."""
        undefined, opcode = self.undefined, operation.form.operation
        if undefined is None:
            return
        if kind != "read":
            undefined.write(places[mask].astype(np.intp, copy=False), size)
            if opcode in STORES and not operation.form.has("bulk"):
                undefined.storing(gang, mask, places, size)
        elif opcode in LOADS:
            step = self._program.steps[operation.index]
            assert step is not None
            undefined.load(gang, mask, operation, step, self._results[operation.index], places, size)

    def _follow_in_heap(
        self, gang: Gang, mask: Mask, operation: Operation, kind: AccessKind, addresses: Array, size: int
    ) -> None:
        """The same through memory that was allocated."""
        if self._heap is None or self.undefined is None:
            return
        inside = mask & (addresses.astype(np.int64, copy=False) >= self._heap)
        if inside.any():
            self._follow(gang, inside, operation, kind, self.undefined.in_module(addresses), size)

    def executed(self, gang: Gang, lanes: Lanes, operation: Operation) -> None:
        slots = self._deciding.get(operation.index)
        if slots and self.undefined is not None:
            self.undefined.used(gang, slots, lanes.mask, operation)

    def allocated(self, address: int, size: int) -> None:
        self._history.forget(address, size)
        if self.undefined is not None:
            self.undefined.allocated(address, size)

    def freed(self, gang: Gang, lanes: Lanes, operation: Operation, address: int, size: int) -> None:
        """As a write of all of it: nobody may access it at the same time."""
        if self._ordered:
            self.access(gang, lanes, operation, "write", "global", np.full(gang.shape, address, np.uint64), size)

    def _note(self, access: Access, addresses: Array, size: int) -> None:
        if access.space == "shared":
            offsets = addresses.astype(np.int64, copy=False)
            if self._exits is not None and (access.asynchronous or len(self._machine.blocks[0].cluster.blocks) > 1):
                self._exits.note(access, offsets, self._clocks.now)
            self._races.note(self._shared, self._shared.locate(offsets, size), access)
        elif self._ordered:
            for shadow, chosen, offsets in self._history.global_shadows(addresses.astype(np.uint64, copy=False)):
                part = access if chosen is None else access.part(chosen)
                self._races.note(shadow, shadow.locate(offsets, size), part)

    def asynchronous_access(
        self, agent: Agent, operation: Operation, kind: AccessKind, space: Space, addresses: Array, size: int
    ) -> None:
        started = self._agents.find(agent)
        if started is None or not len(addresses):
            return
        layout, started.layout = started.layout, None
        if space == "tensor":
            finding = self._places.of_operation(started, "tensor", addresses)
            cells = TensorAccess(started.operation, int(started.numbers[0]), int(started.views[0]), finding)
            self._tensor_cells.access(cells, kind, addresses, layout == "scales")
            return
        if space == "shared" and self.undefined is not None:
            follow = self.undefined.copied if kind == "read" else self.undefined.write
            follow(addresses.astype(np.intp, copy=False), size)
        numbers, views, owners = started.numbers, started.views, None
        if started.result is not None and kind != "read":
            numbers = np.array([started.result])
        if started.copies:
            if len(addresses) != len(numbers):
                # Whose copy each is cannot be told.
                return
            owners = self._clocks.agents_of(started.threads)
        else:
            numbers, views = np.full(len(addresses), numbers[0]), np.full(len(addresses), views[0])
        access = Access(
            operation,
            kind,
            space,
            numbers,
            views,
            self._places.of_operation(started, space, addresses),
            proxy=None if started.copies else PROXY_SHARED if space == "shared" else PROXY_GLOBAL,
            owners=owners,
            since=started.since,
        )
        if self._layouts is not None and isinstance(layout, tuple):
            self._layouts.note(access, addresses, size, layout, self._clocks.now)
        self._note(access, addresses, size)

    def layout(self, agent: Agent, layout: Layout) -> None:
        started = self._agents.find(agent)
        if started is not None:
            started.layout = layout

    def _access_local(
        self, gang: Gang, lanes: Lanes, operation: Operation, kind: AccessKind, addresses: Array, size: int
    ) -> None:
        if self._local is None:
            return
        if kind != "write":
            missing = self._local.missing(gang, lanes, addresses, size)
            if missing.any() and self.undefined is not None:
                self.undefined.load_local(gang, missing, operation, self._results[operation.index], addresses)
        if kind != "read":
            self._local.write(gang, lanes, addresses, size)
            if self.undefined is not None:
                self.undefined.of(gang).local = lanes.mask, addresses, size

    # Order.

    def spawn(self, gang: Gang, lanes: Lanes, operation: Operation) -> Agent:
        return self._agents.spawn(gang, lanes, operation)

    def finish(self, agent: Agent, key: Hashable) -> None:
        self._synchronisation.finish(agent, key)

    def order(self, agent: Agent, key: Hashable) -> None:
        self._synchronisation.order(agent, key)

    def release(self, gang: Gang, lanes: Lanes, operation: Operation, key: Hashable) -> None:
        name, *which = cast("tuple[Any, ...]", key)
        if name == "barrier":
            self._arrive(gang, lanes, operation, *which)
        self._synchronisation.release(gang.agents[lanes.mask], operation, key)

    def _arrive(self, gang: Gang, lanes: Lanes, operation: Operation, slot: int, number: int, phase: int) -> None:
        """Threads of a block come to one of its barriers."""
        if self._barrier_phases is None:
            return
        threads = gang.agents[lanes.mask]
        barrier = next(each for each, _ in barriers_of(gang) if each.block.slot == slot)[number]

        def make(earlier: Operation, part: int, text: str) -> Finding:
            row, lane = divmod(int(np.flatnonzero(lanes.mask)[part]), 32)
            place = self._machine.place(operation, gang, row, lane)
            other = self._machine.place(earlier, gang, row, lane, "arrived before")
            return Finding("barrier", text, place, other=other)

        self._barrier_phases.arrive(threads, operation, slot, number, phase, barrier.expected, make)

    def acquire(self, gang: Gang, lanes: Lanes, operation: Operation, key: Hashable) -> None:
        self._synchronisation.acquire(gang.agents[lanes.mask], operation, key)

    def tensor_allocation(
        self, gang: Gang, lanes: Lanes, operation: Operation, number: int, allocation: TensorAllocation
    ) -> None:
        thread = int(gang.agents[lanes.mask][0])
        wrong = self._pairs.wrong(thread, operation, allocation) if self._pairs is not None else None
        if wrong is not None:
            finding = self._machine.finding("tensor-memory", wrong, operation, gang, lanes.mask)
            self._reports.add("tensor-memory", operation.index, -1, 1, lambda: finding)
        if operation.form.has("alloc"):
            return
        row, lane = divmod(int(lanes.mask.argmax()), 32)

        def make(text: str, part: int, other: Place | None, kind: FindingKind) -> Finding:
            address = describe_cell(int(cells_of(number, allocation)[part]))
            return Finding(kind, text, self._machine.place(operation, gang, row, lane), address, other)

        agent = int(self._clocks.agents_of(np.array([thread]))[0])
        access = TensorAccess(operation, agent, int(self._clocks.view_of[thread]), make)
        self._tensor_cells.deallocate(access, number, allocation)

    def fence(self, gang: Gang, lanes: Lanes, operation: Operation) -> None:
        threads = gang.agents[lanes.mask]
        self._synchronisation.fence(threads, operation)
        if self._signals is not None and operation.form.opcode != "wgmma" and fences_threads(operation.form):
            self._signals.fence(threads, operation)

    def together(self, gang: Gang, lanes: Lanes) -> None:
        """Whole warps have executed an instruction together; others of `lanes` are passed over."""
        if not self._ordered:
            return
        rows = np.flatnonzero((lanes.mask == gang.alive).all(axis=1)) if not lanes.full else slice(None)
        self._races.together[gang.agents[rows, 0] >> 5] = self._clocks.now
        self._clocks.now += 1

    # The end.

    def end(self) -> None:
        """Tells the machine what was found."""
        self._history.now = self._clocks.now
        # After a deadlock nobody has exited.
        over = not any(block.live_warps for block in self._machine.blocks)
        if self._exits is not None and over:
            self._exits.report(self._reports)
        for finding in self.take():
            self._machine.report(finding)

    def take(self, *, settled: bool = True) -> list[Finding]:
        """What was found so far, with what all of it says of races, unless not `settled`; forgets it."""
        if settled:
            self._races.settle()
        return self._reports.take()


def _remember_values(access: Access, gang: Gang, mask: Mask, addresses: Array) -> None:
    """Have a write of threads answer what it writes."""
    operation = access.operation
    is_store = operation.form.opcode == "st"
    if is_store or operation.form.has("init"):
        access.same_value = lambda one, two: same_value(gang, mask, operation, one, two)
    if is_store and access.space == "shared":
        access.changes = lambda parts: changes(gang, mask, operation, addresses, parts)


def _deciding(program: Program, maybe: frozenset[int]) -> dict[int, frozenset[int]]:
    """By operation: registers that branches depend on, and that may hold undefined bits."""
    return {
        operation.index: slots
        for operation, control in zip(program.operations, program.controls, strict=True)
        if control is not None and (slots := guard_of(operation) & maybe)
    }
