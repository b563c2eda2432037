"""A timeline on a terminal: what recording cost, and what a period of the pipeline, or a block, hangs on."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cutecc.report.paths import short_names
from cutecc.support.harmless import one_line
from cutecc.timelines.critical import critical_path, shares_of
from cutecc.timelines.steady import steady_state

if TYPE_CHECKING:
    from cutecc.cli.console import Console
    from cutecc.timelines.critical import PathCause, Share
    from cutecc.timelines.timeline import BlockTimeline, Slowdown, Timeline

_CAUSES: dict[PathCause, str] = {
    "instructions": "instructions behind this line",
    "memory": "a copy in flight, begun here",
    "tensor cores": "products on the tensor cores, begun here",
    "signal": "a signal of another warp on its way here",
    "elsewhere": "waits for another block, or for what is not recorded",
    "never": "waits for ever",
}
_SHARES = 6
"""That are told of a path."""
_LEAST = 0.01


def show(timeline: Timeline, file: Path, console: Console) -> None:
    """Print what was recorded, and what its time hangs on."""
    lanes = sum(len(block.lanes) for block in timeline.blocks)
    spans = sum(len(lane.sites) for block in timeline.blocks for lane in block.lanes)
    blocks = len(timeline.blocks)
    console.say("")
    console.say(
        f"timeline of {blocks:,} block{'' if blocks == 1 else 's'}, {lanes:,} warps, {spans:,} spans: {file}",
        style="bold",
    )
    for line in (*_cost(timeline.slowdown), *_notes(timeline)):
        console.say(line)
    if not timeline.blocks:
        return
    steady, why = steady_state(timeline)
    unit = "ns" if timeline.unit == "ns" else "instructions"
    if steady is not None:
        path = shares_of(steady.path, timeline.sites)
        of = f"{steady.blocks} block{'' if steady.blocks == 1 else 's'}"
        for left in steady.left_out:
            console.say(f"note: {left}")
        console.say(f"a period of {steady.period:,.0f} {unit}, the median of {steady.periods:,} in {of}, hangs on")
    else:
        block = _median_block(timeline.blocks)
        path = shares_of(critical_path(block, timeline.sites, timeline.unit), timeline.sites)
        console.say(f"no period: {why}")
        console.say(f"block {block.block:,}, of {block.duration:,.0f} {unit}, hangs on")
    for line in _shares(path):
        console.say(line)


def _cost(slowdown: Slowdown | None) -> Iterator[str]:
    if slowdown is None:
        return
    base = slowdown.idle if slowdown.plain is None else slowdown.plain
    parts = [f"recording takes {slowdown.recorded / base - 1:+.1%} ({base:,.1f} → {slowdown.recorded:,.1f} µs)"]
    if slowdown.plain is not None:
        parts.append(f"its code alone {slowdown.idle / slowdown.plain - 1:+.1%}")
    yield f"{', '.join(parts)}: it is another kernel than the one that is sampled"


def _notes(timeline: Timeline) -> Iterator[str]:
    yield from (f"note: {note}" for note in (*timeline.notes, *timeline.deadlock))
    if timeline.lost:
        yield f"note: there was no room for {timeline.lost:,} records: choose fewer --blocks"


def _shares(path: Sequence[Share]) -> Iterator[str]:
    names = short_names({each.file for each in path if each.file})
    for each in path[:_SHARES]:
        if each.share >= _LEAST:
            place = one_line(f"{names[each.file]}:{each.line}") if each.file else "of no line"
            yield f"{each.share:>7.1%}  {place}  {_CAUSES[each.cause]}"


def _median_block(blocks: Sequence[BlockTimeline]) -> BlockTimeline:
    median = statistics.median_low([block.duration for block in blocks])
    return next(block for block in blocks if block.duration == median)
