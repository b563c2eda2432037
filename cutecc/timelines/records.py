"""From what warps wrote to spans with one time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cutecc.errors import ProfilingError
from cutecc.timelines.clocks import Clock, clocks_of
from cutecc.timelines.layout import MOMENTS
from cutecc.timelines.recording import Records
from cutecc.timelines.roles import with_roles
from cutecc.timelines.sites import Site
from cutecc.timelines.timeline import BlockTimeline, Lane, Slowdown, Timeline

_LONGEST = 1_000_000_000
"""Nanoseconds from the first start of a call to its last end: at 2 GHz `%clock` is over after two seconds."""
_INSTANT, _BEGIN, _END, _POP = range(len(MOMENTS))


def timeline_of(records: Sequence[Records], device: str, *, slowdown: Slowdown | None = None) -> Timeline:
    """The timeline of what several launches wrote, those of one kernel with the same sites.

    Time begins anew with each call, so that they can be compared. Raises `ProfilingError` for one of over a second.
    """
    starts: dict[int, int] = {}
    """Of each call, in nanoseconds."""
    for each in records:
        wrote = each.headers[each.headers["end"] > 0]
        if len(wrote):
            first, last = int(wrote["start"].min()), int(wrote["end"].max())
            starts[each.launch] = min(first, starts.get(each.launch, first))
            if last - first > _LONGEST:
                raise ProfilingError(
                    f"a launch took {(last - first) / 1e9:.1f} s, and clocks of 32 bits tell no more than one apart",
                    hints=["record a smaller problem, or fewer --blocks"],
                )
    sites: list[Site] = []
    offsets: dict[str, int] = {}
    blocks: list[BlockTimeline] = []
    for each in records:
        if each.sites.kernel not in offsets:
            offsets[each.sites.kernel] = len(sites)
            sites += each.sites.sites
        if each.launch in starts:
            blocks += _blocks(each, starts[each.launch], offsets[each.sites.kernel], sites)
    again = {each.sites.kernel for each in records if each.repeated}
    notes = [f"{name} is launched more than once by a call: the first launch alone is recorded" for name in again]
    if left := sum(int(((each.headers["start"] > 0) & (each.headers["end"] == 0)).sum()) for each in records):
        notes.append(f"{left:,} warps ended without a word, as by an exit instruction: they are left out")
    return with_roles(Timeline("ns", device, sites, blocks, sum(each.lost for each in records), slowdown, notes))


def _blocks(records: Records, start: int, offset: int, sites: Sequence[Site]) -> list[BlockTimeline]:
    """The blocks of one launch, whose call began at `start`."""
    headers = records.headers
    wrote = headers["end"] > 0
    written, zero = headers[wrote], np.uint64(start)
    clocks = clocks_of(
        np.tile(written["processor"], 2),
        np.concatenate([written["start_clock"], written["end_clock"]]),
        np.concatenate([written["start"] - zero, written["end"] - zero]),
    )
    # By their numbers in codes, from 1.
    own = [Site("wait", ""), *sites[offset:]]
    names, is_mark = [each.name for each in own], np.array([each.kind == "mark" for each in own])
    found: list[BlockTimeline] = []
    for number, block in enumerate(records.blocks):
        lanes = [
            _lane(warp, headers[number, warp], records.records[number, warp], clocks, names, is_mark, offset)
            for warp in np.flatnonzero(wrote[number]).tolist()
        ]
        if lanes:
            processor = int(headers[number, lanes[0].warp]["processor"])
            found.append(BlockTimeline(records.sites.kernel, records.launch, block, processor, lanes))
    return found


def _lane(
    warp: int,
    header: np.void,
    records: NDArray[np.void],
    clocks: dict[int, Clock],
    names: Sequence[str],
    is_mark: NDArray[np.bool_],
    offset: int,
) -> Lane:
    """The spans of a warp; of each site of its kernel, by its number in codes, the name and whether it is a mark."""
    clock = clocks[int(header["processor"])]
    # What did not fit is zero, and so is the second of a pair that has none.
    records = records[records["code"] > 0]
    codes = records["code"]
    start, end = clock.times(np.array([header["start_clock"], header["end_clock"]], np.uint32)).tolist()
    times = clock.times(records["clock"])
    sites, moments = codes >> 2, codes & 3
    marks = is_mark[sites]
    before = np.concatenate([[start], times[:-1]])
    """When the record before was written: a wait begins there, at its own or at the end of the one before it."""
    simple = ~marks & (moments != _BEGIN)
    starts = np.where(moments == _END, before, times)[simple]
    spans = [(sites[simple], starts, times[simple]), _marks(sites[marks], moments[marks], times[marks], end, names)]
    joined = [np.concatenate(parts) for parts in zip(*spans, strict=True)]
    order = np.argsort(joined[2], kind="stable")
    return Lane(
        warp,
        "warp",
        start,
        end,
        (joined[0][order] - 1 + offset).astype(np.int32),
        joined[1][order],
        joined[2][order],
    )


def _marks(
    sites: NDArray[np.integer[Any]],
    moments: NDArray[np.integer[Any]],
    times: NDArray[np.float64],
    end: float,
    names: Sequence[str],
) -> tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.float64]]:
    """The user's ranges and instants. A range that nobody ends lasts until the warp does."""
    found: list[tuple[int, float, float]] = []
    open_: list[tuple[int, float]] = []
    for site, moment, time in zip(sites.tolist(), moments.tolist(), times.tolist(), strict=True):
        if moment == _INSTANT:
            found.append((site, time, time))
        elif moment == _BEGIN:
            open_.append((site, time))
        else:
            # `pop` ends the last; a range that is ended by its name, the last of that name.
            ended = [n for n, (begun, _) in enumerate(open_) if moment == _POP or names[begun] == names[site]]
            if ended:
                found.append((*open_.pop(ended[-1]), time))
    found += [(*each, end) for each in open_]
    columns = list(zip(*found, strict=True)) or [(), (), ()]
    return np.array(columns[0], np.uint32), np.array(columns[1], np.float64), np.array(columns[2], np.float64)
