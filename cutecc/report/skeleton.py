"""The skeleton of a kernel, as plain data: who synchronises with whom in one period of its pipeline."""

from __future__ import annotations

from typing import Literal

import msgspec

EventKind = Literal[
    "wait", "arrive", "copy", "product", "read", "write", "barrier", "commit", "group wait", "initialise"
]


class Event(msgspec.Struct, omit_defaults=True):
    """What all warps of a lane do, one after the other what comes several times in a row."""

    kind: EventKind
    text: str
    """In words: `wait for full[0]`."""
    barrier: str = ""
    """The mbarrier, by a short name, or the named barrier; of a copy, where it arrives."""
    phase: int = 0
    """Of the mbarrier, from 1 on: the one that a wait passes at, or that an arrival or copy counts for; 0 for none."""
    slot: int | None = None
    """Of an mbarrier that is one of several: which one."""
    times: int = 1
    warps: list[int] = []
    """Those that do it, where not all of the lane do."""
    file: str = ""
    line: int = 0
    """Of the user's Python, from 1; 0 where it is not known."""


class Lane(msgspec.Struct):
    """Warps of a block that have the same events."""

    role: Literal["producer", "consumer", "epilogue", "warp"]
    title: str
    """`warps 4-7 consumers`, of a cluster with its block."""
    block: int
    warps: list[int]
    events: list[Event]


class Edge(msgspec.Struct, omit_defaults=True):
    """What has to come for an event to go on; events by lane and place in it."""

    to: tuple[int, int]
    start: tuple[int, int] | None = None
    """`None` for what has come before the period."""
    lane: int | None = None
    """Of what has come before the period: whose it was, where that is a lane."""


class Skeleton(msgspec.Struct):
    """A part of the run that stands for all."""

    title: str
    """Which part: `2 steps, which repeat from step 5 on`."""
    is_period: bool
    """Whether it is what comes again and again."""
    lanes: list[Lane]
    edges: list[Edge]
    others: list[str]
    """Warps without an event in it."""

    def check(self) -> None:
        """Raise `ValueError` where an edge leads to no event."""
        sizes = [len(each.events) for each in self.lanes]
        for edge in self.edges:
            for lane, place in (edge.to, edge.start or edge.to, (edge.lane or 0, 0)):
                if not (0 <= lane < len(sizes) and 0 <= place < sizes[lane]):
                    raise ValueError(f"an edge leads to event {place} of lane {lane}, which is not there")
