"""The skeleton of a kernel as a picture: a lane for each role, time downwards, an edge to each wait.

What to draw is plain data, which `cutecc prove --picture` writes as SVG and the page of a report shows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from itertools import permutations

import msgspec

from cutecc.report.skeleton import Edge, Event, EventKind, Lane, Skeleton

_HEAD, _ROW, _BOX = 44, 24, 20
_MARGIN, _GAP = 16, 44
_NARROWEST, _WIDEST, _USUAL = 118, 300, 1000
_LETTER = 6.7
"""The width of a letter, about."""
_STUB = 22
_MOST_ORDERED = 6
"""Lanes of which every order is tried."""

Node = tuple[int, int]
"""An event: its lane, and its place in it."""


class Head(msgspec.Struct):
    """Words in the middle above or below a lane; coordinates are pixels from the picture's upper left."""

    x: float
    y: float
    text: str


class Box(msgspec.Struct):
    """An event."""

    lane: int
    x: float
    y: float
    width: float
    height: float
    kind: EventKind
    text: str
    tip: str
    """All of it in words."""
    file: str
    line: int


class Arrow(msgspec.Struct):
    """From what completes a phase to who waits for it."""

    d: str
    """Of a path."""
    role: str
    """`copy` or `arrive`, by what completes it; `barrier` where all wait for each other; `before` the period."""
    tip: str
    ends: list[int]
    """The boxes that it is between, by number."""


class Drawing(msgspec.Struct):
    """What to draw of a skeleton, and what it is in words."""

    title: str
    description: str
    width: float
    height: float
    heads: list[Head]
    tails: list[Head]
    """What comes after a period."""
    boxes: list[Box]
    arrows: list[Arrow]
    others: list[str]


def drawing(skeleton: Skeleton, kernel: str) -> Drawing:
    """Events by rows: each below what it comes after in its lane, and below what it waits for."""
    return _Layout(skeleton).drawing(kernel)


class _Layout:
    def __init__(self, skeleton: Skeleton) -> None:
        self._skeleton = skeleton
        lanes = len(skeleton.lanes)
        self._columns = columns_of(skeleton)
        room = (_USUAL - 2 * _MARGIN - (lanes - 1) * _GAP) / max(lanes, 1)
        self._lane = min(_WIDEST, max(_NARROWEST, room))
        self._rows = rows_of(skeleton)

    def drawing(self, kernel: str) -> Drawing:
        skeleton = self._skeleton
        lanes = skeleton.lanes
        middles = [self._x(at) + self._lane / 2 for at in range(len(lanes))]
        heads = [Head(x, 20, each.title) for x, each in zip(middles, lanes, strict=True)]
        boxes = [self._box(at, place) for at, lane in enumerate(lanes) for place in range(len(lane.events))]
        bottom = _HEAD + (1 + max((row for rows in self._rows for row in rows), default=0)) * _ROW + 10
        tails: list[Head] = []
        if skeleton.is_period:
            tails = [Head(x, bottom + 8, "and again") for x in middles]
            bottom += 18
        width = 2 * _MARGIN + len(lanes) * self._lane + (len(lanes) - 1) * _GAP
        return Drawing(
            f"{kernel}, {skeleton.title}", described(skeleton), width, bottom, heads, tails, boxes,
            [*self._arrows()], skeleton.others,
        )  # fmt: skip

    def _x(self, lane: int) -> float:
        return _MARGIN + self._columns[lane] * (self._lane + _GAP)

    def _y(self, node: Node) -> float:
        """The middle of an event."""
        return _HEAD + self._rows[node[0]][node[1]] * _ROW + _BOX / 2

    def _box(self, lane: int, place: int) -> Box:
        event = self._event((lane, place))
        y = self._y((lane, place)) - _BOX / 2
        times = f" ×{event.times}" if event.times > 1 else ""
        letters = int((self._lane - 10) / _LETTER) - len(times)
        text = event.text if len(event.text) <= letters else f"{event.text[: letters - 1]}…"
        tip = f"{self._skeleton.lanes[lane].title}: {in_words(event)}"
        return Box(lane, self._x(lane), y, self._lane, _BOX, event.kind, f"{text}{times}", tip, event.file, event.line)

    def _arrows(self) -> Iterator[Arrow]:
        edges = self._skeleton.edges
        mutual = mutual_nodes(edges)
        for edge in edges:
            if edge.start is None:
                yield from self._from_before(edge)
            elif (edge.start, edge.to) not in mutual:
                yield self._arrow(edge.start, edge.to)
            elif self._is_next(edge.start, edge.to, mutual):
                yield self._line(edge.start, edge.to)

    def _is_next(self, start: Node, to: Node, mutual: set[tuple[Node, Node]]) -> bool:
        """Whether an event that meets another one is the next to its left: a line goes from each to the next."""
        column, end = self._columns[start[0]], self._columns[to[0]]
        met = [self._columns[other[0]] for each, other in mutual if each == start]
        return column < end == min(each for each in [*met, end] if each > column)

    def _arrow(self, start: Node, to: Node) -> Arrow:
        event = self._event(start)
        role = "copy" if event.kind == "copy" else "arrive"
        tip = f"{self._name(start)} completes what {self._name(to)} waits for"
        (x, way), y = self._side(start, to), self._y(start)
        (end, _), bottom = self._side(to, start), self._y(to)
        if start[0] == to[0]:
            d = f"M{x:g} {y:g}C{x + 26:g} {y:g} {end + 26:g} {bottom:g} {end + 2:g} {bottom:g}"
            return Arrow(d + _head(end + 1, bottom, -1), role, tip, self._ends(start, to))
        bend = min(40.0, abs(end - x) / 2)
        d = f"M{x:g} {y:g}C{x + way * bend:g} {y:g} {end - way * bend:g} {bottom:g} {end - way * 2:g} {bottom:g}"
        return Arrow(d + _head(end - way, bottom, way), role, tip, self._ends(start, to))

    def _line(self, start: Node, to: Node) -> Arrow:
        (x, _), (end, _) = self._side(start, to), self._side(to, start)
        tip = f"{self._name(start)} and {self._name(to)} wait for each other"
        return Arrow(f"M{x:g} {self._y(start):g}L{end:g} {self._y(to):g}", "barrier", tip, self._ends(start, to))

    def _from_before(self, edge: Edge) -> Iterator[Arrow]:
        """A short arrow from the side that it came from."""
        lane, y = edge.to[0], self._y(edge.to)
        way = -1 if edge.lane is not None and self._columns[edge.lane] > self._columns[lane] else 1
        x = self._x(lane) + (self._lane if way < 0 else 0)
        whose = "others" if edge.lane is None else self._skeleton.lanes[edge.lane].title
        tip = f"{self._name(edge.to)} waits for what {whose} did before this"
        start = x - way * _STUB
        d = f"M{start:g} {y - 8:g}L{x - way * 2:g} {y:g}" + _head(x - way, y, way)
        yield Arrow(d, "before", tip, self._ends(edge.to))

    def _side(self, node: Node, other: Node) -> tuple[float, int]:
        """Where an edge leaves a box to get to another one, and which way it goes there."""
        is_right = self._columns[other[0]] >= self._columns[node[0]]
        return self._x(node[0]) + (self._lane if is_right else 0), 1 if is_right else -1

    def _ends(self, *nodes: Node) -> list[int]:
        """The numbers of boxes."""
        return [sum(len(each.events) for each in self._skeleton.lanes[:lane]) + place for lane, place in nodes]

    def _event(self, node: Node) -> Event:
        return self._skeleton.lanes[node[0]].events[node[1]]

    def _name(self, node: Node) -> str:
        return f"“{self._event(node).text}” of {self._skeleton.lanes[node[0]].title}"


