"""What a picture is, before it is drawn: panels of labelled and coloured cells, with the coordinates on their axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from cutecc.layout.pictures.colours import EMPTY
from cutecc.layout.tuples import leaves


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
    """The rows or the columns of a panel, and what their coordinates are, innermost mode first."""

    name: str
    levels: tuple[tuple[str, ...], ...]
    """For each level, the coordinate of every row; the rows where outer coordinates agree are drawn as one span."""
    size: int
    level_names: tuple[str, ...] = ()
    """What the levels are, when the numbers alone do not say it."""

    def spans(self, level: int, kept: Sequence[int | None]) -> list[Span]:
        """The coordinate of `level` over the rows in `kept`, of which `None` is a gap."""
        found: list[Span] = []
        start = 0
        for key, run in groupby(kept, lambda at: None if at is None else self._from(level, at)):
            length = len(list(run))
            # The innermost coordinate stands at every row.
            step = length if level else 1
            for at in range(start, start + length, step):
                found.append(Span(at, step, "…" if key is None else key[0]))
            start += length
        return found

    def _from(self, level: int, at: int) -> tuple[str, ...]:
        return tuple(each[at] for each in self.levels[level:])

    def border(self, before: int, after: int) -> int:
        """How many levels change from one row to the next, less one: how thick the line between them is.

        Where each row has another coordinate at a level, that level says nothing of its own.
        """
        thickness = 0
        for level in range(1, len(self.levels)):
            if self._changes(level) < self.size - 1 and self._from(level, before) != self._from(level, after):
                thickness = level
        return thickness

    def _changes(self, level: int) -> int:
        if level not in self._counts:
            pairs = zip(range(self.size - 1), range(1, self.size), strict=True)
            self._counts[level] = sum(self._from(level, a) != self._from(level, b) for a, b in pairs)
        return self._counts[level]

    @property
    def _counts(self) -> dict[int, int]:
        return self.__dict__.setdefault("_changes_by_level", {})


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


def axis_of(shape: Any, name: str) -> Axis:
    """The axis of one mode: its index, or for a mode of modes the coordinate of each, those of size 1 left out."""
    sizes = [size for size in leaves(shape) if size != 1] or [1]
    levels: list[tuple[str, ...]] = []
    count = 1
    for size in sizes:
        count *= size
    below = 1
    for size in sizes:
        levels.append(tuple(str(index // below % size) for index in range(count)))
        below *= size
    return Axis(name, tuple(levels), count)


def kept_of(size: int, limit: int) -> list[int | None]:
    """Which of `size` rows are drawn when at most `limit` are: all, or those at both ends with a gap between."""
    if size <= limit:
        return list(range(size))
    last = max(1, limit // 4)
    return [*range(max(1, limit - last)), None, *range(size - last, size)]


def left_out(kept: Sequence[int | None], size: int) -> tuple[int, int] | None:
    """The first and the last that are not drawn; `None` when all are."""
    if None not in kept:
        return None
    gap = kept.index(None)
    before, after = kept[gap - 1], kept[gap + 1]
    assert before is not None and after is not None and after < size
    return before + 1, after - 1
