"""A schedule whose every choice is somebody's: who goes next at each point of synchronisation.

Threads go freely up to their next point. When all have come to one, or wait, a policy chooses who executes it, or which
asynchronous operation that arrives at an mbarrier happens. Others of these happen at once: who waits for them asks for
just them. A choice that comes to nothing, as a wait whose phase is not over, is no event, and somebody else is chosen.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from cutecc.emulator.grid import linear
from cutecc.emulator.instructions import mbarrier_object
from cutecc.emulator.instructions.block_barrier import Barrier, barriers_of
from cutecc.emulator.machine.fragment import Fragment, Waiting
from cutecc.emulator.machine.lanes import WARP, Array, Lanes
from cutecc.emulator.machine.schedule import Schedule
from cutecc.emulator.machine.watch import AccessKind, Agent, Space, Watch
from cutecc.emulator.orders.dependence import Access, Arrival, Effect, Look
from cutecc.emulator.orders.points import Point, kind_of_access, points_of, polling
from cutecc.emulator.orders.trace import Event, Process, Trace

if TYPE_CHECKING:
    from cutecc.emulator.grid import Dim3
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.instructions.table import Step
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.machine import Machine, Pending
    from cutecc.emulator.machine.program import Program
    from cutecc.emulator.machine.run import Run

_WORD = 4
"""Bytes: accesses to one word count as accesses to the same place."""


class Policy(Protocol):
    """Who goes next."""

    def choose(self, position: int, offered: Sequence[Process]) -> Process | None:
        """Who makes the event of this position, of those that are at a point: it may come to nothing, and is asked
        again then. `None` ends the choices: whoever is left waits for ever."""
        ...

    def committed(self, event: Event) -> None:
        """The event has happened."""
        ...


@dataclass(slots=True)
class _Started:
    """An asynchronous operation that is to happen."""

    process: Process
    clock: int
    text: str


@dataclass(slots=True)
class _Turn:
    """A choice that is being carried out."""

    event: Event
    gang: Gang | None
    clocks: list[int]
    """Of the warp's threads, before it."""
    mask: Array
    """The threads, shape `(32,)`."""
    operation: Operation
    executed: bool = False
    """Whether the point was executed, by some of the threads at least."""
    unsure: list[Effect] = field(default_factory=list["Effect"])
    """What was looked at in a loop that may go round again: then there was nothing."""


def parked(row: int) -> str:
    """What threads at a point wait for."""
    return "their turn"