def _head(x: float, y: float, way: int) -> str:
    """The head of an arrow that points to the right, or to the left."""
    return f"M{x - way * 6:g} {y - 4:g}L{x:g} {y:g}L{x - way * 6:g} {y + 4:g}"


def columns_of(skeleton: Skeleton) -> list[int]:
    """Where each lane stands: in the order in which edges go past the fewest other lanes."""
    count = len(skeleton.lanes)
    pairs = Counter((each.start[0], each.to[0]) for each in skeleton.edges if each.start is not None)
    if count > _MOST_ORDERED:
        return [*range(count)]

    def passed(columns: Sequence[int]) -> int:
        return sum(times * abs(columns[start] - columns[to]) for (start, to), times in pairs.items())

    return list(min(permutations(range(count)), key=passed))


def mutual_nodes(edges: Sequence[Edge]) -> set[tuple[Node, Node]]:
    """Pairs that wait for each other."""
    pairs = {(each.start, each.to) for each in edges if each.start is not None}
    return {(start, to) for start, to in pairs if (to, start) in pairs}


def rows_of(skeleton: Skeleton) -> list[list[int]]:
    """The row of each event, by lanes: the least that is below those that it comes after; what meets is in one row."""
    rows = [[*range(len(lane.events))] for lane in skeleton.lanes]
    mutual = mutual_nodes(skeleton.edges)
    before = [
        (each.start, each.to, 0 if (each.start, each.to) in mutual else 1)
        for each in skeleton.edges
        if each.start is not None
    ]
    before += [((lane, place), (lane, place + 1), 1) for lane, own in enumerate(rows) for place in range(len(own) - 1)]
    # As often as the longest way has edges.
    for _ in range(sum(map(len, rows)) + 1):
        is_settled = True
        for start, to, by in before:
            least = rows[start[0]][start[1]] + by
            if rows[to[0]][to[1]] < least:
                rows[to[0]][to[1]], is_settled = least, False
        if is_settled:
            return rows
    # They go around in a circle, as where several events are shown as one.
    return [[*range(len(lane.events))] for lane in skeleton.lanes]


