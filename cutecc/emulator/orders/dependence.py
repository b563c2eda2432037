"""Which synchronising operations commute: the relation that says which orders of a launch are one.

Two operations are *dependent* where executing them the other way round may come to another state:

- Arrivals, and bytes that are announced or brought, at one mbarrier or named barrier commute, unless one of them
  completes the phase: then the other one counts for the next.
- Looking whether a phase is over depends on what completes one, and on nothing else at that barrier. A wait that passes
  behind arrivals of the next phase passes before them as well, until they complete it.
- Accesses to one word of memory that are atomic or ordered are dependent unless both read, or both add (or take the
  minimum, …) without asking what was there.
- Everything else commutes.

Whether an arrival completes a phase depends on the state. So effects keep what the phase missed before them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

Missing: TypeAlias = "tuple[int, int]"
"""Arrivals and bytes that a phase misses."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """Arrivals at a barrier, and bytes that are announced (positive) or brought."""

    at: Hashable
    arrivals: int
    size: int
    before: Missing
    """What the phase missed."""
    completes: bool


@dataclass(frozen=True, slots=True)
class Look:
    """A wait that has passed, or a test of either outcome."""

    at: Hashable
    before: Missing
    waits: bool
    """Whether it can only be where the phase is over; a test may come out otherwise."""


@dataclass(frozen=True, slots=True)
class Access:
    """An access to a word of memory, or to whatever else there is one of."""

    at: Hashable
    kind: str
    """`read`, `write`, or the operation of an update whose old value nobody takes: `add.u32`."""

    @property
    def reads(self) -> bool:
        return self.kind == "read"


Effect: TypeAlias = "Arrival | Look | Access"
Effects: TypeAlias = "tuple[Effect, ...]"


def commute(one: Access, two: Access) -> bool:
    """Whether two accesses to the same place do."""
    return one.kind == two.kind and one.kind != "write"


def depend(later: Iterable[Effect], done: Iterable[Effect]) -> bool:
    """Whether what somebody would do is dependent on what another one has just done.

    `later` was seen where nothing had come yet that it depends on, and is judged by the state before `done`.
    """
    mine, theirs = _by_place(later), _by_place(done)
    return any(_depend(mine[at], theirs[at]) for at in mine.keys() & theirs.keys())


def _by_place(effects: Iterable[Effect]) -> dict[Hashable, list[Effect]]:
    found: dict[Hashable, list[Effect]] = {}
    for each in effects:
        found.setdefault(each.at, []).append(each)
    return found


def _depend(later: list[Effect], done: list[Effect]) -> bool:
    """At one place."""
    first = done[0]
    if isinstance(first, Access):
        return any(
            not commute(one, two) for one in later for two in done if isinstance(one, Access) if isinstance(two, Access)
        )
    completes = any(isinstance(each, Arrival) and each.completes for each in done)
    return completes or _would_complete(later, first.before)


def _would_complete(effects: list[Effect], missing: Missing) -> bool:
    """Whether these complete a phase that misses so much."""
    arrivals, size = missing
    for each in effects:
        if isinstance(each, Arrival):
            arrivals, size = arrivals - each.arrivals, size + each.size
            if arrivals <= 0 and not size:
                return True
    return False
