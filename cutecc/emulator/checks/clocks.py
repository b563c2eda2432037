"""Happens-before: which accesses of which agents each agent knows to be over.

Time is one number for the whole machine, the *event*: it grows with every access and every release. An agent's
knowledge is an event for each other agent: all that this one did up to that event happened before. (These are vector
clocks whose components count in machine time.) Agents of a block that have synchronised know the same, so knowledge is
kept once for all of them, as a *view*; what an agent did itself it knows anyway. After a barrier of the block, all of
its threads share one view.

An agent is a number: `serial of its block * stride + column`, the stride being a power of two.
The columns of a block are its threads, then `ASYNCHRONOUS` columns that its asynchronous operations take in turns,
then one for each thread's `cp.async` copies, which a thread waits for alone.

Each view holds rows of events: what is known to have happened (`ORDER`), and what of it a proxy fence lies behind, on
the way from there to here, for asynchronous accesses to shared memory (`PROXY_SHARED`) and global memory
(`PROXY_GLOBAL`), and for descriptors of tensors (`PROXY_TENSOR_MAP`). PTX ISA, "Causality Order": accesses through
different proxies are ordered if there is a proxy fence along the causality path. It does not matter which agent on the
path executes it. The row `INITS` is what is known of initialisations of mbarriers alone, as that is all that
`fence.mbarrier_init` releases. Where it is asked for there are two more, of operations on tensor memory: those that a
`tcgen05.fence::before_thread_sync` lies behind (`FENCED_BEFORE`), and of these those that a `::after_thread_sync` lies
behind (`FENCED_AFTER`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Events = NDArray[np.int32]
"""Events by column, shape `(rows, stride)`."""
Numbers = NDArray[Any]

_ROWS = 7
ORDER, PROXY_SHARED, PROXY_GLOBAL, PROXY_TENSOR_MAP, INITS, FENCED_BEFORE, FENCED_AFTER = range(_ROWS)
_PROXIES = (PROXY_SHARED, PROXY_GLOBAL, PROXY_TENSOR_MAP)
ASYNCHRONOUS = 64
"""Columns of a block for asynchronous operations. A column that is used again forgets nothing: to know of the later
operation's end is to know of the earlier one's."""


@dataclass(eq=False, slots=True)
class Clock:
    """What was released to one key: events of agents, by the serial number of their block."""

    copied: int = 0
    """Up to here, a thread that acquires this knows its own `cp.async` copies to be over."""

    blocks: dict[int, Events] = field(default_factory=dict[int, Events])
    joined: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict[tuple[int, int], tuple[int, int]])
    """View → the view of one who had it and acquired this clock, both with their birth. Empty after every change."""

    def join(self, serial: int, events: Events) -> None:
        """Add knowledge of a block's agents."""
        self.joined.clear()
        mine = self.blocks.get(serial)
        self.blocks[serial] = events.copy() if mine is None else np.maximum(mine, events)

    def merge(self, other: Clock) -> None:
        for serial, events in other.blocks.items():
            self.join(serial, events)
        self.copied = max(self.copied, other.copied)


@dataclass(eq=False, slots=True)
class _View:
    """What some agents of a block know of other blocks; of their own it is in `Clocks.known`."""

    serial: int
    foreign: dict[int, Events]
    birth: int
    """Tells views apart that had the same number one after the other."""
    floor: int
    """Up to here the accesses of all threads of the own block are known."""


