"""A roofline: how many operations kernels reach for each byte that they move, under what the device reaches.

Roofs are the device's own rates, measured in the same run: a copy, and a product of two f16 matrices. What is drawn is
plain data, which `cutecc profile --roofline` writes as SVG and the page of a report shows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import Literal, NamedTuple, Protocol

import msgspec

from cutecc.support.harmless import one_line


class Rates(Protocol):
    """One call beside what the device reaches: `cutecc.profiling.limits.Limits`, or what was read of one."""

    @property
    def gigabytes_per_second(self) -> float | None: ...
    @property
    def percent_of_copy(self) -> float | None: ...
    @property
    def teraflops(self) -> float | None: ...
    @property
    def percent_of_matrix(self) -> float | None: ...
    @property
    def intensity(self) -> float | None: ...
    @property
    def bound(self) -> str: ...


class Run(NamedTuple):
    """A kernel at one size."""

    title: str
    device: str
    rates: Rates | None


class Shape(msgspec.Struct, omit_defaults=True):
    """Something of the drawing; coordinates are pixels from its upper left."""

    kind: Literal["path", "text"]
    role: str
    """What it is, for its looks: `grid`, `axis`, `roof`, `gap`, `memory`, `matrix`, `neither`, `number`, `name`."""
    d: str = ""
    """Of a path."""
    x: float = 0.0
    y: float = 0.0
    text: str = ""
    anchor: Literal["start", "middle", "end"] = "start"
    turn: float = 0.0
    """Degrees, around its place."""
    tip: str = ""
    """What it says where it is pointed at."""


class Point(msgspec.Struct):
    """A run in the drawing, in numbers and words."""

    number: int
    title: str
    intensity: float
    """Operations for each byte."""
    teraflops: float
    percent: float
    """Of what the roofs let through at this intensity."""
    limit: str
    """What limits it, in words."""


class Roofline(msgspec.Struct):
    """What to draw, and the same in words."""

    title: str
    description: str
    """All of it, for those who do not see the drawing."""
    width: int
    height: int
    shapes: list[Shape]
    points: list[Point]
    left_out: list[str]
    """Runs without a place, with why."""


_BOUNDS = {
    "memory": "limited by memory",
    "matrix": "limited by the matrix units",
    "neither": "near neither roof",
}
_WIDTH, _HEIGHT = 680, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 66, 22, 20, 48
_ROOM = 3.0
"""How many times what there is to see is shown around it."""
_MOST_POINTS = 64
_LONGEST = 120


class _Axis(NamedTuple):
    """Logarithms on a stretch of pixels."""

    low: float
    high: float
    """Powers of ten."""
    start: float
    end: float

    def at(self, value: float) -> float:
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    @property
    def decade(self) -> float:
        """Pixels of a factor of ten."""
        return (self.end - self.start) / (self.high - self.low)

    def ticks(self) -> Iterator[tuple[float, bool]]:
        """Values, and whether each has a number."""
        few = self.high - self.low <= 2.5
        for power in range(math.floor(self.low), math.ceil(self.high) + 1):
            for digit in (1, 2, 5):
                value = digit * 10.0**power
                if self.low <= math.log10(value) <= self.high:
                    yield value, digit == 1 or few


def roofline(runs: Sequence[Run]) -> Roofline | None:
    """The roofline of runs on one device; `None` where no run has a place, as its bytes or operations are not known."""
    placed = [(run, run.rates) for run in runs if run.rates is not None and _has_place(run.rates)][:_MOST_POINTS]
    if not placed:
        return None
    device = placed[0][0].device
    placed = [each for each in placed if each[0].device == device]
    known = {id(run) for run, _ in placed}
    copy, matrix = _roofs([rates for _, rates in placed])
    points = [_point(number, run, rates, copy, matrix) for number, (run, rates) in enumerate(placed, 1)]
    title = one_line(f"Roofline of {device}")[:_LONGEST]
    roofs = f"a copy reaches {copy:,.0f} GB/s"
    if matrix is not None:
        roofs += f", a product of f16 matrices {matrix:,.0f} TFLOP/s"
    return Roofline(
        title,
        f"{roofs}. {' '.join(map(sentence, points))}",
        _WIDTH,
        _HEIGHT,
        _draw(points, [rates.bound for _, rates in placed], copy, matrix),
        points,
        [_left_out(run, device) for run in runs if id(run) not in known],
    )


def sentence(point: Point) -> str:
    """A point in words."""
    return (
        f"{point.number}: {point.title}: {_short(point.intensity)} FLOP/byte, {_short(point.teraflops)} TFLOP/s, "
        f"{point.percent:.0f} % of its roof, {point.limit}."
    )


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _has_place(rates: Rates) -> bool:
    return bool(rates.intensity and rates.teraflops and rates.gigabytes_per_second and rates.percent_of_copy)


def _left_out(run: Run, device: str) -> str:
    title = one_line(run.title)[:_LONGEST]
    if run.rates is None:
        return f"{title}: nobody timed it"
    if run.device != device:
        return f"{title}: it ran on {one_line(run.device)[:_LONGEST]}"
    return f"{title}: its file says not how many bytes and operations a call has (bytes, flops)"


def _roofs(rates: Sequence[Rates]) -> tuple[float, float | None]:
    """GB/s of a copy and TFLOP/s of a product, the highest that were measured."""
    copies = [_whole(each.gigabytes_per_second, each.percent_of_copy) for each in rates]
    products = [_whole(each.teraflops, each.percent_of_matrix) for each in rates]
    return max(filter(None, copies)), max(filter(None, products), default=None)


def _whole(part: float | None, percent: float | None) -> float | None:
    return 100 * part / percent if part and percent else None


def _under(intensity: float, copy: float, matrix: float | None) -> float:
    """TFLOP/s that the roofs let through."""
    slope = intensity * copy / 1000
    return slope if matrix is None else min(slope, matrix)


def _point(number: int, run: Run, rates: Rates, copy: float, matrix: float | None) -> Point:
    assert rates.intensity is not None and rates.teraflops is not None
    roof = _under(rates.intensity, copy, matrix)
    return Point(
        number,
        one_line(run.title)[:_LONGEST],
        rates.intensity,
        rates.teraflops,
        100 * rates.teraflops / roof,
        _BOUNDS.get(rates.bound, "what limits it is not known"),
    )


def _axes(points: Sequence[Point], copy: float, matrix: float | None) -> tuple[_Axis, _Axis]:
    """Of intensities and of rates: all points, their roofs and the ridge are in sight."""
    intensities = [each.intensity for each in points]
    if matrix is not None:
        intensities.append(1000 * matrix / copy)
    low, high = min(intensities) / _ROOM, max(intensities) * _ROOM
    rates = [each.teraflops for each in points] + [_under(each.intensity, copy, matrix) for each in points]
    top = max(rates) if matrix is None else max(*rates, matrix)
    return (
        _Axis(math.log10(low), math.log10(high), _LEFT, _WIDTH - _RIGHT),
        _Axis(math.log10(min(rates) / _ROOM), math.log10(top * 2), _HEIGHT - _BOTTOM, _TOP),
    )


def _draw(points: Sequence[Point], bounds: Sequence[str], copy: float, matrix: float | None) -> list[Shape]:
    x, y = _axes(points, copy, matrix)
    shapes = [*_grid(x, y), *_draw_roofs(x, y, copy, matrix)]
    taken: list[tuple[float, float]] = []
    for point, bound in zip(points, bounds, strict=True):
        at = x.at(point.intensity), y.at(point.teraflops)
        roof = y.at(_under(point.intensity, copy, matrix))
        shapes.append(Shape("path", "gap", f"M{at[0]},{at[1]}V{roof}"))
        shapes.append(Shape("path", bound if bound in _MARKS else "neither", _mark(bound, *at), tip=sentence(point)))
        shapes.append(_number(point, at, taken))
    return shapes


def _grid(x: _Axis, y: _Axis) -> Iterator[Shape]:
    for value, has_number in x.ticks():
        at = x.at(value)
        yield Shape("path", "grid", f"M{at},{y.start}V{y.end}")
        if has_number:
            yield Shape("text", "axis", x=at, y=y.start + 16, text=f"{value:,g}", anchor="middle")
    for value, has_number in y.ticks():
        at = y.at(value)
        yield Shape("path", "grid", f"M{x.start},{at}H{x.end}")
        if has_number:
            yield Shape("text", "axis", x=x.start - 8, y=at + 4, text=f"{value:,g}", anchor="end")
    middle = (x.start + x.end) / 2, (y.start + y.end) / 2
    yield Shape(
        "text", "axis", x=middle[0], y=_HEIGHT - 10, text="operations for each byte (FLOP/byte)", anchor="middle"
    )
    yield Shape("text", "axis", x=18, y=middle[1], text="TFLOP/s", anchor="middle", turn=-90)


def _draw_roofs(x: _Axis, y: _Axis, copy: float, matrix: float | None) -> Iterator[Shape]:
    left, right = 10**x.low, 10**x.high
    # The slope leaves the picture at its lower edge or at its left one.
    start = max(left, 1000 * 10**y.low / copy)
    ridge = min(right, 1000 * (10**y.high if matrix is None else matrix) / copy)
    path = f"M{x.at(start)},{y.at(_under(start, copy, None))}L{x.at(ridge)},{y.at(_under(ridge, copy, None))}"
    yield Shape("path", "roof", path if matrix is None else f"{path}H{x.end}")
    # Names stand above their roofs, beside the middle of what is seen of them.
    turn = -math.degrees(math.atan2(abs(y.decade), abs(x.decade)))
    middle = math.sqrt(start * ridge)
    at = x.at(middle), y.at(_under(middle, copy, None))
    away = math.radians(turn)
    yield Shape(
        "text",
        "name",
        x=round(at[0] + 8 * math.sin(away), 1),
        y=round(at[1] - 8 * math.cos(away), 1),
        text=f"copy: {copy:,.0f} GB/s",
        anchor="middle",
        turn=round(turn, 1),
    )
    if matrix is not None:
        yield Shape(
            "text", "name", x=x.end, y=y.at(matrix) - 8, text=f"f16 product: {matrix:,.0f} TFLOP/s", anchor="end"
        )


_MARKS = {
    "memory": "M{0},{1}m-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0Z",
    "matrix": "M{0},{1}m-5,-5h10v10h-10Z",
    "neither": "M{0},{1}m0,-6l6,6l-6,6l-6,-6Z",
}
"""A disc, a square and a diamond: what limits a kernel is not told by colours alone."""


def _mark(bound: str, x: float, y: float) -> str:
    return _MARKS.get(bound, _MARKS["neither"]).format(x, y)


def _number(point: Point, at: tuple[float, float], taken: list[tuple[float, float]]) -> Shape:
    """The number of a point at its right, lower where another is there already."""
    x, y = at[0] + 9, at[1] + 14
    while any(abs(x - other) < 16 and abs(y - height) < 12 for other, height in taken):
        y += 12
    taken.append((x, y))
    return Shape("text", "number", x=round(x, 1), y=round(y, 1), text=str(point.number))


_STYLE = """\
svg { --fg: #1d2430; --muted: #586374; --line: #d5dae2; --roof: #1456b8; --bg: #ffffff;
  --memory: #855300; --matrix: #14692f; --neither: #b3172a; }
@media (prefers-color-scheme: dark) {
  svg { --fg: #dfe4ec; --muted: #9aa5b5; --line: #39414f; --roof: #8ab8ff; --bg: #14171d;
    --memory: #e8b44c; --matrix: #6fcf8a; --neither: #ff8d97; }
}
text { font: 12px system-ui, sans-serif; fill: var(--fg); }
.back { fill: var(--bg); }
.grid { stroke: var(--line); fill: none; }
.axis { fill: var(--muted); }
.roof { stroke: var(--roof); stroke-width: 2; fill: none; }
.name { fill: var(--roof); }
.gap { stroke: var(--muted); stroke-dasharray: 2 3; fill: none; }
.memory { fill: var(--memory); }
.matrix { fill: var(--matrix); }
.neither { fill: var(--neither); }
.number { font-weight: 600; }
"""
_ROW = 18


def svg(found: Roofline) -> str:
    """A roofline as a file that stands by itself, in light and dark, with its points in words below."""
    rows = [*map(sentence, found.points), *(f"– {each}" for each in found.left_out)]
    height = found.height + _ROW * (len(rows) + 1)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {found.width} {height}" width="{found.width}" '
        f'height="{height}" role="img" aria-labelledby="title description">',
        f'<title id="title">{escape(found.title)}</title>',
        f'<desc id="description">{escape(found.description)}</desc>',
        f"<style>{_STYLE}</style>",
        f'<rect class="back" width="{found.width}" height="{height}"/>',
        *map(_element, found.shapes),
    ]
    for number, row in enumerate([found.title, *rows]):
        role = "number" if not number else "axis"
        lines.append(f'<text class="{role}" x="14" y="{found.height + 10 + _ROW * number}">{escape(row)}</text>')
    return "\n".join([*lines, "</svg>", ""])


def _element(shape: Shape) -> str:
    if shape.kind == "path":
        tip = f"<title>{escape(shape.tip)}</title>" if shape.tip else ""
        return f'<path class="{shape.role}" d="{shape.d}">{tip}</path>'
    turn = f' transform="rotate({shape.turn} {shape.x} {shape.y})"' if shape.turn else ""
    place = f'x="{shape.x}" y="{shape.y}" text-anchor="{shape.anchor}"{turn}'
    return f'<text class="{shape.role}" {place}>{escape(shape.text)}</text>'
