"""One execution: its events, what happens before what, and which pairs of events could come the other way round.

An event is a synchronising operation of a warp's threads, with what they do behind it up to the next one; or an
asynchronous operation that arrives at an mbarrier. Happens-before is the order of each process and of dependent events
(`dependence`). A clock is a number whose bit `n` says that event `n` happens before.

The completion of a phase is nobody's event: it happens after all arrivals of the phase, and after all waits that have
passed since the phase began; behind it come the waits for it, and the arrivals of the next phase. Who arrives last
does not happen after those who have arrived before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from cutecc.emulator.orders.dependence import Access, Arrival, Effect, Look, Missing, commute


class Process(NamedTuple):
    """Who may go next: threads of a warp, or an asynchronous operation that a warp has started."""

    block: int
    """Linear index in the grid."""
    warp: int
    lane: int = 0
    """The first of the threads; 0 of an asynchronous operation."""
    operation: int = -1
    """Of an asynchronous operation: how many the warp had started before it; -1 for threads."""
    answer: int = 0
    """1 for a request to cancel a cluster that fails though there is one."""


@dataclass(slots=True)
class Event:
    """One event."""

    position: int
    process: Process
    text: str
    """What it does, and where."""
    clock: int = 0
    """With its own bit."""
    effects: list[Effect] = field(default_factory=list[Effect])
    behind: int = 0
    """Looks that come before the phase is over which it completes: not before the event, if others arrive as well."""
    has_alternative: bool = False
    """Whether the same process might have another answer."""


@dataclass(frozen=True, slots=True)
class Race:
    """Two dependent events that nothing else orders."""

    first: int
    second: int
    """Positions. A second one that is none is of who never came to go on."""
    process: Process
    """Of the second one."""
    before: int
    """The clock of the second one's process before it."""


Mark = tuple[int, int]
"""An event's position, and its clock."""


@dataclass(slots=True)
class _Came:
    """What an event has brought to a phase."""

    position: int
    clock: int
    arrivals: int = 0
    size: int = 0


@dataclass(slots=True)
class _Phases:
    """Of a barrier: what came in each phase; the last one is the present."""

    arrivals: list[list[_Came]] = field(default_factory=lambda: [[]])
    missed: Missing = (0, 0)
    """What the present phase missed at its beginning."""
    looks: list[list[Mark]] = field(default_factory=lambda: [[]])
    completions: list[int] = field(default_factory=list[int])
    """Clocks."""


@dataclass(slots=True)
class _Word:
    """What was done at a place since it was last written."""

    write: Mark | None = None
    others: list[tuple[Mark, Access]] = field(default_factory=list[tuple[Mark, Access]])