class Clocks:
    """The knowledge of all agents of a machine."""

    def __init__(
        self,
        slots: int,
        agents_per_block: int,
        threads: int,
        now: int = 1,
        copies: bool = True,
        tensor_fences: bool = False,
    ) -> None:
        """`threads` are those that a block has; `now` is the first event; `copies` says whether there is `cp.async`,
        `tensor_fences` whether fences of `tcgen05` are followed.
        """
        self.tensor_fences = tensor_fences
        self.rows = _ROWS if tensor_fences else FENCED_BEFORE
        self.agents_per_block = agents_per_block
        self.threads = threads
        self.copier = agents_per_block + ASYNCHRONOUS
        """From a thread's column to that of its copies."""
        self.copies = copies
        self.shift = (agents_per_block * (1 + copies) + ASYNCHRONOUS - 1).bit_length()
        self.stride = 1 << self.shift
        self.now = now
        """The event that comes next."""
        self.serials = np.full(slots, -1, np.int64)
        """Serial number of the block in each slot; they follow one another."""
        self.view_of = np.zeros(slots * agents_per_block, np.int32)
        """The view of each thread, by `Gang.agents`."""
        self.fenced = np.zeros((self.rows, slots * agents_per_block), np.int32)
        """When each thread executed its last proxy fence, by row of a view."""
        self.fenced_copies = np.zeros_like(self.fenced)
        """Up to here each thread knew its own `cp.async` copies to be over when it executed that fence."""
        self.copied = np.zeros(slots * agents_per_block, np.int32)
        """Up to here each thread knows its own `cp.async` copies to be over."""
        self.known = np.zeros((64, self.rows, self.stride), np.int32)
        """By view, row and column: events of agents of the view's own block."""
        self._serials = np.zeros(64, np.int64)
        """Of each view's block."""
        self.views: list[_View | None] = []
        self._births = 0
        self.starters = np.zeros((slots, ASYNCHRONOUS), np.int32)
        """The warp, in its block, that started the operation of each asynchronous column."""
        self.roots: list[Numbers] = [self.view_of]
        """Arrays of views that are in use."""
        self._free: list[int] = []
        self._kept: dict[int, int] = {}

    # Blocks and views.

    def start_block(self, slot: int, serial: int) -> None:
        """A new block takes a slot. It knows of nothing."""
        self.serials[slot] = serial
        first = slot * self.agents_per_block
        threads = slice(first, first + self.agents_per_block)
        self.view_of[threads] = self._new_view(serial, np.zeros((self.rows, self.stride), np.int32), {})
        self.fenced[:, threads] = self.fenced_copies[:, threads] = 0

    def _new_view(self, serial: int, events: Events, foreign: dict[int, Events], floor: int | None = None) -> int:
        if not self._free and len(self.views) == len(self.known):
            self._collect()
        self._births += 1
        if floor is None:
            floor = int(events[ORDER, : self.threads].min())
        view = _View(serial, foreign, self._births, floor)
        if self._free:
            number = self._free.pop()
            self.views[number] = view
        else:
            number = len(self.views)
            self.views.append(view)
        self.known[number] = events
        self._serials[number] = serial
        return number

    def _collect(self) -> None:
        """Free the views that nobody has any more; make room if they are few."""
        used = set(self._kept).union(*(np.unique(root).tolist() for root in self.roots))
        self._free = [number for number in range(len(self.views)) if number not in used]
        for number in self._free:
            self.views[number] = None
        if len(self._free) < len(self.known) // 2:
            self.known = np.concatenate([self.known, np.zeros_like(self.known)])
            self._serials = np.concatenate([self._serials, np.zeros_like(self._serials)])

    def keep(self, view: int) -> None:
        """Hold on to a view that no thread may have any more, until `drop`."""
        self._kept[view] = self._kept.get(view, 0) + 1

    def drop(self, view: int) -> None:
        count = self._kept.pop(view) - 1
        if count:
            self._kept[view] = count

    def view(self, number: int) -> _View:
        found = self.views[number]
        assert found is not None
        return found

    # Synchronisation.

    def release(self, clock: Clock, agents: Numbers) -> None:
        """Threads (numbers as in `Gang.agents`) add all that they know and did to a clock."""
        self._add(clock, agents, self.view_of[agents], np.full(len(agents), self.now, np.int32))
        self.now += 1

    def release_inits(self, clock: Clock, agents: Numbers, events: Numbers) -> None:
        """Threads add to a clock the mbarriers that they had initialised at these events, and nothing else."""
        slots, columns = np.divmod(agents, self.agents_per_block)
        for slot in _distinct(slots):
            here = slots == slot
            rows = np.zeros((self.rows, self.stride), np.int32)
            rows[INITS, columns[here]] = events[here]
            clock.join(int(self.serials[slot]), rows)

    def release_as_of(self, clock: Clock, agent: int, view: int, event: int) -> None:
        """A thread adds what it knew and had done when it had this view, at this event."""
        self._add(clock, np.array([agent]), np.array([view]), np.array([event], np.int32))

    def _add(self, clock: Clock, agents: Numbers, views: Numbers, events: Events) -> None:
        clock.joined.clear()
        for number in _distinct(views):
            view = self.view(number)
            clock.join(view.serial, self.known[number])
            for serial, foreign in view.foreign.items():
                clock.join(serial, foreign)
        slots, columns = np.divmod(agents, self.agents_per_block)
        for slot in _distinct(slots):
            here = slots == slot
            rows = clock.blocks[int(self.serials[slot])]
            rows[ORDER, columns[here]] = np.maximum(rows[ORDER, columns[here]], events[here])
            for row in _PROXIES:
                rows[row, columns[here]] = np.maximum(rows[row, columns[here]], self.fenced[row, agents[here]])
            if self.copies:
                copies = columns[here] + self.copier
                rows[ORDER, copies] = np.maximum(rows[ORDER, copies], self.copied[agents[here]])
                for row in _PROXIES:
                    rows[row, copies] = np.maximum(rows[row, copies], self.fenced_copies[row, agents[here]])

    def acquire(self, clock: Clock, agents: Numbers) -> None:
        """Threads get to know what was released to a clock."""
        if clock.copied:
            self.copied[agents] = np.maximum(self.copied[agents], clock.copied)
        views = self.view_of[agents]
        distinct = _distinct(views)
        if len(distinct) == 1:
            self.view_of[agents] = self.joined(distinct[0], clock)
            return
        for number in distinct:
            self.view_of[agents[views == number]] = self.joined(number, clock)

    def joined(self, number: int, clock: Clock) -> int:
        """The view that results from a view and a clock: the same one if the clock tells nothing new."""
        view = self.view(number)
        found = clock.joined.get((number, view.birth))
        if found is not None:
            known = self.views[found[0]]
            if known is not None and known.birth == found[1]:
                return found[0]
        own = clock.blocks.get(view.serial)
        news = own is not None and bool((own > self.known[number]).any())
        foreign = view.foreign
        for serial, events in clock.blocks.items():
            if serial != view.serial:
                old = foreign.get(serial)
                if old is None or bool((events > old).any()):
                    foreign = {**foreign, serial: events.copy() if old is None else np.maximum(old, events)}
        if not news and foreign is view.foreign:
            return number
        events = self.known[number] if own is None else np.maximum(self.known[number], own)
        result = self._new_view(view.serial, events, foreign)
        clock.joined[number, view.birth] = (result, self.view(result).birth)
        return result

    def proxy_fence(self, agents: Numbers, rows: tuple[int, ...]) -> None:
        """Threads order all that they know and did, through the generic proxy, before later asynchronous accesses."""
        views = self.view_of[agents]
        for number in _distinct(views):
            view = self.view(number)
            events = self.known[number].copy()
            foreign = {serial: each.copy() for serial, each in view.foreign.items()}
            for each in (events, *foreign.values()):
                for row in rows:
                    each[row] = each[ORDER]
            if not np.array_equal(events, self.known[number]) or foreign:
                self.view_of[agents[views == number]] = self._new_view(view.serial, events, foreign)
        for row in rows:
            self.fenced[row, agents] = self.now
            self.fenced_copies[row, agents] = self.copied[agents]
        self.now += 1

    def tensor_fence(self, agents: Numbers, before: bool) -> None:
        """Threads execute a `tcgen05.fence`, `::before_thread_sync` or `::after_thread_sync`."""
        source, target = (ORDER, FENCED_BEFORE) if before else (FENCED_BEFORE, FENCED_AFTER)
        views = self.view_of[agents]
        for number in _distinct(views):
            view = self.view(number)
            events = self.known[number].copy()
            foreign = {serial: each.copy() for serial, each in view.foreign.items()}
            for each in (events, *foreign.values()):
                each[target] = np.maximum(each[target], each[source])
            self.view_of[agents[views == number]] = self._new_view(view.serial, events, foreign)

    def spawn(self, agents: Numbers) -> int:
        """A view of what these threads know and did: what an asynchronous operation starts with. Kept until `drop`."""
        first = int(self.view_of[agents[0]])
        if len(agents) == 1 or bool((self.view_of[agents] == first).all()):
            events = self.known[first].copy()
            columns = agents % self.agents_per_block
            events[ORDER, columns] = self.now
            for row in _PROXIES:
                events[row, columns] = self.fenced[row, agents]
            if self.copies:
                events[ORDER, columns + self.copier] = self.copied[agents]
                events[1:, columns + self.copier] = self.fenced_copies[1:, agents]
            self.now += 1
            before = self.view(first)
            view = self._new_view(before.serial, events, before.foreign, 0)
            self.keep(view)
            return view
        clock = Clock()
        self.release(clock, agents)
        serial = int(self.serials[agents[0] // self.agents_per_block])
        foreign = {each: events for each, events in clock.blocks.items() if each != serial}
        view = self._new_view(serial, clock.blocks[serial], foreign)
        self.keep(view)
        return view

    # Questions.

    def knows(self, views: Numbers, agents: Numbers, events: Numbers, row: int = ORDER) -> NDArray[np.bool_]:
        """Whether who has a view knows that this agent's access at this event is over; flat arrays.

        An agent's knowledge of itself is not asked for here. `agents` are numbers with serials.
        """
        serials, columns = agents >> self.shift, agents & (self.stride - 1)
        own = self._serials[views] == serials
        result = own & (self.known[views, row, columns] >= events)
        if not own.all():
            others = np.flatnonzero(~own)
            pairs = _paired(views[others], serials[others])
            for pair in np.unique(pairs).tolist():
                foreign = self.view(pair >> 32).foreign.get(pair & _LOW)
                if foreign is not None:
                    here = others[pairs == pair]
                    result[here] = foreign[row, columns[here]] >= events[here]
        return result

    def own_copies(self, threads: Numbers, agents: Numbers, events: Numbers) -> NDArray[np.bool_]:
        """Whether `agents` are the `cp.async` copies of these threads (numbers with serials), and known to be over."""
        own = agents == threads + self.copier
        if own.any():
            own[own] = events[own] <= self.copied[self.threads_of(threads[own])]
        return own

    def is_thread(self, agent: int) -> bool:
        return agent & (self.stride - 1) < self.agents_per_block

    def warp_of_operation(self, agent: int) -> int:
        """The warp, in its block, that started an asynchronous operation of a resident block."""
        slot = (agent >> self.shift) - int(self.serials[0])
        return int(self.starters[slot, (agent & (self.stride - 1)) - self.agents_per_block])

    def is_asynchronous(self, agents: Numbers) -> NDArray[np.bool_]:
        """Whether they access memory through the async proxy: `cp.async` copies do not."""
        columns = agents & (self.stride - 1)
        return (columns >= self.agents_per_block) & (columns < self.copier)

    def threads_of(self, agents: Numbers) -> Numbers:
        """Threads of resident blocks as in `Gang.agents`, from numbers with serials."""
        slots = (agents >> self.shift) - int(self.serials[0])
        return slots * self.agents_per_block + (agents & (self.stride - 1))

    def agents_of(self, threads: Numbers) -> Numbers:
        """Numbers with serials, from those as in `Gang.agents`."""
        slots, columns = np.divmod(threads, self.agents_per_block)
        return self.serials[slots] << self.shift | columns

    def knows_one(self, view: int, agent: int, event: int, row: int) -> bool:
        """The same for one view and access."""
        serial, column = agent >> self.shift, agent & (self.stride - 1)
        if self._serials[view] == serial:
            return bool(self.known[view, row, column] >= event)
        foreign = self.view(view).foreign.get(serial)
        return foreign is not None and bool(foreign[row, column] >= event)

    def floor(self, views: Numbers) -> int:
        """Up to here, who has one of these views knows the accesses of all threads of its own block."""
        return min(self.view(number).floor for number in _distinct(views))

    def warp_floors(self, views: Numbers, serials: Numbers) -> Numbers:
        """Up to here, who has a view knows the accesses of all threads of a block's warps.

        Shape `(views, warps)`, or `(1, warps)` where it is the same for all.
        """
        starts = np.arange(0, self.threads, 32)
        if bool((self._serials[views] == serials).all()):
            if bool((views == views[0]).all()):
                return np.minimum.reduceat(self.known[views[:1], ORDER, : self.threads], starts, axis=1)
            distinct, which = np.unique(views, return_inverse=True)
            return np.minimum.reduceat(self.known[distinct, ORDER, : self.threads], starts, axis=1)[which]
        result = np.zeros((len(views), len(starts)), np.int32)
        pairs = _paired(views, serials)
        for pair in np.unique(pairs).tolist():
            number, serial = pair >> 32, pair & _LOW
            view = self.view(number)
            events = self.known[number] if view.serial == serial else view.foreign.get(serial)
            if events is not None:
                result[pairs == pair] = np.minimum.reduceat(events[ORDER, : self.threads], starts)
        return result


_LOW = (1 << 32) - 1


def _paired(views: Numbers, serials: Numbers) -> Numbers:
    """A number for each pair: NumPy finds the distinct ones of numbers in a tenth of the time that columns take."""
    return views.astype(np.int64) << 32 | serials


def _distinct(numbers: Numbers) -> list[int]:
    """Quick where all are the same, as they mostly are."""
    first = int(numbers[0])
    return [first] if bool((numbers == first).all()) else [int(each) for each in np.unique(numbers)]
