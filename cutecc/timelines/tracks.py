"""A timeline as traces have it: processes, threads, and on each nothing that overlaps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cutecc.timelines.causes import causes_of
from cutecc.timelines.sites import Site
from cutecc.timelines.timeline import BlockTimeline, Lane, Timeline

MOST_FLOWS = 200_000
"""Spans of a timeline whose waits are connected with what ended them; of more that would take minutes."""
_THREADS = 1024
"""Numbers that a block has for its threads."""


@dataclass(frozen=True, eq=False)
class Track:
    """Spans of a warp that do not overlap, in the order of time."""

    process: int
    """The number of its block, from 1."""
    thread: int
    """Its own number, unique in the trace."""
    name: str
    """`warp 0 producer`; of marks, which may enclose other spans, `warp 0 marks`."""
    lane: int
    """Index in `BlockTimeline.lanes`."""
    spans: NDArray[np.intp]
    """By their index in the lane."""


def block_name(block: BlockTimeline, kernels: int) -> str:
    """`block 12 on SM 40, launch 0`, with the kernel where a trace has several."""
    where = f" on SM {block.processor}" if block.processor >= 0 else ""
    of = f"{block.kernel}: " if kernels > 1 else ""
    return f"{of}block {block.block}{where}, launch {block.launch}"


def tracks_of(block: BlockTimeline, number: int, sites: Sequence[Site]) -> Iterator[Track]:
    """The tracks of the block that is the `number`-th of the trace, from 1."""
    thread = number * _THREADS
    for index, lane in enumerate(block.lanes):
        plain = lane.plain(sites)
        role = "" if lane.role == "warp" else f" {lane.role}"
        name = f"warp {lane.warp}"
        yield Track(number, thread, f"{name}{role}", index, np.flatnonzero(plain))
        thread += 1
        for level in _levels(lane, np.flatnonzero(~plain)):
            yield Track(number, thread, f"{name} marks", index, np.array(level, np.intp))
            thread += 1


def _levels(lane: Lane, spans: NDArray[np.intp]) -> list[list[int]]:
    """Spans that may overlap, in levels in which none do; what is within another is below it."""
    order: list[int] = spans[np.lexsort((-lane.ends[spans], lane.starts[spans]))].tolist()
    levels: list[list[int]] = []
    for span in order:
        for level in levels:
            if lane.ends[level[-1]] <= lane.starts[span]:
                level.append(span)
                break
        else:
            levels.append([span])
    return levels


@dataclass(frozen=True)
class Flows:
    """What ended which waits of a block."""

    begun: dict[tuple[int, int], list[int]]
    """By lane and span the numbers of the flows that begin there."""
    ended: dict[tuple[int, int], int]
    """By lane and span the number of the flow that ends there."""

    def at(self, lane: int, span: int) -> tuple[Sequence[int], Sequence[int]]:
        """The flows that begin at a span, and those that end there."""
        ended = self.ended.get((lane, span))
        return self.begun.get((lane, span), ()), () if ended is None else (ended,)


def flows_of(block: BlockTimeline, timeline: Timeline, first: int) -> Flows:
    """The flows of a block, numbered from `first` on."""
    found = Flows({}, {})
    for lane, causes in enumerate(causes_of(block, timeline.sites, timeline.unit)):
        waits: list[int] = np.flatnonzero(causes.lanes >= 0).tolist()
        for span in waits:
            number = first + len(found.ended)
            found.begun.setdefault((int(causes.lanes[span]), int(causes.spans[span])), []).append(number)
            found.ended[lane, span] = number
    return found


def has_flows(timeline: Timeline) -> bool:
    """Whether it is small enough for them."""
    return sum(len(lane.sites) for block in timeline.blocks for lane in block.lanes) <= MOST_FLOWS


def about(timeline: Timeline) -> dict[str, str]:
    """What is to know of a trace, by name."""
    counted = "a nanosecond stands for one instruction of a warp: this is no time"
    found = {
        "unit": "nanoseconds" if timeline.unit == "ns" else f"instructions; {counted}",
        "device": timeline.device,
        "records without room": str(timeline.lost),
    }
    if timeline.slowdown is not None:
        found["microseconds of the kernel while recorded"] = f"{timeline.slowdown.recorded:.3f}"
        if timeline.slowdown.plain is not None:
            found["microseconds without recording"] = f"{timeline.slowdown.plain:.3f}"
    if not has_flows(timeline):
        found["flows"] = f"left out: there are more than {MOST_FLOWS:,} spans"
    for number, note in enumerate(timeline.notes, 1):
        found[f"note {number}"] = note
    return found
