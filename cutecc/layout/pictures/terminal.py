"""Pictures as text for a terminal, coloured or plain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from cutecc.layout.pictures.colours import EMPTY, INK, channels
from cutecc.layout.pictures.grid import Cell, Kept, Panel, Picture, kept_of, notes_of

Colour = Literal["none", "256", "true"]
"""What the terminal shows: no colour, the 256 of xterm, or any."""
ROWS, COLUMNS = 32, 256
MOST_PANELS = 8
MOST_BLOCKS = 3
"""Blocks of columns below each other; where more would be needed, columns are left out."""


def terminal(
    picture: Picture, *, width: int = 80, colour: Colour = "none", rows: int = ROWS, columns: int | None = None
) -> str:
    """A picture as lines of at most `width` characters, where one column of cells fits that.

    Columns that do not fit beside each other go on below. At most `rows` and `columns` of a panel are drawn; without
    `columns`, as many as three blocks take. A note says what is left out.
    """
    lines: list[str] = []
    notes: list[str] = []
    panels = [panel for row in picture.panels for panel in row]
    for panel in panels[:MOST_PANELS]:
        drawn = _Panel(panel, picture.joint, width, colour, rows, columns)
        if panel.caption:
            lines += [panel.caption] if not lines else ["", panel.caption]
        lines += drawn.lines()
        notes = notes or notes_of(picture, drawn.rows, drawn.columns)
    if len(panels) > MOST_PANELS:
        notes.append(f"{len(panels) - MOST_PANELS} more matrices are left out")
    if colour != "none":
        lines += [f"{_painted('  ', entry.colour, colour)} {entry.text}" for entry in picture.legend]
    return "\n".join(line.rstrip() for line in [*lines, *notes]) + "\n"


class _Panel:
    def __init__(self, panel: Panel, joint: str, width: int, colour: Colour, rows: int, columns: int | None) -> None:
        self._panel, self._joint = panel, joint
        self._colour: Colour = colour
        self.rows: Kept = kept_of(panel.rows.size, rows)
        self.columns: Kept = kept_of(panel.columns.size, columns or COLUMNS)
        self._cell_width = self._widest_label()
        self._row_spans = [panel.rows.spans(level, self.rows) for level in range(len(panel.rows.levels))]
        self._level_widths = [max(len(span.text) for span in spans) for spans in self._row_spans]
        self._name_width = max(map(len, panel.columns.names), default=0)
        self._room = max(self._cell_width + 1, width - self._left() - 2)
        per_block = max(1, self._room // (self._cell_width + 1))
        if columns is None and len(self.columns) > MOST_BLOCKS * per_block:
            self.columns = kept_of(panel.columns.size, max(2, per_block - 1))

    def _left(self) -> int:
        return max(sum(self._level_widths) + len(self._level_widths), self._name_width + 1)

    def _text(self, cell: Cell) -> str:
        return self._joint.join(cell.label)

    def _widest_label(self) -> int:
        cells = [self._cell(row, column) for row in self.rows for column in self.columns]
        labels = max((len(self._text(cell)) for cell in cells if cell), default=1)
        axis = self._panel.columns
        numbers = (
            max((len(axis.levels[0](at)) for at in self.columns if at is not None), default=1) if axis.levels else 1
        )
        return max(labels, numbers)

    def _cell(self, row: int | None, column: int | None) -> Cell | None:
        return None if row is None or column is None else self._panel.cell(row, column)

    def lines(self) -> list[str]:
        found: list[str] = []
        for block in self._blocks():
            found += [""] if found else []
            found += self._block(block)
        return found

    def _blocks(self) -> list[list[int]]:
        """Places in `columns`, as many as fit beside each other."""
        borders = self._panel.columns.borders(self.columns)
        blocks: list[list[int]] = [[]]
        used = 0
        for place in range(len(self.columns)):
            size = self._cell_width + 1 + (2 if borders[place] else 0)
            if blocks[-1] and used + size > self._room:
                blocks.append([])
                used = 0
            blocks[-1].append(place)
            used += size
        # Where there is room for it, each block begins at a multiple of 8.
        count = len(blocks[0]) // 8 * 8
        if len(blocks) == 1 or not count:
            return blocks
        return [
            list(range(start, min(start + count, len(self.columns)))) for start in range(0, len(self.columns), count)
        ]

    def _block(self, places: list[int]) -> list[str]:
        borders = self._panel.columns.borders(self.columns)
        row_borders = self._panel.rows.borders(self.rows)
        kept = [self.columns[place] for place in places]
        bars = [bool(borders[place]) for place in places[:-1]] + [False]
        lines = [self._header(level, kept, bars) for level in reversed(range(len(self._panel.columns.levels)))]
        left = self._left()
        labels = self._row_labels()
        for place, row in enumerate(self.rows):
            body = [self._drawn(self._cell(row, column), bar) for column, bar in zip(kept, bars, strict=True)]
            lines.append(f"{labels[place]:>{left}}│" + "".join(body))
            if row_borders[place] and place + 1 < len(self.rows):
                rule = "".join("─" * (self._cell_width + 1) + ("─┼" if bar else "") for bar in bars)
                lines.append(" " * left + "┼" + rule + "─")
        return lines

    def _drawn(self, cell: Cell | None, bar: bool) -> str:
        text = f" {self._text(cell) if cell else '…':>{self._cell_width}}"
        if cell and cell.colour != EMPTY:
            # The space in front belongs to the cell, so that equal neighbours are one area.
            text = _painted(text, cell.colour, self._colour)
        return text + (" │" if bar else "")

    def _header(self, level: int, kept: Kept, bars: list[bool]) -> str:
        names = self._panel.columns.names
        name = names[level] if level < len(names) else ""
        ends: list[int] = [0]
        for bar in bars:
            ends.append(ends[-1] + self._cell_width + 1 + (2 if bar else 0))
        line = f"{name:>{self._left()}} "
        for span in self._panel.columns.spans(level, kept):
            room = ends[span.start + span.length] - ends[span.start] - (2 if bars[span.start + span.length - 1] else 0)
            line = f"{line:<{self._left() + 1 + ends[span.start]}}"
            line += f" {span.text:>{self._cell_width}}" if level == 0 else " " + span.text.center(room - 1, "╌")
        return line

    def _row_labels(self) -> list[str]:
        """The coordinates of each row, outermost first; one that several rows share stands at the first."""
        parts = [[""] * len(self.rows) for _ in self._row_spans]
        for level, spans in enumerate(self._row_spans):
            for span in spans:
                parts[level][span.start] = span.text
        levels = list(zip(parts, self._level_widths, strict=True))[::-1]
        return [" ".join(f"{texts[place]:>{width}}" for texts, width in levels) for place in range(len(self.rows))]


def _painted(text: str, colour: str, depth: Colour) -> str:
    if depth == "none":
        return text
    code: Callable[[str], str] = _true_colour if depth == "true" else _xterm_colour
    return f"\x1b[38;{code(INK)};48;{code(colour)}m{text}\x1b[0m"


def _true_colour(colour: str) -> str:
    return "2;" + ";".join(map(str, channels(colour)))


def _xterm_colour(colour: str) -> str:
    """The nearest of the 6 × 6 × 6 colours of xterm."""
    levels = (0, 95, 135, 175, 215, 255)
    red, green, blue = (min(range(6), key=lambda i: abs(levels[i] - channel)) for channel in channels(colour))
    return f"5;{16 + 36 * red + 6 * green + blue}"
