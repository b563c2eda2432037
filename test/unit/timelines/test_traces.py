"""Traces are read back as what was written: Perfetto's by its own messages, Chrome's as JSON.

Perfetto's trace processor is a program that its package downloads when it is first asked for: it is not used here.
"""

from __future__ import annotations

import json
import zlib
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2  # pyright: ignore
from pipelines import FULL, SITES, block_of, timeline_of

from cutecc.errors import UsageError
from cutecc.timelines.chrome import chrome_trace
from cutecc.timelines.perfetto import pftrace
from cutecc.timelines.protobuf import padded, varint
from cutecc.timelines.sites import Site
from cutecc.timelines.timeline import BlockTimeline, Lane, Slowdown, Timeline
from cutecc.timelines.writing import write_timeline

Span = tuple[str, str, str, str, int, int]
"""Process, thread, category, name, start, end."""


def read_pftrace(data: bytes) -> tuple[list[Span], list[dict[str, str]], dict[str, str], list[tuple[str, str]]]:
    """The spans, what is said of each, what is said of the trace, and the flows: between which names."""
    trace = perfetto_trace_pb2.Trace.FromString(data)
    packets: list[Any] = []
    for packet in trace.packet:
        if packet.compressed_packets:
            packets += perfetto_trace_pb2.Trace.FromString(zlib.decompress(packet.compressed_packets)).packet
        else:
            packets.append(packet)
    categories, names, keys, values = ({}, {}, {}, {})
    processes, threads = {}, {}
    open_: dict[int, tuple[Any, list[int]]] = {}
    spans: list[Span] = []
    said: list[dict[str, str]] = []
    about: dict[str, str] = {}
    begun, ended = {}, {}
    for packet in packets:
        interned = packet.interned_data
        categories |= {each.iid: each.name for each in interned.event_categories}
        names |= {each.iid: each.name for each in interned.event_names}
        keys |= {each.iid: each.name for each in interned.debug_annotation_names}
        values |= {each.iid: each.str.decode() for each in interned.debug_annotation_string_values}
        track, event = packet.track_descriptor, packet.track_event
        if track.HasField("process"):
            processes[track.process.pid] = track.process.process_name
        if track.HasField("thread"):
            threads[track.uuid] = (processes[track.thread.pid], track.thread.thread_name)
        if not packet.HasField("track_event"):
            continue
        if event.name == "cutecc timeline":
            about = {each.name: each.string_value for each in event.debug_annotations}
            continue
        if event.type == 2:
            spans.append((*open_.pop(event.track_uuid), packet.timestamp))
            ended |= dict.fromkeys(event.terminating_flow_ids, spans[-1][3])
            continue
        (category,) = event.category_iids
        head = (*threads[event.track_uuid], categories[category], names[event.name_iid], packet.timestamp)
        said.append({keys[each.name_iid]: values[each.string_value_iid] for each in event.debug_annotations})
        begun |= dict.fromkeys(event.flow_ids, head[3])
        if event.type == 3:
            spans.append((*head, packet.timestamp))
        else:
            assert event.track_uuid not in open_, "spans of a track overlap"
            open_[event.track_uuid] = head
    assert not open_
    return spans, said, about, [(begun[flow], ended[flow]) for flow in ended]


def written(timeline: Timeline, rounded: bool = True) -> list[Span]:
    found: list[Span] = []
    for block in timeline.blocks:
        where = f" on SM {block.processor}" if block.processor >= 0 else ""
        for lane in block.lanes:
            for number, start, end in zip(lane.sites.tolist(), lane.starts.tolist(), lane.ends.tolist(), strict=True):
                site = timeline.sites[number]
                role = "" if lane.role == "warp" else f" {lane.role}"
                thread = f"warp {lane.warp}{' marks' if site.kind == 'mark' else role}"
                process = f"block {block.block}{where}, launch {block.launch}"
                found.append((process, thread, site.kind, site.name, round(start), round(end)))
    return found


def test_a_pipeline_for_perfetto() -> None:
    timeline = timeline_of([block_of(number=12), block_of(number=40, launch=1)], Slowdown(20, 19, 18.5))
    spans, said, about, flows = read_pftrace(b"".join(pftrace(timeline)))
    assert sorted(spans) == sorted(written(timeline))
    assert ("block 12 on SM 12, launch 0", "warp 2 producer") in {each[:2] for each in spans}
    assert {"barrier": FULL, "line": "kernel.py:20"} in said
    assert about["unit"] == "nanoseconds"
    assert about["device"] == "NVIDIA H200"
    assert about["microseconds without recording"] == "18.500"
    assert ("TMA load", "mbarrier wait") in flows
    assert ("mbarrier arrive", "mbarrier wait") in flows


