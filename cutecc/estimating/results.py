"""What an estimate says."""

from __future__ import annotations

import math
from typing import Any, Literal

import msgspec

Bound = Literal["tensor", "memory", "shared memory", "issue", "latency"]

RESOURCES: dict[str, Bound] = {
    "tensor cores": "tensor",
    "memory": "memory",
    "L2 cache": "memory",
    "shared memory": "shared memory",
    "issue": "issue",
    "integer pipe": "issue",
    "float pipe": "issue",
    "special functions": "issue",
    "f64 pipe": "issue",
}
"""Of a multiprocessor, or its part of what all share, and what a kernel is bound by that fills one."""
NEAR = 0.75
"""The part of the time that a resource is busy from which on a kernel is bound by it; else by latency."""


class LaunchEstimate(msgspec.Struct, frozen=True):
    """One launch."""

    kernel: str
    microseconds: float
    cycles: float
    """Of a multiprocessor."""
    megahertz: float
    """What power allows it."""
    shares: dict[str, float]
    """Of the time that each resource is busy, 0 to 1."""
    waits: dict[str, float]
    """Of all that warps wait, the part that is for each of these."""
    period: float | None
    """Cycles from one turn of the pipelined loop to the next; `None` where there is none."""
    period_line: int | None
    grid: tuple[int, int, int]
    block_threads: int
    blocks_per_sm: int
    limited_by: list[str]
    """What lets no more blocks in."""
    waves: float
    """Blocks over how many run at a time."""
    instructions: int
    """Of all warps of a multiprocessor."""
    simulated: int
    """How many of these; the rest goes on at their pace."""
    assumptions: list[str]
    """What is taken to be so where data may say otherwise: which branches are taken."""

    @property
    def resource(self) -> str:
        """The busiest."""
        return max(self.shares, key=lambda name: self.shares[name], default="issue")

    @property
    def bound(self) -> Bound:
        """What limits it."""
        return RESOURCES[self.resource] if self.shares.get(self.resource, 0.0) >= NEAR else "latency"

    @property
    def last_wave(self) -> float:
        """Which share of the last wave's places has a block: 1 where all have."""
        return 1 - (math.ceil(self.waves) - self.waves) if self.waves else 0.0

    def to_dict(self) -> dict[str, Any]:
        return {**msgspec.structs.asdict(self), "bound": self.bound, "resource": self.resource}


class Estimate(msgspec.Struct, frozen=True):
    """A call of a kernel on a device that need not be here."""

    device: str
    """`h200`."""
    title: str
    """As the driver calls it."""
    sizes: dict[str, int]
    microseconds: float
    """As `cutecc bench` would say, with memory that is not in the L2 cache."""
    launches: list[LaunchEstimate]

    @property
    def longest(self) -> LaunchEstimate:
        """The launch that takes most of the time."""
        return max(self.launches, key=lambda each: each.microseconds)

    @property
    def bound(self) -> Bound:
        """What limits that."""
        return self.longest.bound

    @property
    def period(self) -> float | None:
        """Cycles of its pipelined loop."""
        return self.longest.period

    @property
    def waves(self) -> float:
        """Its waves."""
        return self.longest.waves

    def to_dict(self) -> dict[str, Any]:
        return {
            "device": self.device,
            "title": self.title,
            "sizes": self.sizes,
            "microseconds": self.microseconds,
            "bound": self.bound,
            "launches": [each.to_dict() for each in self.launches],
        }
