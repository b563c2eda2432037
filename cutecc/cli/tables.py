"""Tables that fit the terminal: columns of less use are left out, so that those that stay can be read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from cutecc.cli.console import UNBOUNDED

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

_GAP = 3
"""Characters between two columns."""


Row: TypeAlias = "Mapping[str, Text | str] | str"
"""A cell for each heading; a text alone is the heading of the rows that follow."""
NUMBERS: Mapping[str, Any] = {"justify": "right", "no_wrap": True}
NAMES: Mapping[str, Any] = {"overflow": "fold"}
"""Settings of a column of these."""


def plain_table() -> Table:
    """A table without a frame, still without columns."""
    from rich import box
    from rich.table import Table

    return Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)


def fitting(
    columns: Mapping[str, Mapping[str, Any]], rows: Sequence[Row], dispensable: Sequence[str], console: Console
) -> Table:
    """A table of rows without as few of the `dispensable` columns, from the first on, as the width allows.

    `columns` are the settings of each, as rich has them, by its heading.
    """
    unbounded = console.options.update(max_width=UNBOUNDED)
    for count in range(len(dispensable)):
        table = _without(dispensable[:count], columns, rows)
        if console.measure(table, options=unbounded).maximum <= console.width:
            return table
    return _without(dispensable, columns, rows)


def _without(left_out: Sequence[str], columns: Mapping[str, Mapping[str, Any]], rows: Sequence[Row]) -> Table:
    shown = [heading for heading in columns if heading not in left_out]
    table = plain_table()
    for heading in shown:
        table.add_column(heading, **columns[heading])
    for row in rows:
        if isinstance(row, str):
            _add_heading(table, row)
        else:
            table.add_row(*(row[heading] for heading in shown))
    return table


def _add_heading(table: Table, text: str) -> None:
    table.add_section()
    table.add_row(text, style="bold")


def print_table(table: RenderableType, console: Console) -> None:
    """Print a table, or several, without blanks at the ends of its lines."""
    from rich.segment import Segment, Segments

    for line in console.render_lines(table, pad=False):
        while line and not line[-1].text.strip():
            line.pop()
        if line:
            line[-1] = Segment(line[-1].text.rstrip(), line[-1].style)
        console.print(Segments([*line, Segment.line()]), end="")


@dataclass(frozen=True)
class NameTable:
    """A table whose first and last columns hold names, which stay whole: they are folded between words and parts."""

    headings: Sequence[str]
    rows: Sequence[Sequence[Text] | str]
    """A cell for each heading; a text alone is the heading of those that follow."""
    numbers: Sequence[str] = ()
    """Headings of columns that stand at the right."""

    def fitting(self, width: int, dispensable: Sequence[str]) -> Table:
        """The table in so many characters, without as few of the `dispensable` columns as that takes."""
        kept = [*self.headings]
        for heading in dispensable:
            room = self._room(kept, width)
            if self._longest(0) + self._longest_word(-1) <= room:
                break
            kept.remove(heading)
        return self._table(kept, self._room(kept, width))

    def _room(self, kept: Sequence[str], width: int) -> int:
        """Characters for the first and the last column together."""
        between = [self._longest(self.headings.index(heading)) for heading in kept[1:-1]]
        return width - sum(between) - _GAP * (len(kept) - 1)

    def _cells(self, column: int) -> list[str]:
        return [self.headings[column], *(row[column].plain for row in self.rows if not isinstance(row, str))]

    def _longest(self, column: int) -> int:
        return max(map(len, self._cells(column)))

    def _longest_word(self, column: int) -> int:
        return max(len(word) for cell in self._cells(column) for word in cell.split())

    def _table(self, kept: Sequence[str], room: int) -> Table:
        from rich.text import Text

        last = max(room - self._longest(0), min(self._longest_word(-1), room // 2))
        widths = {0: room - last, len(self.headings) - 1: last}
        table = plain_table()
        for heading in kept:
            table.add_column(heading, justify="right" if heading in self.numbers else "left", no_wrap=True)
        for row in self.rows:
            if isinstance(row, str):
                _add_heading(table, row)
                continue
            cells = [
                Text(folded(cell.plain, widths[index]), style=cell.style) if index in widths else cell
                for index, cell in enumerate(row)
                if self.headings[index] in kept
            ]
            table.add_row(*cells)
        return table


_PARTS = re.compile(r"[^._/\-]*[._/\-]+|[^._/\-]+")
"""Of a name, its parts with what ends them."""


def folded_items(items: Iterable[str], width: int) -> str:
    """Items side by side, two blanks between them, in lines of at most `width` characters; each stays whole."""
    lines: list[str] = []
    for item in items:
        if lines and len(lines[-1]) + 2 + len(item) <= width:
            lines[-1] += f"  {item}"
        else:
            lines.append(item)
    return "\n".join(lines)


def folded(text: str, width: int) -> str:
    """`text` in lines of at most `width` characters, folded at blanks, and in longer words behind `.`, `_`, `/`, `-`.

    Where a part of a name is longer still, its line is.
    """
    lines: list[str] = []
    for word in text.split():
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += f" {word}"
            continue
        lines.append("")
        for part in _PARTS.findall(word):
            if lines[-1] and len(lines[-1]) + len(part) > width:
                lines.append("")
            lines[-1] += part
    return "\n".join(lines)