def test_a_pipeline_for_chrome() -> None:
    timeline = timeline_of([block_of(number=12)])
    trace = json.loads(b"".join(chrome_trace(timeline)))
    events = trace["traceEvents"]
    assert trace["otherData"]["unit"] == "nanoseconds"
    named = {each["args"]["name"] for each in events if each["ph"] == "M"}
    assert {"block 12 on SM 12, launch 0", "warp 2 producer", "warp 0 consumer"} <= named
    slices = [each for each in events if each["ph"] == "X" and each["name"] == "wait for products"]
    assert {each["dur"] for each in slices} == {0.2}
    assert slices[0]["args"] == {"barrier": "products", "line": "kernel.py:22"}
    begun = {each["id"] for each in events if each["ph"] == "s"}
    assert begun and begun == {each["id"] for each in events if each["ph"] == "f"}


def test_instructions_are_no_time() -> None:
    timeline = Timeline("instructions", "emulator", SITES, [block_of()], notes=["a note"])
    _, _, about, _ = read_pftrace(b"".join(pftrace(timeline)))
    assert about["unit"].startswith("instructions")
    assert about["note 1"] == "a note"


def test_the_name_says_the_format(tmp_path: Path) -> None:
    timeline = timeline_of([block_of(steps=4)])
    for name in ("a.pftrace", "a.json"):
        write_timeline(timeline, tmp_path / name)
        assert (tmp_path / name).stat().st_size > 100
    with pytest.raises(UsageError, match=r"ends in \.pftrace or \.json"):
        write_timeline(timeline, tmp_path / "a.txt")


def test_many_blocks_stay_small() -> None:
    block = block_of(steps=40, consumers=11)
    spans = sum(len(lane.sites) for lane in block.lanes)
    timeline = timeline_of([block] * (200_000 // spans + 1))
    data = b"".join(pftrace(timeline))
    assert len(data) < 8 * spans * len(timeline.blocks)
    found, _, about, flows = read_pftrace(data)
    assert len(found) == spans * len(timeline.blocks)
    assert not flows and "left out" in about["flows"]


_TIMES = st.floats(0, 1e9, allow_nan=False).map(lambda each: round(each, 1))


@st.composite
def lanes(draw: st.DrawFn, sites: list[Site], warp: int) -> Lane:
    """Spans that follow each other, and marks that lie anywhere."""
    plain = [number for number, site in enumerate(sites) if site.kind != "mark"]
    marks = [number for number, site in enumerate(sites) if site.kind == "mark"]
    times = sorted(draw(st.lists(_TIMES, max_size=24)))
    spans = (
        [(draw(st.sampled_from(plain)), *pair) for pair in zip(times[::2], times[1::2], strict=False)] if plain else []
    )
    if marks:
        for first, last in draw(st.lists(st.tuples(_TIMES, _TIMES), max_size=6)):
            spans.append((draw(st.sampled_from(marks)), min(first, last), max(first, last)))
    spans.sort(key=lambda each: each[2])
    columns = list(zip(*spans, strict=True)) or [(), (), ()]
    starts, ends = (np.array(each, np.float64) for each in columns[1:])
    return Lane(warp, "warp", 0.0, 1e9, np.array(columns[0], np.int32), starts, ends)


@st.composite
def timelines(draw: st.DrawFn) -> Timeline:
    text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8)
    kinds = st.sampled_from(["wait", "barrier", "arrive", "copy", "product", "mark"])
    barriers = st.none() | st.sampled_from(["products", "mbarrier 0", "named barrier 1"])
    site = st.builds(Site, kinds, text, barriers, st.sampled_from(["", "k.py"]), st.integers(0, 3))
    sites = draw(st.lists(site, min_size=1, max_size=6))
    blocks = [
        BlockTimeline("k", 0, 3 * number, draw(st.integers(-1, 2)), [draw(lanes(sites, warp)) for warp in range(2)])
        for number in range(draw(st.integers(0, 3)))
    ]
    return Timeline("ns", "GPU", sites, blocks)


@settings(max_examples=60, deadline=None)
@given(timelines())
def test_any_timeline_is_read_back(timeline: Timeline) -> None:

    expected = written(timeline)
    spans, said, _, _ = read_pftrace(b"".join(pftrace(timeline)))
    assert sorted(spans) == sorted(expected)
    assert len(said) == len(spans)
    events = json.loads(b"".join(chrome_trace(timeline)))["traceEvents"]
    names: dict[str, int] = defaultdict(int)
    for event in events:
        if event["ph"] in "Xi":
            names[event["name"]] += 1
    counted: dict[str, int] = defaultdict(int)
    for each in expected:
        counted[each[3]] += 1
    assert names == counted


@given(st.integers(0, 2**56 - 1))
def test_varints(value: int) -> None:
    from google.protobuf.internal.decoder import _DecodeVarint  # pyright: ignore

    assert _DecodeVarint(varint(value), 0) == (value, len(varint(value)))
    assert _DecodeVarint(padded(np.array([value]))[0].tobytes(), 0) == (value, 8)
