"""Who goes next. Every order that a schedule gives is one that hardware may take."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from cutecc.emulator.grid import Dim3
    from cutecc.emulator.machine.fragment import Fragment
    from cutecc.emulator.machine.gang import Gang

ScheduleName = Literal["round-robin", "random", "adversarial"]
SCHEDULES: tuple[ScheduleName, ...] = get_args(ScheduleName)


_UNLIMITED = 1 << 62
_REQUESTS = 8
"""Of so many requests to cancel a cluster, one may fail though there is a cluster."""


class Schedule(ABC):
    """An order of execution."""

    in_step = False
    """Whether all warps of a block go in step: one gang. Else each warp is a gang of its own."""
    eager = False
    """Whether asynchronous operations happen as soon as they are started."""
    shares_processors = True
    """Whether blocks share a multiprocessor as soon as they fit. Else each has one of its own."""

    @abstractmethod
    def add(self, gang: Gang) -> None:
        """A gang may have turns. It is not among those already that may."""

    @abstractmethod
    def take(self) -> Gang | None:
        """Whose turn is next; it has no other until it is added again. `None` when there is no gang."""

    def operations(self) -> int:
        """How many operations the next gang may execute at most before it is another's turn."""
        return _UNLIMITED

    def lets_happen(self, pending: int) -> int | None:
        """Which of so many asynchronous operations happens now, by its number; `None` for none."""
        return None

    def choose(self, choices: int) -> int:
        """Of so many things that hardware may do, the number of the one that happens."""
        return 0

    def request(self, cancel: Callable[[], Dim3 | None]) -> Dim3 | None:
        """Answer a request to cancel a cluster that has not begun: `cancel` does so, where there is one."""
        return None if self.choose(_REQUESTS) == _REQUESTS - 1 else cancel()

    def stopped(self, fragment: Fragment) -> None:  # noqa: B027 - most schedules do not mind
        """Threads have come to a synchronisation that they have to wait at, or have gone round loops for long.

        Their gang has its turn, or none.
        """


class RoundRobin(Schedule):
    """Every gang in turn, until it has to wait or goes back in a loop; asynchronous operations happen at once."""

    in_step = True
    eager = True
    shares_processors = False

    def __init__(self) -> None:
        self._gangs: deque[Gang] = deque()

    def add(self, gang: Gang) -> None:
        self._gangs.append(gang)

    def take(self) -> Gang | None:
        return self._gangs.popleft() if self._gangs else None

    def lets_happen(self, pending: int) -> int | None:
        return 0


class Random(Schedule):
    """Any warp, for a few operations; asynchronous operations happen at any time."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._gangs: list[Gang] = []

    def add(self, gang: Gang) -> None:
        self._gangs.append(gang)

    def take(self) -> Gang | None:
        gangs = self._gangs
        if not gangs:
            return None
        number = self._random.randrange(len(gangs))
        gangs[number], gangs[-1] = gangs[-1], gangs[number]
        return gangs.pop()

    def operations(self) -> int:
        return self._random.choice((1, 4, 16, 64, 256))

    def lets_happen(self, pending: int) -> int | None:
        return self._random.randrange(pending) if self._random.random() < 0.25 else None

    def choose(self, choices: int) -> int:
        return self._random.randrange(choices)


class Adversarial(Schedule):
    """Warps by priority, which one may lose for long where it synchronises; asynchronous operations at the last moment.

    After probabilistic concurrency testing (Burckhardt et al., ASPLOS 2010): a bug that takes d orderings of the
    threads' synchronisations to show is found by a random priority with d changes.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._ranks: dict[Gang, float] = {}
        """Of all gangs; the lowest goes first."""
        self._last = 1.0
        self._heap: list[tuple[float, int, Gang]] = []
        """Those that may have turns: rank, number of the addition, gang."""
        self._additions = 0

    def add(self, gang: Gang) -> None:
        if gang not in self._ranks:
            self._ranks[gang] = self._random.random()
        self._additions += 1
        heappush(self._heap, (self._ranks[gang], self._additions, gang))

    def take(self) -> Gang | None:
        return heappop(self._heap)[-1] if self._heap else None

    def choose(self, choices: int) -> int:
        return self._random.randrange(choices)

    def stopped(self, fragment: Fragment) -> None:
        if self._random.random() < 0.2:
            self._last += 1
            self._ranks[fragment.gang] = self._last


def make_schedule(name: str, seed: int) -> Schedule:
    """The schedule of this name, one of `SCHEDULES`."""
    match name:
        case "round-robin":
            return RoundRobin()
        case "random":
            return Random(seed)
        case "adversarial":
            return Adversarial(seed)
        case _:
            raise ValueError(name)
