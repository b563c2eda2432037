"""A timeline as Chrome's trace viewer, and others, open it: `.json`, the Trace Event Format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from cutecc.timelines.timeline import BlockTimeline, Lane, Timeline
from cutecc.timelines.tracks import Flows, Track, about, block_name, flows_of, has_flows, tracks_of

_THOUSAND = 1000.0
"""Times are in microseconds there."""


def chrome_trace(timeline: Timeline) -> Iterator[bytes]:
    """The pieces of the file."""
    head = msgspec.json.encode({"displayTimeUnit": "ns", "otherData": about(timeline)})
    yield head[:-1] + b',"traceEvents":['
    kernels, flows = len({block.kernel for block in timeline.blocks}), 1
    connects = has_flows(timeline)
    for number, block in enumerate(timeline.blocks, 1):
        of_block = flows_of(block, timeline, flows) if connects else Flows({}, {})
        flows += len(of_block.ended)
        events = list(_events(block, number, kernels, timeline, of_block))
        yield (b",\n" if number > 1 else b"\n") + msgspec.json.encode(events)[1:-1]
    yield b"\n]}\n"


def _events(
    block: BlockTimeline, number: int, kernels: int, timeline: Timeline, flows: Flows
) -> Iterator[dict[str, Any]]:
    yield _named("process_name", number, 0, block_name(block, kernels))
    for track in tracks_of(block, number, timeline.sites):
        yield _named("thread_name", number, track.thread, track.name)
        yield from _spans(block.lanes[track.lane], track, timeline, flows)


def _named(what: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": {"name": name}}


def _spans(lane: Lane, track: Track, timeline: Timeline, flows: Flows) -> Iterator[dict[str, Any]]:
    where = {"pid": track.process, "tid": track.thread}
    shown: list[dict[str, Any]] = []
    for site in timeline.sites:
        said = {"barrier": site.barrier or "", "line": f"{site.file}:{site.line}" if site.line else ""}
        shown.append({"name": site.name, "cat": site.kind, **where, "args": {k: v for k, v in said.items() if v}})
    spans: list[int] = track.spans.tolist()
    for span in spans:
        start, end = float(lane.starts[span]), float(lane.ends[span])
        begun, ended = flows.at(track.lane, span)
        event = {**shown[int(lane.sites[span])], "ts": start / _THOUSAND}
        # Flows connect what has a duration.
        if end > start or begun or ended:
            yield {"ph": "X", **event, "dur": (end - start) / _THOUSAND}
        else:
            yield {"ph": "i", **event, "s": "t"}
        for flow in begun:
            yield {"ph": "s", "name": "ends", "cat": "flow", **where, "ts": start / _THOUSAND, "id": flow}
        for flow in ended:
            yield {"ph": "f", "bp": "e", "name": "ends", "cat": "flow", **where, "ts": end / _THOUSAND, "id": flow}
