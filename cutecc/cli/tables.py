"""Tables that fit the terminal: columns of less use are left out, so that those that stay can be read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

_UNBOUNDED = 1 << 16
"""Columns: wider than every table."""


def fitting(make: Callable[[Sequence[str]], Table], dispensable: Sequence[str], console: Console) -> Table:
    """`make` of the columns to leave out: as few of the `dispensable` ones, from the first on, as the width allows."""
    unbounded = console.options.update(max_width=_UNBOUNDED)
    for count in range(len(dispensable)):
        table = make(dispensable[:count])
        if console.measure(table, options=unbounded).maximum <= console.width:
            return table
    return make(dispensable)


def print_table(table: RenderableType, console: Console) -> None:
    """Print a table, or several, without blanks at the ends of its lines."""
    from rich.segment import Segment, Segments

    for line in console.render_lines(table, pad=False):
        while line and not line[-1].text.strip():
            line.pop()
        if line:
            line[-1] = Segment(line[-1].text.rstrip(), line[-1].style)
        console.print(Segments([*line, Segment.line()]), end="")