class Director(Schedule, Watch):
    """The schedule, and the watch that sees what its choices come to."""

    in_step = False
    eager = False
    shares_processors = False
    listens = True
    _run: Run
    _machine: Machine
    _program: Program
    _points: dict[int, Point]
    _polling: frozenset[int]

    def __init__(self, policy: Policy) -> None:
        self.trace = Trace()
        self._policy = policy
        self._base = 0
        """The clock of whoever begins: all events of blocks that have ended."""
        self._begin()

    def _begin(self) -> None:
        self._running: dict[Gang, None] = {}
        self._clocks: dict[Gang, list[int]] = {}
        self._started: dict[Pending, _Started] = {}
        self._counts: dict[Gang, int] = {}
        self._happening: list[tuple[Event, int]] = []
        self._turn: _Turn | None = None
        self._granted: Fragment | None = None
        self._inside: dict[tuple[Gang, int], Array] = {}
        """By barrier instruction: threads that have come, and not gone on."""
        self._vain: dict[Process, dict[Hashable, int]] = {}
        """Who went round a loop in vain: what they looked at, as it was."""
        self._looked: dict[Process, tuple[list[Effect], int]] = {}
        """The same with their clock, for who never comes to go on."""
        self._back: set[Gang] = set()
        """Whose threads came back in a loop that only looks."""
        self._free_rounds: set[Gang] = set()
        """Those of them that came by no point since."""
        self._pipe = 0
        self._operation: Operation | None = None
        self._used: list[int] = []
        self._touched = True
        self._trial: tuple[list[Access], Callable[[], bytes]] | None = None
        """The accesses of an atomic, and what tells what is there."""
        self._before = b""
        """What was there before."""
        self.open = False
        """Whether choices are over."""

    def attach(self, run: Run) -> None:
        """Take a run over before it begins."""
        self._begin()
        self._base = (1 << len(self.trace.events)) - 1
        self.trace.forget()
        self._run = run

        def make(program: Program, machine: Machine) -> Watch:
            self._program, self._machine = program, machine
            self._points, self._polling = points_of(program), polling(program)
            return self

        run.add_watch(make)
        run.wrap(lambda operation, step: self._gated(operation, step))

    # The schedule.

    def add(self, gang: Gang) -> None:
        self._running[gang] = None

    def take(self) -> Gang | None:
        while True:
            self._take_woken()
            if self._running:
                return self._go(next(iter(self._running)))
            if self._happen_silently():
                continue
            self._settle()
            if self.open:
                return None
            offered = self._offered()
            position = len(self.trace.events)
            chosen = self._policy.choose(position, list(offered))
            if chosen is None:
                self._stop()
                continue
            self._carry_out(chosen, offered[chosen._replace(answer=0)], position)

    def choose(self, choices: int) -> int:
        return 0

    def request(self, cancel: Callable[[], Dim3 | None]) -> Dim3 | None:
        if not self._happening:
            return cancel()
        event, _ = self._happening[-1]
        self._effect(Access(("launch",), "write"))
        if event.process.answer:
            return None
        found = cancel()
        event.has_alternative = found is not None
        return found

    def _go(self, gang: Gang) -> Gang:
        del self._running[gang]
        if not self.open and gang not in self._free_rounds and any(each.polls for each in gang.fragments):
            self._free_rounds.add(gang)
            self._back.add(gang)
            for each in gang.fragments:
                each.polls = 0
        return gang

    def _take_woken(self) -> None:
        for gang in self._machine.woken:
            self._running[gang] = None
        self._machine.woken.clear()

    def _happen_silently(self) -> bool:
        """Have what nobody sees at an mbarrier happen; whether there was any."""
        late = self._behind()
        found = next((each for each in self._machine.pending if not each.tells and each not in late), None)
        if found is not None:
            self._machine.finish(found)
        return found is not None

    def _behind(self) -> set[Pending]:
        """What others in its pipe come before."""
        memories = self._machine.tensor_memories.values()
        return {each for memory in memories for place, each in enumerate(memory.issued) if place}

    def _stop(self) -> None:
        """Nobody else is chosen: who is left executes its point, and waits for what the point waits for."""
        self.tell_blocked()
        self.open = True
        for gang in self._machine.gangs:
            for each in gang.fragments:
                if _is_parked(each):
                    each.seen = -1
                    self._running[gang] = None

    def tell_blocked(self) -> None:
        """The order ends here: who has looked in vain might have gone on in another one."""
        for process, (effects, clock) in self._looked.items():
            for effect in effects:
                if not isinstance(effect, Arrival):
                    self.trace.blocked(process, effect, clock)

    # Choices.

    def _offered(self) -> dict[Process, Fragment | Pending]:
        """Who is at a point."""
        found: dict[Process, Fragment | Pending] = {}
        late = self._behind()
        for each in self._machine.pending:
            if each not in late:
                found[self._started[each].process] = each
        for gang in self._machine.gangs:
            for fragment in gang.fragments:
                if _is_parked(fragment):
                    process = self._process(gang, fragment.mask[0])
                    if not self._is_vain(process):
                        found[process] = fragment
        return found

    def _is_vain(self, process: Process) -> bool:
        seen = self._vain.get(process)
        if seen is None:
            return False
        if all(self.trace.versions[at] == version for at, version in seen.items()):
            return True
        del self._vain[process]
        return False

    def _carry_out(self, process: Process, who: Fragment | Pending, position: int) -> None:
        if not isinstance(who, Fragment):
            started = self._started[who]
            event = Event(position, process, started.text, started.clock)
            self.trace.events.append(event)
            self._machine.finish(who)
            return
        gang, operation = who.gang, self._program.operations[who.place]
        clocks = self._clocks_of(gang)
        event = Event(position, process, operation.where)
        self._turn = _Turn(event, gang, list(clocks), who.mask[0], operation)
        self.trace.events.append(event)
        self._join(gang, who.mask, self._clock(gang, who.mask) | 1 << position)
        self._granted = who
        for each in gang.fragments:
            each.seen = gang.changes
        who.seen = -1
        self._running[gang] = None

    def _settle(self) -> None:
        """What the last choice came to, now that all are at a point again."""
        turn, self._turn = self._turn, None
        if turn is None:
            return
        gang = turn.gang
        assert gang is not None
        if turn.executed and not (turn.unsure and self._is_round_again(turn)):
            self._be_sure(turn)
            self._looked.pop(turn.event.process, None)
            self._policy.committed(turn.event)
            return
        self.trace.events.pop()
        self._clocks[gang] = turn.clocks
        if turn.executed:
            self._vain[turn.event.process] = {each.at: self.trace.versions[each.at] for each in turn.unsure}
        if turn.unsure:
            self._looked[turn.event.process] = turn.unsure, self._clock_of(turn.clocks, turn.mask)

    def _is_round_again(self, turn: _Turn) -> bool:
        """Whether the threads are back where they were, by a loop that only looks."""
        gang = turn.gang
        assert gang is not None
        here = any(
            _is_parked(each) and each.place in self._polling and self._process(gang, each.mask[0]) == turn.event.process
            for each in gang.fragments
        )
        return here and gang in self._back and turn.event.effects == []

    def _be_sure(self, turn: _Turn) -> None:
        """What was looked at is what the threads went on by."""
        unsure, turn.unsure = turn.unsure, []
        for effect in unsure:
            self._effect(effect, turn)

    # Steps.

    def _gated(self, operation: Operation, step: Step) -> Step:
        point = self._points.get(operation.index)
        if point is None:
            return step
        if point == "peek":
            return lambda gang, lanes: self._peek(operation, step, gang, lanes)

        def gate(gang: Gang, lanes: Lanes) -> Waiting | None:
            self._free_rounds.discard(gang)
            if self.open or self._machine.impatient or self._has_come(gang, operation, lanes):
                return self._pass(point, operation, step, gang, lanes)
            if self._granted is None or self._run.current is not self._granted:
                return Waiting(lanes.mask, parked)
            self._granted = None
            self._back.discard(gang)
            return self._execute(point, operation, step, gang, lanes)

        return gate

    def _has_come(self, gang: Gang, operation: Operation, lanes: Lanes) -> bool:
        """Whether threads have been counted at a barrier, and look whether they may go on."""
        come = self._inside.get((gang, operation.index))
        return come is not None and bool((come | ~lanes.mask[0]).all())

    def _pass(self, point: Point, operation: Operation, step: Step, gang: Gang, lanes: Lanes) -> Waiting | None:
        waiting = step(gang, lanes)
        if point == "barrier":
            self._note_come(gang, operation, lanes, waiting)
        return waiting

    def _note_come(self, gang: Gang, operation: Operation, lanes: Lanes, waiting: Waiting | None) -> None:
        key = gang, operation.index
        come = self._inside.pop(key, np.zeros(WARP, np.bool_)) & ~lanes.mask[0]
        if waiting is not None:
            come = come | waiting.mask[0]
        if come.any():
            self._inside[key] = come

    def _execute(self, point: Point, operation: Operation, step: Step, gang: Gang, lanes: Lanes) -> Waiting | None:
        turn = self._turn
        assert turn is not None
        self._operation, self._used, self._touched = operation, [], False
        if point == "barrier":
            waiting = self._come(operation, step, gang, lanes)
            turn.executed = True
        elif point == "test":
            waiting = self._test(step, gang, lanes)
            turn.executed = True
        else:
            waiting = step(gang, lanes)
            turn.executed = waiting is None or bool((lanes.mask & ~waiting.mask).any())
            if point == "wait" and not turn.executed:
                turn.unsure = [self._seen(index, waits=True) for index in self._used]
        self._judge()
        self._note_used(turn)
        self._operation = None
        turn.event.clock = self._clock(gang, lanes.mask)
        return waiting

    def _note_used(self, turn: _Turn) -> None:
        if not turn.executed:
            return
        for index in dict.fromkeys(self._used):
            self._effect(Access(("mbarrier", index, "there"), "read"), turn)
        if turn.operation.form.opcode == "tcgen05":
            self._effect(Access(("pipe", turn.event.process.block), "write"), turn)

    def _come(self, operation: Operation, step: Step, gang: Gang, lanes: Lanes) -> Waiting | None:
        barrier, count = self._barrier(operation, gang, lanes)
        missing = (count if barrier.expected is None else barrier.expected) // WARP - barrier.arrived
        phase, block = barrier.phase, barrier.block
        before = self._clock(gang, lanes.mask)
        waiting = step(gang, lanes)
        self._note_come(gang, operation, lanes, waiting)
        at = ("barrier", block.slot, barrier.number)
        self._effect(Arrival(at, 1, 0, (missing, 0), barrier.phase > phase), before=before)
        # Whoever goes on with this phase comes after those before it.
        self.trace.keys[(*at, phase)] |= self._clock(gang, lanes.mask)
        return waiting

    def _barrier(self, operation: Operation, gang: Gang, lanes: Lanes) -> tuple[Barrier, int]:
        """The named barrier that threads come to, and how many threads they say that it is for."""
        first = 1 if operation.form.has("red") else 0
        lane = int(lanes.mask[0].argmax())
        number = int(np.broadcast_to(operation.reader(operation.operands[first], "u32")(gang), gang.shape)[0, lane])
        barriers, _ = barriers_of(gang)[0]
        barrier = barriers[min(number, 15)]
        if len(operation.operands) <= first + 1:
            return barrier, barrier.block.threads
        read = operation.reader(operation.operands[first + 1], "u32")
        return barrier, int(np.broadcast_to(read(gang), gang.shape)[0, lane])

    def _test(self, step: Step, gang: Gang, lanes: Lanes) -> Waiting | None:
        """A test of either outcome; that a phase is over is told by `acquire`."""
        waiting = self._impatiently(step, gang, lanes)
        if not self._touched:
            for index in self._used:
                self._look(self._seen(index, waits=False))
        return waiting

    def _impatiently(self, step: Step, gang: Gang, lanes: Lanes) -> Waiting | None:
        """Have threads look whether a phase is over, and not wait for it."""
        before, self._machine.impatient = self._machine.impatient, True
        try:
            return step(gang, lanes)
        finally:
            self._machine.impatient = before

    def _peek(self, operation: Operation, step: Step, gang: Gang, lanes: Lanes) -> Waiting | None:
        """Gives up at once, unless the threads know that the phase is over: it may have come before the phase was."""
        if not self.open and not all(self._knows(operation, gang, lanes)):
            operation.writer(operation.operands[0], "pred")(gang, lanes, np.zeros(gang.shape, np.bool_))
            return None
        return self._impatiently(step, gang, lanes)

    def _knows(self, operation: Operation, gang: Gang, lanes: Lanes) -> Iterator[bool]:
        """Of each mbarrier that threads peek at: whether they know of its last phase's end, if they look for that."""
        _, place, which, *_ = operation.operands
        parity = np.broadcast_to(operation.reader(which, "u32")(gang), gang.shape)[lanes.mask] & 1
        places = self._machine.memory.shared_index(gang, lanes, operation.address(place)(gang))[lanes.mask]
        clock = self._clock(gang, lanes.mask)
        for index, wanted in {*zip(places.tolist(), parity.tolist(), strict=True)}:
            barrier = mbarrier_object.find(self._machine, index) if index >= 0 else None
            if barrier is not None and wanted != barrier.parity:
                yield not self.trace.completion(("mbarrier", index)) & ~clock

    def _seen(self, index: int, *, waits: bool) -> Look:
        barrier = mbarrier_object.find(self._machine, index)
        missing = (0, 0) if barrier is None else (barrier.pending, barrier.missing_bytes)
        return Look(("mbarrier", index), missing, waits)

    def _look(self, effect: Effect) -> None:
        """Threads have looked: perhaps in vain, if they are in a loop."""
        turn = self._turn
        if turn is not None and turn.operation.index in self._polling:
            turn.unsure.append(effect)
        else:
            self._effect(effect)

    # Effects.

    def _effect(self, effect: Effect, turn: _Turn | None = None, before: int | None = None) -> None:
        """Of what happens, or of the choice that is carried out; `before` is the clock without the effect's own."""
        if self._happening:
            event, clock = self._happening[-1]
            self._happening[-1] = event, self.trace.apply(event, effect, clock)
            return
        turn = turn or self._turn
        if turn is None or turn.gang is None:
            return
        if turn.unsure:
            self._be_sure(turn)
        clocks = self._clocks_of(turn.gang)
        before = self._clock_of(clocks, turn.mask) if before is None else before
        clock = self.trace.apply(turn.event, effect, before)
        self._clocks[turn.gang] = [each | clock if mine else each for each, mine in zip(clocks, turn.mask, strict=True)]
        turn.event.clock |= clock

    # Clocks.

    def _process(self, gang: Gang, mask: Array) -> Process:
        block = gang.blocks[0]
        number = linear(block.index, self._machine.shape.grid)
        return Process(number, int(gang.warp_numbers[0, 0]), int(mask.argmax()))

    def _clocks_of(self, gang: Gang) -> list[int]:
        found = self._clocks.get(gang)
        if found is None:
            found = self._clocks[gang] = [self._base] * WARP
        return found

    def _clock(self, gang: Gang, mask: Array) -> int:
        return self._clock_of(self._clocks_of(gang), mask[0])

    def _clock_of(self, clocks: list[int], mask: Array) -> int:
        clock, last = 0, -1
        for each, mine in zip(clocks, mask.tolist(), strict=True):
            if mine and each != last:
                clock, last = clock | each, each
        return clock

    def _join(self, gang: Gang, mask: Array, clock: int) -> None:
        clocks = self._clocks_of(gang)
        self._clocks[gang] = [
            each | clock if mine else each for each, mine in zip(clocks, mask[0].tolist(), strict=True)
        ]

    # The watch.

    def mbarrier_used(self, index: int) -> None:
        if self._operation is not None:
            self._used.append(index)

    def mbarrier_reset(self, index: int) -> None:
        self._effect(Access(("mbarrier", index, "there"), "write"))
        self.trace.reset(("mbarrier", index))

    def mbarrier_counts(self, index: int, arrivals: int, size: int) -> None:
        barrier = mbarrier_object.find(self._machine, index)
        assert barrier is not None
        missing = barrier.pending, barrier.missing_bytes
        completes = max(missing[0] - arrivals, 0) == 0 and missing[1] + size == 0
        self._effect(Arrival(("mbarrier", index), arrivals, size, missing, completes))

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
        if self._operation is not operation or self._points.get(operation.index) != "memory" or space == "local":
            return
        access = kind_of_access(operation)
        words = np.unique(addresses[lanes.mask].astype(np.uint64) // np.uint64(_WORD)).tolist()
        accesses = [Access((space, each + more), access) for each in words for more in range(max(1, size // _WORD))]
        if kind == "atomic" and operation.index in self._polling:
            # A compare-and-swap that fails, and is tried again, has only looked.
            self._trial = accesses, functools.partial(self._bytes, space, addresses[lanes.mask], size)
            self._before = self._trial[1]()
        else:
            for each in accesses:
                self._look(each) if each.reads else self._effect(each)

    def _bytes(self, space: Space, addresses: Array, size: int) -> bytes:
        """What is at these places."""
        memory, found = self._machine.memory, b""
        for address in addresses.tolist():
            if space == "shared":
                found += memory.shared[address : address + size].tobytes()
            elif (view := memory.global_view(address, size)) is not None:
                found += view[0].data[view[1] : view[1] + size].tobytes()
        return found

    def _judge(self) -> None:
        """What an atomic of a loop was: a look, unless it has changed something."""
        accesses, now = self._trial or ([], bytes)
        self._trial = None
        for each in accesses:
            if now() == self._before:
                self._look(Access(each.at, "read"))
            else:
                self._effect(each)

    def release(self, gang: Gang, lanes: Lanes, operation: Operation, key: Hashable) -> None:
        if _kind(key) != "mbarrier":
            self._sure()
            self.trace.keys[key] |= self._clock(gang, lanes.mask) if lanes.any() else 0

    def acquire(self, gang: Gang, lanes: Lanes, operation: Operation, key: Hashable) -> None:
        if _kind(key) == "mbarrier":
            self._touched = True
            if self._operation is not None:
                # What goes round a loop until a phase is over is a wait, whatever it is made of.
                waits = operation.index in self._polling
                self._effect(self._seen(cast("tuple[str, int, int]", key)[1], waits=waits))
        elif key in self.trace.keys:
            self._join(gang, lanes.mask, self.trace.keys[key])

    def finish(self, agent: Agent, key: Hashable) -> None:
        if self._happening and _kind(key) != "mbarrier":
            self.trace.keys[key] |= self._happening[-1][1]

    def order(self, agent: Agent, key: Hashable) -> None:
        if self._happening and key in self.trace.keys:
            event, clock = self._happening[-1]
            self._happening[-1] = event, clock | self.trace.keys[key]

    def posted(self, operation: Pending) -> None:
        self._sure()
        current = self._run.current
        assert current is not None
        gang = current.gang
        number = self._counts.get(gang, 0)
        self._counts[gang] = number + 1
        process = self._process(gang, current.mask[0])._replace(lane=0, operation=number)
        self._started[operation] = _Started(process, self._clock(gang, current.mask), operation.what())

    def _sure(self) -> None:
        if self._turn is not None and self._turn.unsure:
            self._be_sure(self._turn)

    def happens(self, operation: Pending) -> None:
        started = self._started.pop(operation)
        events = self.trace.events
        if operation.tells and not self.open and events and events[-1].process[:4] == started.process[:4]:
            event = events[-1]
            clock = started.clock | 1 << event.position
        else:
            event, clock = Event(-1, started.process, started.text), started.clock
        if any(operation in memory.issued for memory in self._machine.tensor_memories.values()):
            clock |= self._pipe
        self._happening.append((event, clock))

    def happened(self, operation: Pending) -> None:
        event, clock = self._happening.pop()
        event.clock = clock
        self._pipe |= clock if self._machine.tensor_memories else 0
        if event.position >= 0:
            self._policy.committed(event)


def _is_parked(fragment: Fragment) -> bool:
    return fragment.waiting is not None and fragment.waiting.what is parked


def _kind(key: Hashable) -> Any:
    return cast("tuple[Any, ...]", key)[0]
