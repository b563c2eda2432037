"""Who goes next. Every order that a schedule gives is one that hardware may take."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol, get_args

if TYPE_CHECKING:
    from cutecc.emulator.machine.fragment import Fragment
    from cutecc.emulator.machine.gang import Gang

ScheduleName = Literal["round-robin", "random", "adversarial"]
SCHEDULES: tuple[ScheduleName, ...] = get_args(ScheduleName)


class Schedule(Protocol):
    """An order of execution."""

    name: ScheduleName
    in_step: bool
    """Whether all warps of a block go in step: one gang. Else each warp is a gang of its own."""
    eager: bool
    """Whether asynchronous operations happen as soon as they are started."""

    def order(self, gangs: Sequence[Gang]) -> Sequence[Gang]:
        """In which order to look for a gang that can go on."""
        ...

    def operations(self) -> int:
        """How many operations the next gang may execute at most before it is another's turn."""
        ...

    def lets_happen(self, pending: int) -> int | None:
        """Which of so many asynchronous operations happens now, by its number; `None` for none."""
        ...

    def stopped(self, fragment: Fragment) -> None:
        """Threads have come to a synchronisation that they have to wait at, or have gone round loops for long."""
        ...


_UNLIMITED = 1 << 62


class RoundRobin:
    """Every gang in turn, until it has to wait or goes back in a loop; asynchronous operations happen at once."""

    name: ScheduleName = "round-robin"
    in_step = True
    eager = True

    def __init__(self) -> None:
        self._turn = 0

    def order(self, gangs: Sequence[Gang]) -> Sequence[Gang]:
        if len(gangs) == 1:
            return gangs
        self._turn = (self._turn + 1) % len(gangs)
        return [*gangs[self._turn :], *gangs[: self._turn]]

    def operations(self) -> int:
        return _UNLIMITED

    def lets_happen(self, pending: int) -> int | None:
        return 0

    def stopped(self, fragment: Fragment) -> None:
        pass


class Random:
    """Any warp, for a few operations; asynchronous operations happen at any time."""

    name: ScheduleName = "random"
    in_step = False
    eager = False

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def order(self, gangs: Sequence[Gang]) -> Sequence[Gang]:
        return self._random.sample(gangs, len(gangs))

    def operations(self) -> int:
        return self._random.choice((1, 4, 16, 64, 256))

    def lets_happen(self, pending: int) -> int | None:
        return self._random.randrange(pending) if self._random.random() < 0.25 else None

    def stopped(self, fragment: Fragment) -> None:
        pass


class Adversarial:
    """Warps by priority, which one may lose for long where it synchronises; asynchronous operations at the last moment.

    After probabilistic concurrency testing (Burckhardt et al., ASPLOS 2010): a bug that takes d orderings of the
    threads' synchronisations to show is found by a random priority with d changes.
    """

    name: ScheduleName = "adversarial"
    in_step = False
    eager = False

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._priorities: dict[Gang, float] = {}
        self._lowest = 0.0

    def order(self, gangs: Sequence[Gang]) -> Sequence[Gang]:
        if any(gang not in self._priorities for gang in gangs):
            # A new wave: nothing is kept of the one before.
            self._priorities = {gang: self._random.random() for gang in gangs}
        return sorted(gangs, key=lambda gang: -self._priorities[gang])

    def operations(self) -> int:
        return _UNLIMITED

    def lets_happen(self, pending: int) -> int | None:
        return None

    def stopped(self, fragment: Fragment) -> None:
        if self._random.random() < 0.2:
            self._lowest -= 1
            self._priorities[fragment.gang] = self._lowest


def make_schedule(name: ScheduleName, seed: int) -> Schedule:
    """The schedule of this name."""
    match name:
        case "round-robin":
            return RoundRobin()
        case "random":
            return Random(seed)
        case "adversarial":
            return Adversarial(seed)