class Trace:
    """The events so far."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.races: list[Race] = []
        self.keys: dict[Hashable, int] = defaultdict(int)
        """What was released to each key of `Watch`."""
        self.versions: dict[Hashable, int] = defaultdict(int)
        """Of each place: grows with what may change what who looks there finds."""
        self._phases: dict[Hashable, _Phases] = defaultdict(_Phases)
        self._words: dict[Hashable, _Word] = defaultdict(_Word)

    def apply(self, event: Event, effect: Effect, clock: int) -> int:
        """An event has an effect; `clock` is its process's, with its own bit. The clock behind the effect."""
        event.effects.append(effect)
        match effect:
            case Arrival():
                return self._arrive(event, effect, clock)
            case Look():
                return self._look(event, effect, clock)
            case Access():
                return self._access(event, effect, clock)

    def reset(self, at: Hashable) -> None:
        """A barrier begins, or ends."""
        self._phases.pop(at, None)
        self.versions[at] += 1

    def forget(self) -> None:
        """New blocks begin, with other barriers: all that was before happens before what they do."""
        self._phases.clear()
        self.keys.clear()

    def completion(self, at: Hashable) -> int:
        """The clock of the end of a barrier's last phase."""
        completions = self._phases[at].completions
        return completions[-1] if completions else 0

    def blocked(self, process: Process, effect: Look | Access, clock: int) -> None:
        """A process never went on: it looks in vain where others have been."""
        event = Event(len(self.events), process, "", clock)
        if isinstance(effect, Look):
            phases = self._phases[effect.at]
            self._race_one(phases, len(phases.completions) - 1, event, clock)
        else:
            for mark, _ in self._before(effect):
                self._race(mark[0], event, clock)

    # Effects.

    def _arrive(self, event: Event, effect: Arrival, before: int) -> int:
        phases, clock = self._phases[effect.at], before
        number = len(phases.completions)
        if number:
            # It might have come instead of one of those that completed the phase before.
            for each in phases.arrivals[number - 1]:
                self._race(each.position, event, before)
            clock |= phases.completions[-1]
        clock = self._come(phases, event, effect, clock)
        if effect.completes:
            self.versions[effect.at] += 1
            completion = clock
            for each in phases.arrivals[number]:
                completion |= each.clock
            for position, _ in phases.looks[number]:
                event.behind |= 1 << position
                if not completion >> position & 1:
                    self.races.append(Race(position, event.position, event.process, clock))
            for _, each in phases.looks[number]:
                completion |= each
            phases.completions.append(completion)
            phases.arrivals.append([])
            phases.looks.append([])
        return clock

    def _come(self, phases: _Phases, event: Event, effect: Arrival, clock: int) -> int:
        """An event counts for the present phase. It might have completed it without some of those before."""
        came = phases.arrivals[-1]
        if not came:
            phases.missed = effect.before
        if not came or came[-1].position != event.position:
            came.append(_Came(event.position, clock))
        last = came[-1]
        last.clock, last.arrivals, last.size = clock, last.arrivals + effect.arrivals, last.size + effect.size
        for each in came[:-1]:
            if not clock >> each.position & 1 and _can_do_without(each, came, phases.missed):
                self._race(each.position, event, clock)
                last.clock |= each.clock
        return last.clock

    def _look(self, event: Event, effect: Look, before: int) -> int:
        phases = self._phases[effect.at]
        number = len(phases.completions)
        # A wait that has passed would have passed two phases earlier as well; a test comes out otherwise one earlier.
        self._race_one(phases, number - (2 if effect.waits else 1), event, before)
        clock = before | (phases.completions[-1] if number else 0)
        phases.looks[number].append((event.position, clock))
        return clock

    def _access(self, event: Event, effect: Access, before: int) -> int:
        clock, word = before, self._words[effect.at]
        for (position, other), _ in self._before(effect):
            self._race(position, event, before)
            clock |= other
        mark = event.position, clock
        if effect.kind == "write":
            word.write, word.others = mark, []
        else:
            word.others.append((mark, effect))
        if not effect.reads:
            self.versions[effect.at] += 1
        return clock

    def _before(self, effect: Access) -> Iterator[tuple[Mark, Access | None]]:
        """What came to the same place before, and does not commute with an access."""
        word = self._words[effect.at]
        if word.write is not None:
            yield word.write, None
        for mark, each in word.others:
            if not commute(each, effect):
                yield mark, each

    # Races.

    def _race_one(self, phases: _Phases, number: int, event: Event, before: int) -> None:
        """An event might have come before a phase was complete: before the last arrival that it does not come after."""
        if number >= 0:
            late = [each.position for each in phases.arrivals[number] if not before >> each.position & 1]
            if late:
                self._race(max(late), event, before)

    def _race(self, first: int, event: Event, before: int) -> None:
        if not before >> first & 1 and first != event.position:
            self.races.append(Race(first, event.position, event.process, before))

    def initials(self, race: Race) -> list[Process]:
        """Who may go first instead of a race's first event, so that the second one comes before it."""
        gone, free = 1 << race.first, list[Event]()
        for event in self.events[race.first + 1 : race.second]:
            # Who completes a phase comes after the looks of before, unless the second one needs it.
            needed = race.before >> event.position & 1
            if event.clock & gone or (event.behind & gone and not needed):
                gone |= 1 << event.position
            else:
                free.append(event)
        chosen = 0
        for event in free:
            chosen |= 1 << event.position
        found: dict[Process, bool] = {}
        for event in free:
            found.setdefault(event.process, not (event.clock | event.behind) & chosen & ~(1 << event.position))
        second = self.events[race.second].behind if race.second < len(self.events) else 0
        found.setdefault(race.process, not (race.before | second) & chosen & ~(1 << race.second))
        return [process for process, is_initial in found.items() if is_initial]


_MANY = 10
"""Of so many that may come to a phase in any order, each might complete it without any other."""


def _can_do_without(one: _Came, came: list[_Came], missed: Missing) -> bool:
    """Whether the last of those that came to a phase completes it without one, and perhaps without others.

    Where no more come than a phase waits for, that is never so.
    """
    *before, last = came
    needed = [last, *(each for each in before if last.clock >> each.position & 1)]
    free = [each for each in before if each not in needed and not each.clock >> one.position & 1]
    arrivals, size = _sum(needed)
    if arrivals + _sum(free)[0] < missed[0]:
        return False
    if len(free) > _MANY:
        return True
    sums = {(arrivals, size)}
    for each in free:
        sums |= {(some + each.arrivals, more + each.size) for some, more in sums}
    return any(some >= missed[0] and more + missed[1] == 0 for some, more in sums)


def _sum(came: list[_Came]) -> Missing:
    return sum(each.arrivals for each in came), sum(each.size for each in came)
