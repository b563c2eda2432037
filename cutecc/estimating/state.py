"""What the simulated multiprocessor consists of, and what it tells."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from cutecc.estimating.scheduling import Item

MERGED = 8
"""Instructions of a warp within which its stores to one sector are one."""


@dataclass(frozen=True)
class Rates:
    """What a multiprocessor gets of what it shares, and how late things are. Bytes in a cycle, and cycles."""

    read: float
    """From the L2 cache by loads."""
    bulk: float
    """From the L2 cache by bulk copies."""
    write: float
    """To the L2 cache."""
    partial: float
    """What a store takes that writes parts of sectors, in times of one that writes whole ones."""
    dram: float
    """Of DRAM, both ways."""
    crowding: float
    """How much later DRAM answers while it is busy: of its latency, at half of its rate."""
    from_dram: float
    """The part of what is read past the L1 cache that comes from DRAM, 0 to 1."""
    l1_bytes: int
    l2_bytes: int
    """Of the L2 cache, as much as there is for one multiprocessor."""
    l1: float
    l2: float
    latency_dram: float
    bulk_l2: float
    bulk_dram: float
    bulk_issue: float
    store_read: float
    barrier: float
    test: float
    wake: float
    drain: float
    """From the last product of a group to who waits for it."""
    apart: float
    """Between two blocks that begin."""
    start: float
    """From the end of a block to the first instruction of the next."""


@dataclass(eq=False)
class Mbarrier:
    count: int
    pending: int
    bytes: int = 0
    phase: int = 0
    waiting: list[tuple[int, Warp]] = field(default_factory=list["tuple[int, Warp]"])


@dataclass(eq=False)
class Block:
    live: int
    number: int
    barriers: dict[int, list[Warp]] = field(default_factory=dict[int, "list[Warp]"])
    arrived: Counter[int] = field(default_factory=Counter[int])
    expected: dict[int, int] = field(default_factory=dict[int, int])
    mbarriers: dict[int, Mbarrier] = field(default_factory=dict[int, Mbarrier])
    cluster_arrived: int = 0
    cluster_phase: int = 0
    cluster_waiting: list[Warp] = field(default_factory=list["Warp"])


@dataclass(eq=False)
class Warp:
    block: Block
    steps: Sequence[Item]
    scheduler: int
    place: int = 0
    time: float = 0.0
    ready: dict[int, float] = field(default_factory=dict[int, float])
    """When what an instruction computes is there, by its number."""
    number: int = 0
    """Of the instruction at hand."""
    copies: float = 0.0
    """When what was copied since the last commit is there."""
    groups: deque[float] = field(default_factory=deque[float])
    products: float = 0.0
    product_groups: deque[float] = field(default_factory=deque[float])
    bulk: float = 0.0
    bulk_groups: deque[float] = field(default_factory=deque[float])
    cluster_phase: int = 0
    stored_at: int = -MERGED
    """The place of its last store, and what that wrote."""
    stored: Sequence[int] = ()


@dataclass
class Outcome:
    """What came of it."""

    cycles: float
    """From the first block's start to the last one's end."""
    busy: dict[str, float]
    """Cycles of each resource, of the four schedulers the mean."""
    steps: int
    """Instructions simulated."""
    total_steps: int
    """All that there are; `cycles` are extrapolated where these are more."""
    waits: dict[str, float]
    """Cycles that warps waited for something, by what."""
    period: float
    """Cycles between two turns of the pipelined loop, 0 where there is none."""
    period_line: int | None
