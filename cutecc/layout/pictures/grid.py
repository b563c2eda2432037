"""What a picture is, before it is drawn: panels of labelled and coloured cells, with the coordinates on their axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any, TypeAlias

from cutecc.layout.pictures.colours import EMPTY
from cutecc.layout.tuples import leaves

Kept: TypeAlias = Sequence[int | None]
"""The rows or columns that are drawn; `None` is a gap for those that are not."""


@dataclass(frozen=True)
class Cell:
    """One element of a layout."""

    label: tuple[str, ...]
    """Lines of text; empty where the layout has no element."""
    colour: str = EMPTY
    """`#rrggbb`."""
    group: int | None = None
    """The tile, thread or bank that the colour stands for."""
    faint: bool = False
    """Whether it lies beyond the layout."""


@dataclass(frozen=True)
class Span:
    """Neighbouring rows or columns with one coordinate."""

    start: int
    length: int
    text: str


@dataclass(frozen=True)
class Axis:
    """The rows or the columns of a panel, and what their coordinates are."""

    size: int
    levels: tuple[Callable[[int], str], ...]
    """The coordinate of a row at each level, innermost first."""
    names: tuple[str, ...] = ()
    """What the levels are, where the numbers alone do not say it."""

    def spans(self, level: int, kept: Kept) -> list[Span]:
        """The coordinates of `level` over the rows in `kept`; neighbours share one where all outer ones agree too."""
        found: list[Span] = []
        start = 0
        for key, run in groupby(kept, lambda at: None if at is None else self._from(level, at)):
            length = len(list(run))
            # The innermost coordinate stands at every row.
            step = length if level else 1
            found += [Span(at, step, "…" if key is None else key[0]) for at in range(start, start + length, step)]
            start += length
        return found

    def borders(self, kept: Kept) -> list[int]:
        """How thick the line after each row in `kept` is: the outermost level that changes there.

        A level that changes at every row groups nothing, and counts as none.
        """
        thickness = [0] * len(kept)
        for level in range(1, len(self.levels)):
            changes = [
                place
                for place, (before, after) in enumerate(pairwise(kept))
                if before is not None and after is not None and self._from(level, before) != self._from(level, after)
            ]
            if len(changes) < len(kept) - 1:
                for place in changes:
                    thickness[place] = level
        return thickness

    def _from(self, level: int, at: int) -> tuple[str, ...]:
        return tuple(coordinate(at) for coordinate in self.levels[level:])


@dataclass(frozen=True)
class Panel:
    """One grid: a matrix, or one of several that show the modes beyond the second."""

    rows: Axis
    columns: Axis
    cell: Callable[[int, int], Cell]
    """The cell in a row and a column."""
    caption: str = ""


@dataclass(frozen=True)
class LegendEntry:
    """What a colour means."""

    colour: str
    text: str


@dataclass(frozen=True)
class Picture:
    """A layout as it is drawn."""

    title: str
    panels: tuple[tuple[Panel, ...], ...]
    """Rows of panels."""
    subtitle: str = ""
    legend: tuple[LegendEntry, ...] = ()
    notes: tuple[str, ...] = ()
    joint: str = "/"
    """What stands between a cell's lines where they share one."""


def axis_of(shape: Any) -> Axis:
    """The axis of one mode: its index, or for a mode of modes the coordinate in each, those of size 1 left out."""
    sizes: list[int] = [size for size in leaves(shape) if size != 1] or [1]
    levels: list[Callable[[int], str]] = []
    below = 1
    for size in sizes:

        def coordinate(index: int, below: int = below, size: int = size) -> str:
            return str(index // below % size)

        levels.append(coordinate)
        below *= size
    return Axis(below, tuple(levels))


def kept_of(size: int, limit: int) -> Kept:
    """Which of `size` rows are drawn when at most `limit` are: all, or those at both ends with a gap between.

    Where there is room for it, the ends are multiples of 8 rows, so that the gap does not cut through a tile.
    """
    if size <= limit:
        return list(range(size))
    last = max(1, limit // 4)
    first = max(1, limit - last)
    if limit >= 24:
        last, first = last // 8 * 8 or 8, (limit - (last // 8 * 8 or 8)) // 8 * 8
    return [*range(first), None, *range(size - last, size)]


def left_out(kept: Kept) -> str:
    """The rows in the gap, `8–59`; empty when all are drawn."""
    if None not in kept:
        return ""
    gap = kept.index(None)
    before, after = kept[gap - 1], kept[gap + 1]
    assert before is not None and after is not None
    return f"{before + 1}–{after - 1}"


def notes_of(picture: Picture, rows: Kept, columns: Kept) -> list[str]:
    """The notes of a picture, and what is left out of each panel."""
    first = picture.panels[0][0]
    cut = [
        f"{name} {gap} of {size}"
        for name, gap, size in (
            ("rows", left_out(rows), first.rows.size),
            ("columns", left_out(columns), first.columns.size),
        )
        if gap
    ]
    return [*picture.notes, *([f"left out: {', '.join(cut)}"] if cut else [])]
