"""Barriers as a run sees them: how many have arrived, how many bytes are still to come, which phases are complete."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cutecc.memory_rules.warps import Array
from cutecc.passes.analysis.synchronisation.sites import Site


@dataclass
class Done:
    """What one site did at an mbarrier."""

    threads: int = 0
    amount: int = 0
    """Arrivals, or bytes."""
    times: int = 0
    """As often as a warp came there."""
    warps: set[int] = field(default_factory=set[int])

    def add(self, warp: int, threads: int, amount: int) -> None:
        self.threads += threads
        self.amount += amount
        self.times += 1
        self.warps.add(warp)


@dataclass
class Mbarrier:
    """One, from its initialisation on."""

    address: int
    site: Site
    """That initialises it."""
    count: int
    """Arrivals of a phase."""
    by: int
    """The warp that initialises it, and when."""
    at: int
    pending: int = 0
    missing: int = 0
    """Bytes that are announced and have not come; negative where more have come."""
    unknown: Site | None = None
    """A copy that brings bytes, nobody knows how many: whatever is announced comes then."""
    phases: int = 0
    """Those complete."""
    unseen: int = 0
    """Of these, the last ones that nobody has waited for yet."""
    passed: int = 0
    """Waits for a complete phase that have passed."""
    is_fenced: bool = False
    """Whether what initialised it has had a fence since."""
    arrived: dict[Site, Done] = field(default_factory=dict[Site, Done])
    """In the phase that is not complete."""
    announced: dict[Site, Done] = field(default_factory=dict[Site, Done])
    """In all phases."""
    brought: dict[Site, Done] = field(default_factory=dict[Site, Done])
    arriving: dict[Site, Done] = field(default_factory=dict[Site, Done])
    """In all phases."""
    given: Array | None = None
    """What those learn that wait for it."""

    def __post_init__(self) -> None:
        self.pending = self.count

    def arrive(self, site: Site, warp: int, threads: int, amount: int, given: Array) -> int:
        """Take arrivals of one warp; how many are too many for the phase they come to."""
        for done in (self.arrived, self.arriving):
            done.setdefault(site, Done()).add(warp, threads, amount)
        self._learn(given)
        excess = max(0, amount - self.pending) if self.count else 0
        while amount and self.count:
            taken = min(amount, self.pending)
            self.pending -= taken
            amount -= taken
            if not self.complete():
                break
        return excess

    def announce(self, site: Site, warp: int, threads: int, amount: int) -> None:
        self.missing += amount
        self.announced.setdefault(site, Done()).add(warp, threads, amount)

    def bring(self, site: Site, warp: int, threads: int, amount: int | None, given: Array) -> None:
        """Take bytes of a copy; `None` where it is not known how many."""
        self._learn(given)
        self.missing -= amount or 0
        if amount is None:
            self.unknown = site
            amount = 0
        self.brought.setdefault(site, Done()).add(warp, threads, amount)
        self.complete()

    def _learn(self, given: Array) -> None:
        self.given = given if self.given is None else np.maximum(self.given, given)

    def complete(self) -> bool:
        """Begin the next phase, if this one is complete."""
        if self.pending or (self.missing and self.unknown is None):
            return False
        self.missing = 0
        self.phases += 1
        self.unseen += 1
        self.pending = self.count
        self.arrived = {}
        return True

    def is_past(self, parity: int) -> bool:
        """Whether a wait for this parity passes."""
        return self.phases & 1 != parity & 1


@dataclass
class BlockBarrier:
    """A barrier of a block, until it is complete."""

    number: int
    expected: int
    """Threads."""
    site: Site
    come: dict[int, Site] = field(default_factory=dict[int, Site])
    """Where warps are that wait."""
    times: dict[int, int] = field(default_factory=dict[int, int])
    """When each warp has come."""
    arrived: int = 0
    """Threads, with those that do not wait."""
    given: Array | None = None

    def join(self, given: Array) -> None:
        self.given = given if self.given is None else np.maximum(self.given, given)
