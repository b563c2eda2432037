"""Timelines whose numbers are known: pipelines in which every cost is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from cutecc.timelines.roles import with_roles
from cutecc.timelines.sites import Site
from cutecc.timelines.timeline import BlockTimeline, Lane, Role, Slowdown, Timeline

FILE = "kernel.py"
FULL, EMPTY = "mbarrier 0", "mbarrier 1"
SITES = [
    Site("wait", "mbarrier wait", EMPTY, FILE, 10),
    Site("copy", "TMA load", FULL, FILE, 11),
    Site("wait", "mbarrier wait", FULL, FILE, 20),
    Site("product", "products", "products", FILE, 21),
    Site("wait", "wait for products", "products", FILE, 22),
    Site("arrive", "mbarrier arrive", EMPTY, FILE, 23),
    Site("barrier", "barrier", "named barrier 1", FILE, 30),
    Site("copy", "TMA store", "bulk stores", FILE, 31),
    Site("wait", "wait for bulk stores", "bulk stores", FILE, 32),
    Site("mark", "main loop", None, FILE, 19),
]
WAIT_EMPTY, LOAD, WAIT_FULL, PRODUCT, WAIT_PRODUCT, ARRIVE, MEET, STORE, WAIT_STORE, MARK = range(len(SITES))


@dataclass
class Written:
    """What one warp has done so far."""

    warp: int
    role: Role = "warp"
    now: float = 0.0
    spans: list[tuple[int, float, float]] = field(default_factory=list[tuple[int, float, float]])

    def instant(self, site: int, cost: float) -> float:
        """Comes to a site after so many nanoseconds."""
        self.now += cost
        self.spans.append((site, self.now, self.now))
        return self.now

    def wait(self, site: int, until: float, cost: float = 10.0) -> None:
        """Waits until then, or only looks."""
        end = max(self.now + cost, until)
        self.spans.append((site, self.now, end))
        self.now = end

    def lane(self) -> Lane:
        sites, starts, ends = zip(*self.spans, strict=True) if self.spans else ((), (), ())
        numbers = np.array(sites, np.int32)
        return Lane(
            self.warp, self.role, 0.0, self.now, numbers, np.array(starts, np.float64), np.array(ends, np.float64)
        )


@dataclass(frozen=True)
class Costs:
    """In nanoseconds."""

    flight: float = 600.0
    """Of a copy."""
    product: float = 200.0
    copy: float = 20.0
    """Until the next instruction."""


def block_of(
    costs: Costs = Costs(), *, steps: int = 24, stages: int = 4, consumers: int = 2, number: int = 0, launch: int = 0
) -> BlockTimeline:
    """A producer in the last warp, and consumers that multiply each slice as it arrives and store in the end."""
    warps = [Written(each) for each in range(consumers + 1)]
    *multiplying, producer = warps
    freed: list[float] = []
    landed: list[float] = []
    for step in range(steps):
        producer.wait(WAIT_EMPTY, freed[step - stages] + 20 if step >= stages else 0.0)
        landed.append(producer.instant(LOAD, costs.copy) + costs.flight)
        # Consumers are as far as there are slices.
        for each in multiplying:
            each.wait(WAIT_FULL, landed[step])
            done = each.instant(PRODUCT, 30.0) + costs.product
            each.wait(WAIT_PRODUCT, done)
            each.instant(ARRIVE, 10.0)
        freed.append(max(each.now for each in multiplying))
    meet = max(each.now for each in multiplying) + 50
    for each in multiplying:
        each.now += 20
        each.wait(MEET, meet)
    stored = multiplying[0].instant(STORE, 40.0)
    multiplying[0].wait(WAIT_STORE, stored + costs.flight)
    producer.now += 30
    return BlockTimeline("kernel", launch, number, number % 132, [each.lane() for each in warps])


def timeline_of(blocks: Sequence[BlockTimeline], slowdown: Slowdown | None = None) -> Timeline:
    return with_roles(Timeline("ns", "NVIDIA H200", SITES, list(blocks), slowdown=slowdown))
