"""Pictures as SVG: one file with its own style, the same bytes for the same picture."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar
from xml.sax.saxutils import escape

from cutecc.errors import LayoutError
from cutecc.layout.pictures.colours import INK
from cutecc.layout.pictures.grid import Cell, Kept, Panel, Picture, kept_of, notes_of

_Value = TypeVar("_Value", int, str)

# All lengths are in pixels.
FONT = 13
SMALL = 11
ADVANCE = 0.61
"""The width of a character, in font sizes, of every monospaced font in the style."""
LINE = 14
MARGIN = 16
LEVEL = 18
"""The height of one level of column coordinates."""
GAP = 26
"""The width or height of a gap for what is left out."""
BETWEEN = 30
"""Between panels."""
WIDEST = 1500
"""Panels in one row go on below when they are wider."""

ROWS, COLUMNS = 64, 128
READABLE = 2600
"""Wider panels are cut to `CUT`, for a page would shrink them until nobody could read the labels."""
CUT = 1700
MOST_CELLS = 65536

_STYLE = f"""\
text{{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}}
text{{font-size:{FONT}px;fill:{INK}}}
.c{{text-anchor:middle}}.e{{text-anchor:end}}.s text{{font-size:{SMALL}px}}
.t{{font-size:15px;font-weight:bold}}.a text,.n{{font-size:12px;fill:#4b535d}}.f{{opacity:.55}}
.l0,.l1,.l2,.l3{{fill:none;stroke-linecap:square}}
.l0{{stroke:{INK};stroke-opacity:.22}}.l1{{stroke:{INK};stroke-width:1.6}}
.l2{{stroke:{INK};stroke-width:2.6}}.l3{{stroke:{INK};stroke-width:3.6}}.b{{fill:none;stroke:#8d96a1}}"""


@dataclass(frozen=True)
class _Sizes:
    """What all panels of a picture share."""

    width: int
    height: int
    single: bool
    """Whether every label is one line."""


def svg(picture: Picture, *, rows: int = ROWS, columns: int | None = None) -> str:
    """A picture as an SVG file.

    At most `rows` and `columns` of a panel are drawn, the others left out of the middle and a note says which; without
    `columns`, as many as can be read on a page. Raises `LayoutError` for more than 65536 cells.
    """
    panels = [panel for line in picture.panels for panel in line]
    count = sum(min(panel.rows.size, rows) * min(panel.columns.size, columns or COLUMNS) for panel in panels)
    if count > MOST_CELLS:
        raise LayoutError(
            f"a picture of {count} cells; an SVG takes at most {MOST_CELLS}",
            hints=["leave rows and columns out with --limit 64x128, or draw a tile of it"],
        )
    drawn = _drawn(picture, rows, columns or COLUMNS)
    sizes = _sizes(drawn)
    if columns is None and drawn[0][0].width(sizes) > READABLE:
        drawn = _drawn(picture, rows, CUT // sizes.width)
    body: list[str] = []
    y = MARGIN + 16
    body.append(f'<text class="t" x="{MARGIN}" y="{y}">{escape(picture.title)}</text>')
    width = MARGIN * 2 + _text_width(picture.title, 15)
    if picture.subtitle:
        y += 19
        body.append(f'<text class="n" x="{MARGIN}" y="{y}">{escape(picture.subtitle)}</text>')
        width = max(width, MARGIN * 2 + _text_width(picture.subtitle, 12))
    y += 14
    for line in _wrapped(drawn, sizes):
        x = MARGIN
        for each in line:
            body += each.draw(x, y, sizes)
            x += each.width(sizes) + BETWEEN
        width = max(width, x - BETWEEN + MARGIN)
        y += max(each.height(sizes) for each in line) + BETWEEN // 2
    for entry in picture.legend:
        body.append(f'<path fill="{entry.colour}" stroke="#8d96a1" d="M{MARGIN} {y}h14v14h-14z"/>')
        body.append(f'<text class="n" x="{MARGIN + 20}" y="{y + 11}">{escape(entry.text)}</text>')
        y += 20
    for note in notes_of(picture, drawn[0][0].rows, drawn[0][0].columns):
        body.append(f'<text class="n" x="{MARGIN}" y="{y + 11}">{escape(note)}</text>')
        width = max(width, MARGIN * 2 + _text_width(note, 12))
        y += 18
    height = y + MARGIN // 2
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{escape(picture.title, {chr(34): "&quot;"})}">\n'
        f"<style>\n{escape(_STYLE)}\n</style>\n"
        f'<path fill="#fff" d="M0 0h{width}v{height}h-{width}z"/>\n' + "\n".join(body) + "\n</svg>\n"
    )


def _wrapped(drawn: list[list[_Drawn]], sizes: _Sizes) -> list[list[_Drawn]]:
    """Rows of panels; a single row that is too wide goes on below."""
    if len(drawn) > 1:
        return drawn
    per_line = max(1, (WIDEST + BETWEEN) // (drawn[0][0].width(sizes) + BETWEEN))
    return [drawn[0][start : start + per_line] for start in range(0, len(drawn[0]), per_line)]


def _drawn(picture: Picture, rows: int, columns: int) -> list[list[_Drawn]]:
    return [[_Drawn(panel, rows, columns) for panel in line] for line in picture.panels]


def _sizes(drawn: list[list[_Drawn]]) -> _Sizes:
    panels = [each for line in drawn for each in line]
    cells = [cell for each in panels for line in each.cells for cell in line if cell]
    lines = max((len(cell.label) for cell in cells), default=1)
    longest = max((len(text) for cell in cells for text in cell.label), default=1)
    font = FONT if lines == 1 else SMALL
    height = 28 if lines <= 1 else 8 + LINE * lines
    return _Sizes(max(height, round(longest * font * ADVANCE) + 10), height, lines == 1)


def _text_width(text: str, font: int) -> int:
    return round(len(text) * font * ADVANCE) + 2


class _Drawn:
    """A panel with the rows and columns that are drawn of it."""

    def __init__(self, panel: Panel, rows: int, columns: int) -> None:
        self.panel = panel
        self.rows: Kept = kept_of(panel.rows.size, rows)
        self.columns: Kept = kept_of(panel.columns.size, columns)
        self.cells = [
            [None if row is None or column is None else panel.cell(row, column) for column in self.columns]
            for row in self.rows
        ]
        self._row_spans = [panel.rows.spans(level, self.rows) for level in range(len(panel.rows.levels))]
        self._column_spans = [panel.columns.spans(level, self.columns) for level in range(len(panel.columns.levels))]

    # Measures

    def _row_level_widths(self) -> list[int]:
        return [14 + max(_text_width(span.text, 12) for span in spans) for spans in self._row_spans]

    def _left(self) -> int:
        """The width of the row coordinates, or of the names of the levels above."""
        names = [_text_width(name, 12) + 8 for name in self.panel.columns.names]
        return max([sum(self._row_level_widths()), *names])

    def _top(self) -> int:
        return (20 if self.panel.caption else 0) + LEVEL * len(self._column_spans) + 2

    def width(self, sizes: _Sizes) -> int:
        return self._left() + _edges(self.columns, sizes.width)[-1]

    def height(self, sizes: _Sizes) -> int:
        return self._top() + _edges(self.rows, sizes.height)[-1]

    # Drawing

    def draw(self, x: int, y: int, sizes: _Sizes) -> list[str]:
        left, top = x + self._left(), y + self._top()
        xs = [left + edge for edge in _edges(self.columns, sizes.width)]
        ys = [top + edge for edge in _edges(self.rows, sizes.height)]
        body: list[str] = []
        if self.panel.caption:
            middle = (xs[0] + xs[-1]) // 2
            body.append(f'<text class="n c" x="{middle}" y="{y + 11}">{escape(self.panel.caption)}</text>')
        return [*body, *self._fills(xs, ys), *self._lines(xs, ys), *self._axes(xs, ys), *self._labels(xs, ys, sizes)]

    def _fills(self, xs: list[int], ys: list[int]) -> list[str]:
        """A path for each colour, of runs of cells."""
        runs: dict[str, list[str]] = {}
        for row, line in enumerate(self.cells):
            for at, end, colour in _runs([cell.colour if cell else None for cell in line]):
                width, height = xs[end] - xs[at], ys[row + 1] - ys[row]
                runs.setdefault(colour, []).append(f"M{xs[at]} {ys[row]}h{width}v{height}h-{width}z")
        return [f'<path fill="{colour}" d="{"".join(parts)}"/>' for colour, parts in runs.items()]

    def _lines(self, xs: list[int], ys: list[int]) -> list[str]:
        """A path for each thickness, of lines as long as they go."""
        row_borders = self.panel.rows.borders(self.rows)
        column_borders = self.panel.columns.borders(self.columns)
        paths: dict[int, list[str]] = {}
        outlines = self._has_outlines()
        for row in range(len(ys)):
            above, below = self._row(row - 1), self._row(row)
            border = row_borders[row - 1] if 0 < row < len(ys) - 1 else 0
            weights = [_weight(a, b, border, outlines) for a, b in zip(above, below, strict=True)]
            for at, end, weight in _runs(weights):
                paths.setdefault(weight, []).append(f"M{xs[at]} {ys[row]}H{xs[end]}")
        for column in range(len(xs)):
            before, after = self._column(column - 1), self._column(column)
            border = column_borders[column - 1] if 0 < column < len(xs) - 1 else 0
            weights = [_weight(a, b, border, outlines) for a, b in zip(before, after, strict=True)]
            for at, end, weight in _runs(weights):
                paths.setdefault(weight, []).append(f"M{xs[column]} {ys[at]}V{ys[end]}")
        return [f'<path class="l{weight}" d="{"".join(paths[weight])}"/>' for weight in sorted(paths)]

    def _row(self, at: int) -> list[Cell | None]:
        return self.cells[at] if 0 <= at < len(self.rows) else [None] * len(self.columns)

    def _column(self, at: int) -> list[Cell | None]:
        return [line[at] if 0 <= at < len(self.columns) else None for line in self.cells]

    def _has_outlines(self) -> bool:
        """Whether groups are areas: most cells have a neighbour of their group, so that outlines say something."""
        pairs = [(line[at], line[at + 1]) for line in self.cells for at in range(len(line) - 1)]
        pairs += [pair for a, b in zip(self.cells, self.cells[1:], strict=False) for pair in zip(a, b, strict=True)]
        together = sum(bool(a and b and a.group is not None and a.group == b.group) for a, b in pairs)
        return 3 * together >= len(pairs)

    def _axes(self, xs: list[int], ys: list[int]) -> list[str]:
        body = ['<g class="a">']
        for level, spans in enumerate(self._column_spans):
            y = ys[0] - 7 - LEVEL * level
            if level < len(self.panel.columns.names):
                body.append(f'<text class="e" x="{xs[0] - 8}" y="{y}">{escape(self.panel.columns.names[level])}</text>')
            for span in spans:
                start, end = xs[span.start], xs[span.start + span.length]
                body.append(f'<text class="c" x="{(start + end) // 2}" y="{y}">{escape(span.text)}</text>')
                if level and span.length > 1:
                    body.append(f'<path class="b" d="M{start + 4} {y + 4}H{end - 4}"/>')
        x = xs[0]
        for level, (spans, width) in enumerate(zip(self._row_spans, self._row_level_widths(), strict=True)):
            for span in spans:
                start, end = ys[span.start], ys[span.start + span.length]
                body.append(f'<text class="e" x="{x - 8}" y="{(start + end) // 2 + 4}">{escape(span.text)}</text>')
                if level and span.length > 1:
                    body.append(f'<path class="b" d="M{x - 4} {start + 4}V{end - 4}"/>')
            x -= width
        return [*body, "</g>"]

    def _labels(self, xs: list[int], ys: list[int], sizes: _Sizes) -> list[str]:
        body = ['<g class="c">' if sizes.single else '<g class="c s">']
        step, base = LINE, 5 if sizes.single else 4
        for row, line in enumerate(self.cells):
            for column, cell in enumerate(line):
                if cell is None:
                    continue
                x = (xs[column] + xs[column + 1]) // 2
                first = (ys[row] + ys[row + 1] - step * (len(cell.label) - 1)) // 2 + base
                faint = ' class="f"' if cell.faint else ""
                for at, text in enumerate(cell.label):
                    body.append(f'<text{faint} x="{x}" y="{first + step * at}">{escape(text)}</text>')
        return [*body, "</g>"]


def _edges(kept: Kept, size: int) -> list[int]:
    """Where rows or columns begin, and where the last ends."""
    edges = [0]
    for at in kept:
        edges.append(edges[-1] + (GAP if at is None else size))
    return edges


def _weight(before: Cell | None, after: Cell | None, border: int, outlines: bool) -> int | None:
    """How thick the line between two cells is; `None` where there is none."""
    if before is None and after is None:
        return None
    if before is None or after is None:
        return 1
    if outlines and before.group != after.group:
        return max(1, min(border, 3))
    return min(border, 3)


def _runs(values: list[_Value | None]) -> list[tuple[int, int, _Value]]:
    """Stretches of equal values but `None`: begin, end, value."""
    found: list[tuple[int, int, _Value]] = []
    at = 0
    for value, run in groupby(values):
        end = at + len(list(run))
        if value is not None:
            found.append((at, end, value))
        at = end
    return found
