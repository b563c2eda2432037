"""A timeline as the report's page draws it: a few blocks, the period, the critical path."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from cutecc.timelines.causes import Causes, causes_of
from cutecc.timelines.critical import Share, Step, clipped, critical_path, shares_of
from cutecc.timelines.roles import LaneGroup, lane_groups
from cutecc.timelines.steady import FoldedLane, Steady, steady_state
from cutecc.timelines.timeline import BlockTimeline, Lane, Timeline

_MOST_SPANS = 2000
"""Of a group of warps in one block."""
_LARGEST_SHARES = 40


def timeline_dict(timeline: Timeline) -> dict[str, Any]:
    """What the page shows of a timeline, as JSON has it.

    At most four blocks: one that took as long as half of all, the slowest, the first and the last one. Of long ones
    the beginning and the end are kept. Lanes of the period and of paths are counted as they are listed.
    """
    steady, why_none = steady_state(timeline)
    return {
        "unit": timeline.unit,
        "device": timeline.device,
        "slowdown": asdict(timeline.slowdown) if timeline.slowdown else None,
        "notes": timeline.notes,
        "deadlock": timeline.deadlock,
        "lost": timeline.lost,
        "recorded_blocks": len(timeline.blocks),
        "sites": [{"barrier": None, "file": "", "line": 0, **msgspec.to_builtins(site)} for site in timeline.sites],
        "lines": _lines(timeline),
        "blocks": [_block(block, why, timeline) for block, why in _shown(timeline.blocks)],
        "steady": _steady(steady) if steady else None,
        "why_no_steady": why_none,
    }


def _shown(blocks: Sequence[BlockTimeline]) -> Iterable[tuple[BlockTimeline, list[str]]]:
    """The blocks to show, each with why."""
    if not blocks:
        return
    by_duration = sorted(range(len(blocks)), key=lambda number: blocks[number].duration)
    chosen: dict[int, list[str]] = defaultdict(list)
    for number, why in (
        (by_duration[len(blocks) // 2], "median"),
        (by_duration[-1], "slowest"),
        (0, "first"),
        (len(blocks) - 1, "last"),
    ):
        chosen[number].append(why)
    for number, reasons in chosen.items():
        yield blocks[number], reasons


def _block(block: BlockTimeline, why: list[str], timeline: Timeline) -> dict[str, Any]:
    sites = timeline.sites
    causes = causes_of(block, sites, timeline.unit)
    path = critical_path(block, sites, timeline.unit, causes)
    groups = lane_groups(block, sites)
    start, end = block.start, block.end
    kept = _kept(block.lanes, groups, (start, end))
    # What is drawn of a group that is not opened is its first warp.
    told = [window for group in groups for window in kept[group.warps[0]]]
    first, last = min(end for _, end in told), max(start for start, _ in told)
    windows = [(start, end)] if first > last else [(start, first), (last, end)]
    return {
        "kernel": block.kernel,
        "launch": block.launch,
        "block": block.block,
        "processor": block.processor,
        "why": why,
        "start": _number(start),
        "end": _number(end),
        "groups": [{"role": group.role, "warps": group.warps, "title": group.title} for group in groups],
        "lanes": [_lane(lane, causes[number], block, kept[lane.warp]) for number, lane in enumerate(block.lanes)],
        "path": _path(step for window in windows for step in clipped(path, *window)),
        "shares": _shares(shares_of(path, sites)),
    }


_Window = tuple[float, float]


def _kept(lanes: Sequence[Lane], groups: Sequence[LaneGroup], whole: _Window) -> dict[int, list[_Window]]:
    """By warp the times of which spans are kept: all, or the two ends. Half of a group's are its first warp's."""
    found: dict[int, list[_Window]] = {}
    by_warp = {lane.warp: lane for lane in lanes}
    for group in groups:
        others = max(1, len(group.warps) - 1)
        for number, warp in enumerate(group.warps):
            most = _MOST_SPANS // 2 if number == 0 else _MOST_SPANS // 2 // others
            found[warp] = _windows(by_warp[warp], most, whole)
    return found


def _windows(lane: Lane, most: int, whole: _Window) -> list[_Window]:
    if len(lane.starts) <= most:
        return [whole]
    half = max(1, most // 2)
    return [(whole[0], float(np.sort(lane.starts)[half])), (float(np.sort(lane.ends)[-half]), whole[1])]


def _lane(lane: Lane, causes: Causes, block: BlockTimeline, kept: Sequence[_Window]) -> dict[str, Any]:
    there = np.zeros(len(lane.sites), np.bool_)
    for first, last in kept:
        there |= (lane.ends >= first) & (lane.starts <= last)
    index = np.flatnonzero(there)
    ended_by = [_began(block.lanes, int(causes.lanes[each]), int(causes.spans[each])) for each in index.tolist()]
    return {
        "warp": lane.warp,
        "role": lane.role,
        "start": _number(lane.start),
        "end": _number(lane.end),
        "kept": [[_number(each) for each in window] for window in kept],
        "spans": _spans(lane.sites[index], lane.starts[index], lane.ends[index] - lane.starts[index]),
        "ended": causes.ended[index].tolist(),
        "ended_by": ended_by,
    }


def _began(lanes: Sequence[Lane], lane: int, span: int) -> list[int] | None:
    """The warp and the site that ended a wait."""
    return None if lane < 0 else [lanes[lane].warp, int(lanes[lane].sites[span])]


def _steady(steady: Steady) -> dict[str, Any]:
    return {
        "period": _number(steady.period),
        "periods": steady.periods,
        "blocks": steady.blocks,
        "left_out": steady.left_out,
        "lanes": [_folded(lane, steady.lanes) for lane in steady.lanes],
        "path": _path(steady.path),
        "shares": _shares(steady.shares),
    }


def _folded(lane: FoldedLane, lanes: Sequence[FoldedLane]) -> dict[str, Any]:
    causes = lane.causes
    others: list[int] = causes.lanes.tolist()
    spans: list[int] = causes.spans.tolist()
    ended_by = [
        None if other < 0 else [other, int(lanes[other].sites[span])] for other, span in zip(others, spans, strict=True)
    ]
    return {
        "role": lane.group.role,
        "warps": lane.group.warps,
        "title": lane.group.title,
        "turns": lane.turns,
        "spans": _spans(lane.sites, lane.offsets, lane.lengths),
        "ended": causes.ended.tolist(),
        "ended_by": ended_by,
    }


def _spans(sites: NDArray[np.int32], starts: NDArray[np.float64], lengths: NDArray[np.float64]) -> dict[str, list[Any]]:
    return {
        "sites": sites.tolist(),
        "starts": np.round(starts, 1).tolist(),
        "lengths": np.round(lengths, 1).tolist(),
    }


def _path(path: Iterable[Step]) -> list[list[Any]]:
    """Of each part its lane, start, end, cause and site."""
    return [[each.lane, _number(each.start), _number(each.end), each.cause, each.site] for each in path]


def _shares(shares: Sequence[Share]) -> list[dict[str, Any]]:
    return [
        {**asdict(share), "time": _number(share.time), "share": round(share.share, 5)}
        for share in shares[:_LARGEST_SHARES]
    ]


def _lines(timeline: Timeline) -> list[dict[str, Any]]:
    """By line, which part of their time all recorded warps were at its sites. Marks, which enclose others, are none."""
    sites = timeline.sites
    times = np.zeros(len(sites))
    total = 0.0
    for block in timeline.blocks:
        for lane in block.lanes:
            plain = lane.plain(sites)
            times += np.bincount(lane.sites[plain], (lane.ends - lane.starts)[plain], len(sites))
            total += lane.end - lane.start
    found: dict[tuple[str, int], float] = defaultdict(float)
    for site, time in zip(sites, times.tolist(), strict=True):
        if site.line:
            found[site.file, site.line] += time
    shares = [
        {"file": file, "line": line, "share": round(time / total, 5)} for (file, line), time in found.items() if total
    ]
    return sorted(shares, key=lambda each: (-each["share"], each["file"], each["line"]))


def _number(value: float) -> float:
    """A tenth of the unit is as much as is known."""
    return round(float(value), 1)
