"""What `tools/bench_operations.py` has timed, as its file has it."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field

from operations_contests import AnyContest

PEER = "torch"
"""What the names of all peers begin with."""


@dataclass(frozen=True)
class Timed:
    """A contestant of one shape."""

    name: str
    """Torch's way, or the operation's file without its ending."""
    fused: bool
    """With bias and gelu."""
    words: str
    """Its tile, for tables."""
    microseconds: tuple[float, ...]
    """Of one call, a sample for each round."""
    error: float
    """The largest difference to torch's result, relative to its largest element."""


@dataclass(frozen=True)
class Found:
    """What came of a contest; the default choice comes first of each kind."""

    contest: AnyContest
    timed: tuple[Timed, ...]
    problems: tuple[str, ...] = ()
    """What did not run, or gave wrong results; not among the timed."""


@dataclass(frozen=True)
class Results:
    """A run, as its file has it."""

    date: str
    device: str
    driver: str
    versions: dict[str, str]
    found: list[Found] = field(default_factory=list[Found])
    failures: list[str] = field(default_factory=list[str])
    """Contests that could not be timed at all, and why."""


def is_peer(timed: Timed) -> bool:
    """Whether it is torch's."""
    return timed.name.startswith(PEER)


def median(timed: Timed) -> float:
    """Microseconds."""
    return statistics.median(timed.microseconds)


def peer(found: Found, name: str | None = None) -> Timed:
    """Torch, by the way of this name, or the fastest of its ways."""
    ways = (each for each in found.timed if is_peer(each) and name in (None, each.name))
    return min(ways, key=median)


def default(found: Found, *, fused: bool = False) -> Timed | None:
    """The choice that is made without measuring."""
    names = found.contest.fused if fused else found.contest.candidates
    return next((each for each in found.timed if each.fused == fused and each.name == names[0]), None)


def fastest(found: Found, *, fused: bool = False) -> Timed | None:
    """What measuring chooses."""
    return min((each for each in found.timed if not is_peer(each) and each.fused == fused), key=median, default=None)


def speed(found: Found, timed: Timed | None, name: str | None = None) -> float:
    """Relative to torch's, or to the one of its ways that has this name; NaN for what did not run."""
    return math.nan if timed is None else median(peer(found, name)) / median(timed)
