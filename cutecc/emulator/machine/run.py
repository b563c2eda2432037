"""Running the blocks of a machine to their end: turns, divergence and reconvergence, deadlock."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cutecc.emulator.checks.finding import Finding
from cutecc.emulator.deadlocks.cause import cause_of
from cutecc.emulator.instructions.table import Step
from cutecc.emulator.machine.control import Way
from cutecc.emulator.machine.fragment import Fragment, Waiting
from cutecc.emulator.machine.lanes import WARP, Array, Lanes, Mask, rows_of
from cutecc.emulator.machine.stuck import Stuck, stuck_lines
from cutecc.emulator.machine.watch import Watch, Watches
from cutecc.errors import DeadlockError, LimitError

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.limits import Budget
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.machine import Machine
    from cutecc.emulator.machine.program import Program
    from cutecc.emulator.machine.schedule import Schedule

_POLLS = 2_000
"""How often in a row all threads that can go on may look in vain before they count as stuck."""
_COUNTS = 500
"""How often in a row they may do so while their registers change: a loop that counts comes to an end."""
_PATIENCE = 1024
"""How often threads may go back before others of their warp, which they may wait for, go first."""
_GIVE_UPS = 16
"""How often in a row threads may give up waiting without anything happening."""
_LISTED = 32
"""Lines on threads that a deadlock message has at most."""


class Run:
    """One machine with its program, from start to end."""

    def __init__(
        self, program: Program, machine: Machine, schedule: Schedule, steps: Sequence[Step | None], budget: Budget
    ) -> None:
        """`steps` are the program's, or what checks have made of them."""
        self._budget = budget
        self._program = program
        self._machine = machine
        self._schedule = schedule
        self._steps = steps
        self._gave_up = -1
        """The machine's state when threads gave up waiting last."""
        self._give_ups = 0
        """How often they have in this state."""
        self._polling: dict[Gang, None] = {}
        """Idle gangs whose threads only look whether something has changed, in the order in which they last did."""
        self._rounds = 0
        """How often in a row all of those have looked in vain."""
        self._registers: list[list[Array]] = []
        """Of each gang, when that last was for long."""
        self._counts = 0
        """How often in a row they had changed by then."""
        self._last: Fragment | None = None
        """Who went last."""

    def add_watch(self, make: Callable[[Program, Machine], Watch]) -> None:
        """Have one more watch see the run, which has not begun."""
        machine, program = self._machine, self._program
        before, watch = machine.watch, make(program, machine)
        if watch.counts and not before.counts:
            pairs = zip(self._steps, program.operations, strict=True)
            self._steps = [step and _counted(step, operation) for step, operation in pairs]
        machine.watch = Watches([before, watch]) if before.listens else watch

    def wrap(self, wrap: Callable[[Operation, Step], Step]) -> None:
        """Have each step done as `wrap` has it; before the run begins."""
        pairs = zip(self._steps, self._program.operations, strict=True)
        self._steps = [step and wrap(operation, step) for step, operation in pairs]

    @property
    def current(self) -> Fragment | None:
        """The threads that go, or went last."""
        return self._last

    def __call__(self) -> None:
        """Until all threads have exited. Raises `EmulatorError`; `DeadlockError` and `LimitError` are of them."""
        try:
            self._run()
        except LimitError as error:
            error.notes.append(f"it was at {self.where()}")
            raise

    def _run(self) -> None:
        machine, schedule = self._machine, self._schedule
        for gang in machine.gangs:
            gang.fragments = [Fragment(gang, 0, gang.alive)]
            schedule.add(gang)
        while True:
            if machine.pending and (number := schedule.lets_happen(len(machine.pending))) is not None:
                machine.let_happen(number)
            fragment = self._next()
            if fragment is not None:
                if not fragment.polls and self._rounds:
                    self._rounds, self._counts, self._registers = 0, 0, []
                self._turn(fragment, schedule.operations())
                if fragment.gang.fragments:
                    schedule.add(fragment.gang)
                continue
            # Nobody can go on, or all only look whether they can; or all have exited, and what they started is left.
            if machine.pending:
                machine.let_happen(0)
            else:
                gangs = [gang for gang in machine.gangs if gang.fragments]
                if not gangs:
                    return
                if not self._give_up(gangs) and not (self._polling and self._count(gangs)):
                    self._deadlock()
                    return
            self._rounds = 0

    def where(self) -> str:
        """Where the threads that went last are, as `warp 0 of block (0, 0, 0) at stencil.py:13`; nothing before.

        Other threads than the one that runs may ask.
        """
        fragment = self._last
        if fragment is None:
            return ""
        row = int(fragment.mask.argmax()) // WARP
        block, warp = fragment.gang.blocks[row].name, int(fragment.gang.warp_numbers[row, 0])
        instruction = self._program.operations[fragment.place].instruction
        location = instruction.location
        place = f"{location.file}:{location.line}" if location else f"PTX line {instruction.line}"
        return f"warp {warp} of {block} at {place}"

    def _next(self) -> Fragment | None:
        """Who goes next. Those that only poll come last, in rounds."""
        schedule = self._schedule
        for gang in self._machine.woken:
            schedule.add(gang)
        self._machine.woken.clear()
        while True:
            while (gang := schedule.take()) is not None:
                best = self._best(gang)
                if best is not None and best.polls <= self._rounds:
                    return best
                gang.is_idle = True
                if best is not None:
                    self._polling[gang] = None
            if not self._polling or self._rounds == _POLLS:
                return None
            self._rounds += 1
            polling, self._polling = self._polling, {}
            for gang in polling:
                if self._rounds == 1:
                    # Something was done: what they have looked for in vain may be there now.
                    for fragment in gang.fragments:
                        fragment.polls = min(fragment.polls, 1)
                self._rouse(gang)

    def _rouse(self, gang: Gang) -> None:
        """Have an idle gang take turns again."""
        if gang.is_idle:
            gang.is_idle = False
            self._schedule.add(gang)

    def _best(self, gang: Gang) -> Fragment | None:
        """What of a gang goes first, of all that can go on.

        It is what is furthest behind in the program, so that threads that took a longer way catch up; but all threads
        get on, also those that others wait for in a loop.
        """
        best: Fragment | None = None
        for fragment in gang.fragments:
            if fragment.waiting is not None and fragment.seen == gang.changes:
                continue
            if best is None or _rank(fragment) < _rank(best):
                best = fragment
        return best

    def _count(self, gangs: Sequence[Gang]) -> bool:
        """Whether threads that look in vain change registers meanwhile."""
        before, self._registers = self._registers, [gang.registers.copy() for gang in gangs]
        self._counts += 1
        if self._counts == _COUNTS:
            return False
        return len(before) != len(gangs) or not all(
            np.array_equal(was, now)
            for pair in zip(before, self._registers, strict=True)
            for was, now in zip(*pair, strict=True)
        )

    def _give_up(self, gangs: Sequence[Gang]) -> bool:
        """Have threads go on that wait with a time limit, a few times until something happens; whether there were any.

        What others look for may be a store, which is nothing that happens.
        """
        if self._gave_up != self._machine.state:
            self._gave_up, self._give_ups = self._machine.state, 0
        if self._give_ups == _GIVE_UPS:
            return False
        self._give_ups += 1
        found = [each for gang in gangs for each in gang.fragments if each.waiting and each.waiting.gives_up]
        self._machine.impatient = True
        for fragment in found:
            # One may have joined another.
            if fragment in fragment.gang.fragments:
                self._turn(fragment, 1)
                self._rouse(fragment.gang)
        self._machine.impatient = False
        return bool(found)

    def _turn(self, fragment: Fragment, operations: int) -> None:
        """Execute threads until they wait, part, go back, or have had their number of operations."""
        program, gang = self._program, fragment.gang
        self._last = fragment
        while True:
            place = fragment.place
            stop = program.stops[place]
            end = min(stop, place + operations)
            # Not past threads that took another way: where the ways meet, all go on together.
            ahead = [other.place for other in gang.fragments if place < other.place <= end]
            end = min(ahead, default=end)
            operations -= end - place
            self._budget.step(end - place + 1)
            if not self._straight(fragment, end):
                return
            if end < stop or ahead:
                self._meet(fragment)
                return
            control = program.controls[stop]
            assert control is not None
            if self._machine.watch.counts:
                self._machine.watch.executed(gang, Lanes(fragment.mask), program.operations[stop])
            ways = control(fragment)
            goes_back = any(way[0] <= stop for way in ways)
            polls = fragment.polls + 1 if goes_back and stop in program.polls else 0
            if goes_back:
                fragment.laps += 1
                if fragment.laps % _PATIENCE == 0:
                    self._schedule.stopped(fragment)
            if len(ways) == 1 and ways[0][1] is fragment.mask:
                fragment.place, _, fragment.returns = ways[0]
                fragment.polls = polls
                if fragment.place > stop and len(gang.fragments) == 1 and operations > 0:
                    continue
                self._meet(fragment)
                return
            self._part(fragment, ways, stop, polls)
            return

    def _part(self, fragment: Fragment, ways: Sequence[Way], at: int, polls: int) -> None:
        """Have threads go different ways from the operation `at`. Those that no way is for have exited."""
        gang, gone = fragment.gang, fragment.mask
        gang.fragments.remove(fragment)
        for target, mask, returns in ways:
            gone = gone & ~mask
            new = Fragment(gang, target, mask, returns, polls=polls if target <= at else 0, laps=fragment.laps)
            gang.fragments.append(new)
            self._meet(new)
        if gone.any():
            self._exit(gang, gone)

    def _straight(self, fragment: Fragment, end: int) -> bool:
        """Execute up to an operation; whether the threads got there. Those that have to wait stay behind."""
        gang, steps = fragment.gang, self._steps
        lanes = Lanes(fragment.mask, len(gang.fragments) == 1)
        for place in range(fragment.place, end):
            waiting = steps[place](gang, lanes)  # pyright: ignore[reportOptionalCall]
            if waiting is None:
                continue
            rest = fragment.mask & ~waiting.mask
            if not rest.any():
                fragment.place = place
                self._wait(fragment, waiting)
                return False
            behind = Fragment(gang, place, waiting.mask, fragment.returns, laps=fragment.laps)
            gang.fragments.append(behind)
            fragment.place, fragment.mask, fragment.waiting = place + 1, rest, None
            self._wait(behind, waiting)
            lanes = Lanes(rest)
        fragment.place = end
        fragment.waiting = None
        return True

    def _wait(self, fragment: Fragment, waiting: Waiting) -> None:
        fragment.waiting, fragment.seen = waiting, fragment.gang.changes
        self._schedule.stopped(fragment)
        self._meet(fragment)

    def _meet(self, fragment: Fragment) -> None:
        """Join threads of the gang that are at the same place in the same calls."""
        fragments = fragment.gang.fragments
        if len(fragments) == 1:
            return
        for other in fragments:
            if other is not fragment and other.place == fragment.place and other.returns == fragment.returns:
                fragment.mask = fragment.mask | other.mask
                # Together they may be able to do what a part of them could not.
                fragment.waiting = None
                fragment.polls = min(fragment.polls, other.polls)
                fragment.laps = max(fragment.laps, other.laps)
                fragments.remove(other)
                return

    def _exit(self, gang: Gang, mask: Mask) -> None:
        before = rows_of(gang.alive)
        gang.alive = gang.alive & ~mask
        for row in set(before).difference(rows_of(gang.alive)):
            gang.blocks[row].live_warps -= 1
        self._machine.changed(gang.cluster)

    # Deadlock.

    def _deadlock(self) -> None:
        machine = self._machine
        stuck = [fragment for gang in machine.gangs for fragment in gang.fragments]
        lines = stuck_lines(each for fragment in stuck for each in self._stuck(fragment))
        notes = lines[:_LISTED] + [f"and {len(lines) - _LISTED} more"] * (len(lines) > _LISTED)
        cause = cause_of(self._program, machine, stuck)
        first = stuck[0]
        operation = cause.operation if cause else self._program.operations[first.place]
        if machine.collect is not None:
            place = machine.place(operation, first.gang, *divmod(int(first.mask.argmax()), WARP))
            count = sum(int(fragment.mask.sum()) for fragment in stuck)
            if cause is not None and cause.agent is not None:
                block, thread = machine.block_and_thread(cause.agent)
                place, count = replace(place, block=block, thread=thread), 1
            text = f"no thread can go on{f': {cause.text}' if cause else ''}"
            told = [cause.mend, *cause.evidence] if cause else []
            machine.report(Finding("deadlock", "\n".join([text, *told, *notes]), place, count=count))
            return
        raise DeadlockError(
            f"deadlock: no thread of the resident blocks can go on{f': {cause.text}' if cause else ''}",
            location=operation.instruction.location,
            notes=[*cause.evidence, *notes] if cause else notes,
            hints=[cause.mend] if cause else [],
        )

    def _stuck(self, fragment: Fragment) -> Iterator[Stuck]:
        """Each warp with threads of the fragment, and what they wait for."""
        operation = self._program.operations[fragment.place]
        for row in rows_of(fragment.mask):
            threads = fragment.gang.threads[row][fragment.mask[row]]
            first = int(threads[0])
            part = ""
            if len(threads) < WARP:
                part = f"{len(threads)} thread{'s' * (len(threads) > 1)} from lane {first % WARP} on"
            what = fragment.waiting.what(row) if fragment.waiting else "something to change"
            yield Stuck(fragment.gang.blocks[row].name, first // WARP, part, operation.where, what)


def _counted(step: Step, operation: Operation) -> Step:
    """The step, which tells the machine's watch that it was executed."""

    def counted(gang: Gang, lanes: Lanes) -> Waiting | None:
        waiting = step(gang, lanes)
        gone = lanes if waiting is None else lanes.only(~waiting.mask)
        if gone.any():
            gang.machine.watch.executed(gang, gone, operation)
        return waiting

    return counted


def _rank(fragment: Fragment) -> tuple[int, int, int]:
    """Of the threads of a gang those with the lowest go first."""
    return fragment.polls, fragment.laps // _PATIENCE, fragment.place
