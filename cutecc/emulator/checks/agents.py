"""Asynchronous operations that threads have started, and what the checks know of them."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np

from cutecc.emulator.checks.clocks import ASYNCHRONOUS, FENCED_BEFORE, ORDER, Clock, Clocks, Numbers
from cutecc.emulator.instructions.operation import Operation
from cutecc.emulator.machine.gang import Gang
from cutecc.emulator.machine.lanes import Lanes
from cutecc.emulator.machine.watch import Layout

_REMEMBERED = 64
"""Operations that are over: a copy to several blocks ends once in each."""


@dataclass(eq=False, slots=True)
class Started:
    """One operation, or with `copies` the `cp.async` copies of several threads."""

    gang: Gang
    lanes: Lanes
    operation: Operation
    threads: Numbers
    """Who started it, as in `Gang.agents`."""
    numbers: Numbers
    """The operation's, with its serial; of copies one for each thread."""
    views: Numbers
    """What it knows: a view, of copies one for each thread."""
    since: int
    """When it was started."""
    copies: bool
    result: int | None = None
    """Of an operation of a bulk group the number by which it writes: one can wait for its reads alone."""
    is_over: bool = False
    layout: Layout | None = None
    """How it takes the memory that it accesses next."""


@dataclass(eq=False)
class Agents:
    """All operations of a machine, by the number that `Watch.spawn` gives."""

    clocks: Clocks
    _started: OrderedDict[int, Started] = field(default_factory=OrderedDict[int, Started])
    _count: int = 0
    _columns: dict[int, int] = field(default_factory=dict[int, int])
    """By slot of the block: the column that is taken next."""
    bursts: dict[int, int] = field(default_factory=dict[int, int])
    """By number with serial. Operations that threads of one warp start by one instruction have the same burst."""
    _burst: int = 0
    _last: tuple[Operation, int] | None = None
    """The instruction and the thread that started something last."""

    def spawn(self, gang: Gang, lanes: Lanes, operation: Operation) -> int:
        threads = gang.agents[lanes.mask]
        clocks = self.clocks
        copies = operation.form.opcode == "cp" and not operation.form.has("bulk")
        if copies:
            numbers, views = clocks.agents_of(threads) + clocks.copier, clocks.view_of[threads]
            clocks.roots.append(views)
        else:
            numbers, views = np.array([self._number(threads)]), np.array([clocks.spawn(threads)])
        self._count += 1
        started = Started(gang, lanes, operation, threads, numbers, views, clocks.now, copies)
        if not copies:
            burst = self._burst_of(operation, int(threads[0]))
            self.bursts[int(numbers[0])] = burst
            if operation.form.has("bulk_group"):
                started.result = self._number(threads)
                self.bursts[started.result] = burst
        self._started[self._count] = started
        if copies:
            clocks.now += 1
        self._forget()
        return self._count

    def _number(self, threads: Numbers) -> int:
        """A column of the block for an operation that these threads start, as a number."""
        clocks = self.clocks
        slot = int(threads[0]) // clocks.agents_per_block
        column = self._columns.get(slot, 0)
        self._columns[slot] = (column + 1) % ASYNCHRONOUS
        clocks.starters[slot, column] = int(threads[0]) % clocks.agents_per_block >> 5
        return int(clocks.serials[slot]) << clocks.shift | clocks.agents_per_block + column

    def _burst_of(self, operation: Operation, thread: int) -> int:
        last, self._last = self._last, (operation, thread)
        if last is None or last[0] is not operation or last[1] >> 5 != thread >> 5 or last[1] >= thread:
            self._burst += 1
        return self._burst

    def _forget(self) -> None:
        if len(self._started) <= _REMEMBERED:
            return
        number, oldest = next(iter(self._started.items()))
        if not oldest.is_over:
            self._started.move_to_end(number)
            return
        del self._started[number]
        if oldest.copies:
            self.clocks.roots[:] = [root for root in self.clocks.roots if root is not oldest.views]
        else:
            self.clocks.drop(int(oldest.views[0]))

    def find(self, number: int) -> Started | None:
        return self._started.get(number)

    def learn(self, started: Started, clock: Clock) -> None:
        """An operation that is no copy of threads happens after what was released to a clock."""
        before = int(started.views[0])
        after = self.clocks.joined(before, clock)
        if after != before:
            self.clocks.keep(after)
            self.clocks.drop(before)
            started.views = np.array([after])

    def finish(self, started: Started, clock: Clock, to_threads_alone: bool) -> None:
        """Who acquires the clock sees what the operation did; with `to_threads_alone` of copies each its own."""
        started.is_over = True
        if started.copies and to_threads_alone:
            clock.joined.clear()
            clock.copied = self.clocks.now
            self.clocks.now += 1
            return
        self.finish_reads(started, clock)
        if started.result is not None:
            self._end(clock, started.result)

    def finish_reads(self, started: Started, clock: Clock) -> None:
        """Who acquires the clock knows that the operation has read, and what it knew."""
        clocks = self.clocks
        views = np.unique(started.views) if started.copies else started.views
        for view in views.tolist():
            clock.join(clocks.view(view).serial, clocks.known[view])
            for serial, events in clocks.view(view).foreign.items():
                clock.join(serial, events)
        fenced = clocks.tensor_fences and started.operation.form.opcode == "tcgen05"
        for number in started.numbers.tolist():
            self._end(clock, number, fenced and started.operation.form.modifiers[0] not in ("ld", "st"))
        clocks.now += 1

    def _end(self, clock: Clock, number: int, fenced: bool = False) -> None:
        """`fenced` of what `tcgen05.commit` tracks, which does what `fence::before_thread_sync` does."""
        clock.joined.clear()
        # The clock's own array by now: it has the serial of one of the views.
        events = clock.blocks[number >> self.clocks.shift]
        column = number & (self.clocks.stride - 1)
        events[ORDER, column] = self.clocks.now
        if fenced:
            events[FENCED_BEFORE, column] = self.clocks.now
