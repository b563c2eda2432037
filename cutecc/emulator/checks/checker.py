"""All checks of one machine, as one `Watch`."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from cutecc.emulator.checks.access import Access
from cutecc.emulator.checks.accumulators import Accumulators
from cutecc.emulator.checks.agents import Agents, Started
from cutecc.emulator.checks.clocks import PROXY_GLOBAL, PROXY_SHARED, PROXY_TENSOR_MAP, Clock, Clocks
from cutecc.emulator.checks.exits import Exits
from cutecc.emulator.checks.finding import Finding, FindingKind, Place
from cutecc.emulator.checks.history import History
from cutecc.emulator.checks.initialisation import LocalMemory
from cutecc.emulator.checks.leftovers import leftovers
from cutecc.emulator.checks.locations import Locations
from cutecc.emulator.checks.order import WEAK, fences_threads, strength
from cutecc.emulator.checks.races import Races
from cutecc.emulator.checks.registers import uses_of
from cutecc.emulator.checks.reports import Reports, merge_findings
from cutecc.emulator.checks.selection import CheckName, parse_checks
from cutecc.emulator.checks.shadow import SharedShadow
from cutecc.emulator.checks.spreading import LOADS, STORES, undefined_registers
from cutecc.emulator.checks.undefined import Undefined
from cutecc.emulator.machine.lanes import Array, Lanes, Mask
from cutecc.emulator.machine.watch import AccessKind, Agent, Space, Watch

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.machine import Machine
    from cutecc.emulator.machine.program import Program

__all__ = ["Checker", "make_checker", "parse_checks"]

_PHASES = 8
"""Phases of a barrier that threads may still come from; clocks of older ones are forgotten."""
_GROUPS = 1 << 14
"""Groups of asynchronous operations that nobody has waited for, whose clocks are kept."""


def make_checker(machine: Machine, program: Program, which: frozenset[str], history: History | None = None) -> Checker:
    """The watch that makes these checks on a machine.

    `history` is of the launch: without it, accesses to global memory are not compared with those of machines before.
    """
    return Checker(machine, program, cast("frozenset[CheckName]", which), history or History())


class Checker(Watch):
    """Makes checks on a machine. What they find is told to it at the end."""

    listens = True

    def __init__(self, machine: Machine, program: Program, which: frozenset[CheckName], history: History) -> None:
        self.machine = machine
        self.program = program
        self.which = which
        self.reports = Reports()
        self.history = history
        self.accumulators = Accumulators(program, machine, self.reports) if "accumulators" in which else None
        memory = machine.memory
        slots = max(1, memory.shared.size // memory.shared_stride)
        copies = any(each.form.opcode == "cp" and not each.form.has("bulk") for each in program.operations)
        self.clocks = Clocks(slots, machine.agents_per_block, machine.shape.threads, history.now, copies)
        self._agents = Agents(self.clocks)
        self._locations = Locations(self.clocks)
        self._fenced_inits = np.zeros(len(self.clocks.view_of), np.int32)
        """When each thread executed its last `fence.mbarrier_init`."""
        self._released: dict[Hashable, Clock] = {}
        self._groups: deque[Hashable] = deque()
        in_clusters = machine.shape.cluster != (1, 1, 1)
        self._shared = SharedShadow(memory.shared.size, self.clocks, memory.shared_stride, in_clusters)
        self._local = LocalMemory(program.local_bytes) if "initialisation" in which else None
        self._results = [sorted(use.writes) for use in uses_of(program)]
        self.undefined: Undefined | None = None
        self._deciding: dict[int, list[int]] = {}
        if self._local is not None:
            unwritten, maybe = undefined_registers(program)
            forget = self._local.forget
            self.undefined = Undefined(program, machine, self.reports, unwritten, self._describe, forget)
            self._deciding = _deciding(program, maybe)
            self.counts = bool(self._deciding)
        self._exits = Exits(self.clocks, memory.shared_stride) if "races" in which else None
        self._numbers: WeakKeyDictionary[Gang, NDArray[np.int64]] = WeakKeyDictionary()
        self._ordered = bool({"races", "proxies"} & which)
        self._strong = [strength(each) != WEAK for each in program.operations]
        self.races = Races(
            self.clocks,
            history,
            program.operations,
            self.reports,
            "races" in which,
            "proxies" in which,
            "initialisation" in which,
            self._place,
            self._agents.bursts,
            machine.shape.cluster,
        )
        self._remembers_shared = bool({"races", "proxies", "initialisation"} & which)
        history.map(memory.allocations, len(program.module_image), self.clocks)

    def _number(self, gang: Gang) -> NDArray[np.int64]:
        """The threads' numbers with serials, shape `(warps, 32)`."""
        found = self._numbers.get(gang)
        if found is None:
            if self.clocks.serials[0] < 0:
                for block in self.machine.blocks:
                    self.clocks.start_block(block.slot, self.history.start_block(block))
            found = self._numbers[gang] = self.clocks.agents_of(gang.agents)
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
        if not (self._ordered or (space == "shared" and self._remembers_shared)):
            return
        mask = lanes.mask
        if space == "shared" and self.undefined is not None:
            self._follow(self.undefined, gang, mask, operation, kind, addresses, size)
        numbers = self._number(gang)[mask]
        threads = gang.agents[mask]
        chosen = addresses[mask]
        access = Access(
            operation,
            kind,
            space,
            numbers,
            self.clocks.view_of[threads],
            lambda text, part, other, found: self._finding_of_thread(
                text, part, other, found, gang, mask, operation, space, chosen
            ),
            proxy=PROXY_TENSOR_MAP if operation.form.opcode == "cp" and operation.form.has("tensor") else None,
        )
        if kind == "write" and operation.form.opcode == "st":
            access.same_value = lambda one, two: self._same_value(gang, mask, operation, one, two)
        self._note(access, chosen, size)
        if self._strong[operation.index]:
            self._locations.access(threads, operation, kind, space, chosen)

    def _follow(
        self,
        undefined: Undefined,
        gang: Gang,
        mask: Mask,
        operation: Operation,
        kind: AccessKind,
        places: Array,
        size: int,
    ) -> None:
        """Undefined values on their way through shared memory."""
        opcode = operation.form.opcode
        if kind != "read":
            undefined.write(places[mask].astype(np.intp, copy=False), size)
            if opcode in STORES:
                undefined.of(gang).stored = mask, places, size
        elif opcode in LOADS:
            step = self.program.steps[operation.index]
            assert step is not None
            undefined.load(gang, mask, operation, step, self._results[operation.index], places, size)

    def executed(self, gang: Gang, lanes: Lanes, operation: Operation) -> None:
        slots = self._deciding.get(operation.index)
        if slots and self.undefined is not None:
            self.undefined.used(gang, slots, lanes.mask, operation)

    def _note(self, access: Access, addresses: Array, size: int) -> None:
        if access.space == "shared":
            offsets = addresses.astype(np.int64, copy=False)
            if self._exits is not None and (access.asynchronous or len(self.machine.blocks[0].cluster.blocks) > 1):
                self._exits.note(access, offsets, self.clocks.now)
            self.races.note(self._shared, self._shared.locate(offsets, size), access)
        elif self._ordered:
            for shadow, chosen, offsets in self.history.global_shadows(addresses.astype(np.uint64, copy=False)):
                part = access if chosen is None else access.part(chosen)
                self.races.note(shadow, shadow.locate(offsets, size), part)

    def asynchronous_access(
        self, agent: Agent, operation: Operation, kind: AccessKind, space: Space, addresses: Array, size: int
    ) -> None:
        started = self._agents.find(agent)
        if started is None or not len(addresses):
            return
        if space == "shared" and self.undefined is not None:
            if kind == "read":
                self.undefined.copied(addresses.astype(np.intp, copy=False), size)
            else:
                self.undefined.write(addresses.astype(np.intp, copy=False), size)
        numbers, views, owners = started.numbers, started.views, None
        if started.result is not None and kind != "read":
            numbers = np.array([started.result])
        if started.copies:
            if len(addresses) != len(numbers):
                # Whose copy each is cannot be told.
                return
            owners = self.clocks.agents_of(started.threads)
        else:
            numbers, views = np.full(len(addresses), numbers[0]), np.full(len(addresses), views[0])
        access = Access(
            operation,
            kind,
            space,
            numbers,
            views,
            lambda text, part, other, found: self._finding_of_operation(
                text, part, other, found, started, space, addresses
            ),
            proxy=None if started.copies else PROXY_SHARED if space == "shared" else PROXY_GLOBAL,
            owners=owners,
            since=started.since,
        )
        self._note(access, addresses, size)

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

    def _same_value(
        self, gang: Gang, mask: Mask, operation: Operation, one: NDArray[Any], two: NDArray[Any]
    ) -> NDArray[np.bool_]:
        """Whether pairs of threads, by their place in the mask, store the same."""
        read = operation.reader(operation.operands[1], operation.form.type)
        values: Any = read(gang)
        result = np.ones(len(one), np.bool_)
        for value in cast("tuple[Any, ...]", values if isinstance(values, tuple) else (values,)):
            flat = np.broadcast_to(value, gang.shape)[mask]
            result &= flat[one] == flat[two]
        return result

    # Order.

    def spawn(self, gang: Gang, lanes: Lanes, operation: Operation) -> Agent:
        self._number(gang)
        return self._agents.spawn(gang, lanes, operation)

    def finish(self, agent: Agent, key: Hashable) -> None:
        started = self._agents.find(agent)
        if started is not None:
            if started.result is not None:
                self._agents.finish_reads(started, self._clock(_of_reads(key)))
            self._agents.finish(started, self._clock(key), _is_of(key, "group"))

    def release(self, gang: Gang, lanes: Lanes, operation: Operation, key: Hashable) -> None:
        if _is_of(key, "atomic") or not lanes.mask.any():
            return
        self._number(gang)
        clock, threads = self._clock(key), gang.agents[lanes.mask]
        if operation.form.has("relaxed"):
            self._locations.release_fenced(clock, threads)
            self.clocks.release_inits(clock, threads, self._fenced_inits[threads])
            return
        self.clocks.release(clock, threads)

    def acquire(self, gang: Gang, lanes: Lanes, operation: Operation, key: Hashable) -> None:
        if operation.form.has("wait_group") and operation.form.has("read"):
            key = _of_reads(key)
        clock = self._released.get(key)
        if clock is not None and lanes.mask.any():
            self._number(gang)
            self.clocks.acquire(clock, gang.agents[lanes.mask])
            if _is_of(key, "group") and not clock.copied:
                # Only those who started the group wait for it, once.
                del self._released[key]

    def fence(self, gang: Gang, lanes: Lanes, operation: Operation) -> None:
        form = operation.form
        if form.opcode == "wgmma":
            return
        self._number(gang)
        threads = gang.agents[lanes.mask]
        if fences_threads(form):
            self._locations.fence(threads, operation)
        elif form.has("mbarrier_init"):
            self._fenced_inits[threads] = self.clocks.now
            self.clocks.now += 1
        elif form.has("tensormap::generic"):
            if form.has("acquire"):
                self.clocks.proxy_fence(threads, (PROXY_TENSOR_MAP,))
        elif form.has("async") or form.has("async::generic"):
            rows = (PROXY_SHARED, PROXY_GLOBAL)
            if form.has("global"):
                rows = (PROXY_GLOBAL,)
            elif any("shared" in each for each in form.modifiers):
                rows = (PROXY_SHARED,)
            self.clocks.proxy_fence(threads, rows)

    def together(self, gang: Gang, lanes: Lanes) -> None:
        """Whole warps have executed an instruction together; others of `lanes` are passed over."""
        if not self._ordered:
            return
        self._number(gang)
        rows = np.flatnonzero((lanes.mask == gang.alive).all(axis=1)) if not lanes.full else slice(None)
        self.races.together[gang.agents[rows, 0] >> 5] = self.clocks.now
        self.clocks.now += 1

    def _clock(self, key: Hashable) -> Clock:
        found = self._released.get(key)
        if found is None:
            found = self._released[key] = Clock()
            *name, number = cast("tuple[Any, ...]", key)
            if name[0] == "group":
                self._groups.append(key)
                if len(self._groups) > _GROUPS:
                    self._released.pop(self._groups.popleft(), None)
            elif isinstance(number, int):
                self._released.pop((*name, number - _PHASES), None)
        return found

    # The end.

    def end(self) -> None:
        """Tells the machine what was found."""
        self.history.now = self.clocks.now
        # After a deadlock nobody has exited, and everything is left over.
        over = not any(block.live_warps for block in self.machine.blocks)
        if self._exits is not None and over:
            self._exits.report(self.reports)
        found = self.reports.take()
        if "barriers" in self.which and over and not self.machine.pending:
            found += merge_findings(list(leftovers(self.machine, self.program)))
        for finding in found:
            self.machine.report(finding)

    # Words.

    def _place(self, number: int, operation: Operation, what: str) -> Place:
        """Where an agent was."""
        instruction = operation.instruction
        block = self.history.blocks[number >> self.clocks.shift]
        column = number & (self.clocks.stride - 1)
        thread = None
        if column < self.clocks.agents_per_block:
            thread = self.machine.thread_index(column)
        elif column >= self.clocks.copier:
            thread = self.machine.thread_index(column - self.clocks.copier)
        return Place(instruction.location, instruction.line, instruction.text, block, thread, what)

    def _finding_of_thread(
        self,
        text: str,
        part: int,
        other: Place | None,
        kind: str,
        gang: Gang,
        mask: Mask,
        operation: Operation,
        space: Space,
        addresses: Array,
    ) -> Finding:
        row, lane = divmod(int(np.flatnonzero(mask)[part]), 32)
        place = self.machine.place(operation, gang, row, lane)
        return Finding(cast(FindingKind, kind), text, place, self._describe(space, int(addresses[part])), other)

    def _finding_of_operation(
        self,
        text: str,
        part: int,
        other: Place | None,
        kind: str,
        started: Started,
        space: Space,
        addresses: Array,
    ) -> Finding:
        threads = np.flatnonzero(started.lanes.mask)
        row, lane = divmod(int(threads[part if started.copies else 0]), 32)
        only = len(threads) == 1 or started.copies
        place = self.machine.place(started.operation, started.gang, row, lane if only else None)
        return Finding(cast(FindingKind, kind), text, place, self._describe(space, int(addresses[part])), other)

    def _describe(self, space: Space, address: int) -> str:
        memory = self.machine.memory
        if space != "shared":
            return memory.describe(space, address)
        slot, offset = divmod(address, memory.shared_stride)
        text = memory.describe("shared", offset)
        return text if len(self.machine.blocks) == 1 else f"{text} of {self.machine.blocks[slot].name}"


def _deciding(program: Program, maybe: frozenset[int]) -> dict[int, list[int]]:
    """By operation: registers that branches depend on, and that may hold undefined bits."""
    found: dict[int, list[int]] = {}
    for operation, control in zip(program.operations, program.controls, strict=True):
        guard = operation.instruction.guard
        if control is not None and guard is not None and operation.scope.slot(guard.register.name) in maybe:
            found[operation.index] = [operation.scope.slot(guard.register.name)]
    return found


def _of_reads(key: Hashable) -> Hashable:
    """The key of who waits for the reads of a bulk group alone."""
    return (*cast("tuple[Any, ...]", key)[:1], "reads", *cast("tuple[Any, ...]", key)[2:])


def _is_of(key: Hashable, family: str) -> bool:
    """Whether a key is of a family. What is released to `atomic` keys is known from the accesses (`Locations`)."""
    return cast("tuple[Any, ...]", key)[0] == family