def in_words(event: Event) -> str:
    """`wait full[0], phase 3, gemm.py:194`."""
    parts = [event.text + (f", {event.times} times" if event.times > 1 else "")]
    if event.phase:
        parts.append(f"phase {event.phase}")
    if event.warps:
        parts.append(f"only warp{'s' if len(event.warps) > 1 else ''} {', '.join(map(str, event.warps))}")
    if event.line:
        parts.append(f"{event.file.rpartition('/')[2]}:{event.line}")
    return ", ".join(parts)


def described(skeleton: Skeleton) -> str:
    """The lanes in words, for who does not see the picture."""
    return " ".join(f"{_capital(lane.title)}: {_run(lane)}." for lane in skeleton.lanes)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _run(lane: Lane) -> str:
    return "; ".join(each.text + (f" ×{each.times}" if each.times > 1 else "") for each in lane.events)


_STYLE = """\
svg { --fg: #1d2430; --muted: #586374; --line: #d5dae2; --bg: #ffffff; --box: #f5f6f8;
  --wait: #b9501a; --barrier: #7a3fb0; --arrive: #5c6673; --copy: #1456b8; --product: #14692f; }
@media (prefers-color-scheme: dark) {
  svg { --fg: #dfe4ec; --muted: #9aa5b5; --line: #39414f; --bg: #14171d; --box: #1c2027;
    --wait: #f0985a; --barrier: #c79bf0; --arrive: #a8b3c2; --copy: #84b4ff; --product: #6fce8a; }
}
text { font: 12px system-ui, sans-serif; fill: var(--fg); }
text.title { font-weight: 600; }
text.head { font-weight: 600; text-anchor: middle; }
text.tail { fill: var(--muted); text-anchor: middle; }
text.muted { fill: var(--muted); }
text.line { fill: var(--muted); text-anchor: end; }
.back { fill: var(--bg); }
.lane { stroke: var(--line); }
.box rect { fill: var(--box); stroke: var(--line); }
.box.wait rect { stroke: var(--wait); }
.box.group-wait rect { stroke: var(--wait); stroke-dasharray: 3 2; }
.box.barrier rect { stroke: var(--barrier); }
.box.arrive rect { stroke: var(--arrive); }
.box.copy rect { stroke: var(--copy); }
.box.product rect { stroke: var(--product); }
.arrow { fill: none; stroke-width: 1.3; }
.arrow.copy { stroke: var(--copy); }
.arrow.arrive { stroke: var(--arrive); }
.arrow.barrier { stroke: var(--barrier); stroke-dasharray: 4 3; }
.arrow.before { stroke: var(--muted); stroke-dasharray: 3 2; }
"""
_TITLE = 26


def svg(drawings: Sequence[Drawing]) -> str:
    """Pictures below each other, as a file that stands by itself, in light and dark."""
    width = max((each.width for each in drawings), default=0)
    height = sum(map(_height, drawings))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img">',
        f"<title>{escape('; '.join(each.title for each in drawings))}</title>",
        f"<desc>{escape(' '.join(each.description for each in drawings))}</desc>",
        f"<style>{_STYLE}</style>",
        f'<rect class="back" width="{width:g}" height="{height:g}"/>',
    ]
    top = 0.0
    for each in drawings:
        lines += [f'<g transform="translate(0 {top:g})">', *_elements(each), "</g>"]
        top += _height(each)
    return "\n".join([*lines, "</svg>", ""])


def _height(found: Drawing) -> float:
    return _TITLE + found.height + 18 * len(found.others) + 12


def _elements(found: Drawing) -> Iterator[str]:
    yield f'<text class="title" x="{_MARGIN}" y="18">{escape(found.title)}</text>'
    yield f'<g transform="translate(0 {_TITLE})">'
    for head in found.heads:
        yield f'<path class="lane" d="M{head.x:g} 28V{found.height - (18 if found.tails else 0):g}"/>'
    for words, role in ((found.heads, "head"), (found.tails, "tail")):
        for each in words:
            yield f'<text class="{role}" x="{each.x:g}" y="{each.y:g}">{escape(each.text)}</text>'
    for arrow in found.arrows:
        yield f'<path class="arrow {arrow.role}" d="{arrow.d}"><title>{escape(arrow.tip)}</title></path>'
    for box in found.boxes:
        yield f'<g class="box {box.kind.replace(" ", "-")}"><title>{escape(box.tip)}</title>'
        yield f'<rect x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" height="{box.height:g}" rx="3"/>'
        yield f'<text x="{box.x + 6:g}" y="{box.y + 14:g}">{escape(box.text)}</text>'
        if box.line and len(box.text) * _LETTER < box.width - 50:
            yield f'<text class="line" x="{box.x + box.width - 6:g}" y="{box.y + 14:g}">{box.line}</text>'
        yield "</g>"
    for number, other in enumerate(found.others):
        yield f'<text class="muted" x="{_MARGIN}" y="{found.height + 14 + 18 * number:g}">{escape(other)}</text>'
    yield "</g>"
