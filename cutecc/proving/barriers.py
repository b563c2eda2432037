"""Barriers of a run: who has arrived, and what whoever passes knows."""

from __future__ import annotations

from dataclasses import dataclass, field

from cutecc.proving.kernel import Operation

Clock = list[int]
"""What is known to have happened: of each component, how much."""


def join(into: Clock, other: Clock) -> None:
    """Know what the other one knows, too."""
    if len(into) < len(other):
        into.extend([0] * (len(other) - len(into)))
    for index, value in enumerate(other):
        if into[index] < value:
            into[index] = value


@dataclass(slots=True)
class Waiter:
    """A wait that has passed, in a phase that is not complete yet; or an arrival."""

    warp: int
    value: int
    """Of the warp's own component."""
    operation: Operation


@dataclass(slots=True)
class Mbarrier:
    """An mbarrier in shared memory."""

    expected: int
    """Arrivals of a phase."""
    component: int
    """Of clocks: how many phases are known to be complete."""
    initialised: tuple[int, int]
    """By which warp, and its component's value then."""
    operation: Operation
    """Its initialisation."""
    missing: int = 0
    bytes: int = 0
    """That are announced and not there."""
    complete: int = 0
    """Phases."""
    arrived: Clock = field(default_factory=list[int])
    """What those know who have arrived in this phase."""
    passed: Clock = field(default_factory=list[int])
    """What whoever sees the last complete phase knows."""
    waiters: list[Waiter] = field(default_factory=list[Waiter])
    remote: dict[int, Waiter] = field(default_factory=dict[int, Waiter])
    """The last arrivals of other blocks' warps, as far as nobody in its own is known to know of them."""

    def copy(self) -> Mbarrier:
        return Mbarrier(
            self.expected, self.component, self.initialised, self.operation, self.missing, self.bytes, self.complete,
            [*self.arrived], self.passed, [*self.waiters], {**self.remote},
        )  # fmt: skip


@dataclass(slots=True)
class NamedBarrier:
    """A barrier by its number, of a block or of the cluster."""

    component: int
    expected: int
    """Threads; of the cluster's, warps."""
    arrived: int = 0
    complete: int = 0
    clock: Clock = field(default_factory=list[int])
    waiting: set[int] = field(default_factory=set[int])
    """Warps that wait for this phase."""
    released: dict[int, Clock] = field(default_factory=dict[int, Clock])
    """Of warps that waited and have not gone on yet, what they know by then: phases behind theirs may be complete."""

    def copy(self) -> NamedBarrier:
        return NamedBarrier(
            self.component,
            self.expected,
            self.arrived,
            self.complete,
            [*self.clock],
            {*self.waiting},
            {**self.released},
        )

    def has(self, warp: int) -> bool:
        """Whether a warp has arrived and has not gone on."""
        return warp in self.waiting or warp in self.released
