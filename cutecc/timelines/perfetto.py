"""A timeline as Perfetto's viewer opens it: `.pftrace`, packets of `perfetto.protos.Trace`.

A process is a block, a thread a warp. Names are told once and numbered from then on; packets of a block are compressed
together.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from cutecc.timelines.protobuf import PADDED, fixed64, message, number, padded, text, varint
from cutecc.timelines.sites import Site
from cutecc.timelines.timeline import BlockTimeline, Lane, Timeline
from cutecc.timelines.tracks import Flows, Track, about, block_name, flows_of, has_flows, tracks_of

# Fields of messages, by the names that perfetto_trace.proto has for them.
_PACKET = 1
_TIMESTAMP, _SEQUENCE, _TRACK_EVENT, _INTERNED, _SEQUENCE_FLAGS, _COMPRESSED, _TRACK = 8, 10, 11, 12, 13, 50, 60
_BEGIN, _END, _INSTANT = 1, 2, 3
_CLEARED, _NEEDS_STATE = 1, 2
_ABOUT_TRACK, _ABOUT_NAME = 1, 1
_ANNOTATIONS = ("barrier", "line")
_LEVEL = 3

_OF_SEQUENCE = number(_SEQUENCE, 1) + number(_SEQUENCE_FLAGS, _NEEDS_STATE)


def pftrace(timeline: Timeline) -> Iterator[bytes]:
    """The pieces of the file."""
    names = _Names(timeline.sites)
    yield message(_PACKET, number(_SEQUENCE, 1), number(_SEQUENCE_FLAGS, _CLEARED), names.interned())
    yield message(_PACKET, message(_TRACK, number(1, _ABOUT_TRACK), text(2, "about this trace")))
    notes = [message(4, text(10, name), text(6, value)) for name, value in about(timeline).items()]
    event = message(_TRACK_EVENT, number(9, _INSTANT), number(11, _ABOUT_TRACK), text(23, "cutecc timeline"), *notes)
    yield message(_PACKET, number(_TIMESTAMP, 0), _OF_SEQUENCE, event)
    kernels, flows = len({block.kernel for block in timeline.blocks}), 1
    connects = has_flows(timeline)
    for index, block in enumerate(timeline.blocks, 1):
        of_block = flows_of(block, timeline, flows) if connects else Flows({}, {})
        flows += len(of_block.ended)
        packets = b"".join(_packets(block, index, kernels, timeline.sites, names, of_block))
        yield message(_PACKET, message(_COMPRESSED, zlib.compress(packets, _LEVEL)))


class _Names:
    """What is told once: the names of sites, and what is said of them."""

    def __init__(self, sites: list[Site]) -> None:
        self._categories: dict[str, int] = {}
        self._names: dict[str, int] = {}
        self._values: dict[str, int] = {}
        self.fields = [self._fields(site) for site in sites]
        """Of each site the fields of its events."""
        begins = [_event(_BEGIN, fields) for fields in self.fields]
        instants = [_event(_INSTANT, fields) for fields in self.fields]
        self.begins = np.array([len(each) for each in begins], np.int64)
        self.instants = np.array([len(each) for each in instants], np.int64)
        """Bytes of the first packet of a site."""
        end = _event(_END)
        self.packets = [(instant, begin + end) for instant, begin in zip(instants, begins, strict=True)]
        """Of each site the packets of an instant, and of what lasts."""

    def _fields(self, site: Site) -> bytes:
        said = {"barrier": site.barrier or "", "line": f"{site.file}:{site.line}" if site.line else ""}
        annotations = [
            message(4, number(1, _ANNOTATIONS.index(name) + 1), number(17, _known(self._values, value)))
            for name, value in said.items()
            if value
        ]
        category, name = _known(self._categories, site.kind), _known(self._names, site.name)
        return b"".join([number(3, category), number(10, name), *annotations])

    def interned(self) -> bytes:
        """The names by their numbers."""
        tables = [(1, self._categories), (2, self._names), (3, {name: n for n, name in enumerate(_ANNOTATIONS, 1)})]
        parts = [message(field, number(1, n), text(2, name)) for field, table in tables for name, n in table.items()]
        values = [message(29, number(1, n), text(2, value)) for value, n in self._values.items()]
        return message(_INTERNED, *parts, *values)


def _known(table: dict[str, int], name: str) -> int:
    return table.setdefault(name, len(table) + 1)


def _packets(
    block: BlockTimeline, index: int, kernels: int, sites: list[Site], names: _Names, flows: Flows
) -> Iterator[bytes]:
    process = message(3, number(1, index), text(6, block_name(block, kernels)))
    yield message(_PACKET, message(_TRACK, number(1, _uuid(index, 0)), process))
    for track in tracks_of(block, index, sites):
        thread = message(4, number(1, index), number(2, track.thread), text(5, track.name))
        parent = number(5, _uuid(index, 0))
        yield message(_PACKET, message(_TRACK, number(1, _uuid(index, track.thread)), parent, thread))
        yield _events(block.lanes[track.lane], track, names, flows)


def _uuid(process: int, thread: int) -> int:
    """Of a track. Threads have numbers of their own, from 1,024 on, beyond those of processes."""
    return (thread << 1 | 1) if thread else (process << 1) + 2


def _events(lane: Lane, track: Track, names: _Names, flows: Flows) -> bytes:
    """The packets of a track's spans, in the order of time: of each an instant, or its begin and its end."""
    starts, ends = (np.rint(each[track.spans]).astype(np.int64) for each in (lane.starts, lane.ends))
    numbers = lane.sites[track.spans]
    lasts = starts < ends
    spans: list[int] = track.spans.tolist()
    chosen: list[tuple[int, bool]] = list(zip(numbers.tolist(), lasts.tolist(), strict=True))
    pieces = [names.packets[number][is_long] for number, is_long in chosen]
    heads = np.where(lasts, names.begins[numbers], names.instants[numbers])
    for at, span in enumerate(spans if flows.ended else ()):
        begun, ended = flows.at(track.lane, span)
        if begun or ended:
            lasts[at] |= bool(ended)
            first = _event(_BEGIN if lasts[at] else _INSTANT, names.fields[chosen[at][0]] + _flows(47, begun))
            heads[at] = len(first)
            pieces[at] = first + (_event(_END, _flows(48, ended)) if lasts[at] else b"")
    if not pieces:
        return b""
    found = np.frombuffer(bytearray(b"".join(pieces)), np.uint8)
    after = np.cumsum(np.fromiter(map(len, pieces), np.int64, len(pieces)))
    before = after - np.diff(after, prepend=0)
    tails = np.concatenate([before + heads, after[lasts]])
    found[_filled(tails, PADDED)] = padded(np.concatenate([starts, ends[lasts]]))
    uuid = np.array([_uuid(track.process, track.thread)], np.int64)
    found[_filled(tails, 2 * PADDED + len(_STAMP))] = padded(uuid)
    return found.tobytes()


def _flows(field: int, numbers: Sequence[int]) -> bytes:
    return b"".join(fixed64(field, each) for each in numbers)


_STAMP = varint(_TIMESTAMP << 3)


def _event(kind: int, fields: bytes = b"") -> bytes:
    """A packet whose track and time, which are its end, are to be filled in."""
    event = message(_TRACK_EVENT, fields, number(9, kind), varint(11 << 3), bytes(PADDED))
    return message(_PACKET, _OF_SEQUENCE, event, _STAMP, bytes(PADDED))


def _filled(ends: NDArray[np.int64], before: int) -> NDArray[np.int64]:
    """Where padded numbers lie that begin so many bytes before the ends of packets."""
    return ends[:, None] - before + np.arange(PADDED)
