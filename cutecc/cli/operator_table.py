"""The table of `cutecc operators`: whole in a pipe, and as wide as the terminal on one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from cutecc.operations.metadata_filter import Fact

Row: TypeAlias = "tuple[str, ...]"
"""A cell for each of the headings; the last is the operator's name."""
HEADINGS = ("types", "layouts", "tile", "cluster", "align", "operator")
_DISPENSABLE = ("cluster", "align", "layouts", "types", "tile")
"""Columns that a narrow terminal does without, these first: names have most of it."""
_LEAST_NAME = 40
"""Characters of a name for which columns make room."""
_GAP = "  "


def row_of(facts: Mapping[str, Fact]) -> Row:
    """The row of an operator with these facts; `-` is what it does not say."""

    def text(key: str) -> str:
        value = facts.get(key)
        return "-" if value is None else str(value)

    roles = ("a", "b", "out")
    types = ",".join([*(text(f"{role}.dtype") for role in roles), text("accumulator")])
    letters = {"row": "t", "column": "n"}
    layouts = "".join(letters.get(text(f"{role}.layout"), "-") for role in roles)
    alignments = dict.fromkeys(text(f"{role}.alignment") for role in roles)
    return types, layouts, text("tile"), text("cluster"), ",".join(alignments), text("name")


def table_lines(rows: Sequence[Row], columns: int | None = None) -> list[str]:
    """The lines of a table, in so many columns if a number is given.

    Then names are cut, and as few of the table's own columns left out as leave every row different from the others.
    """
    whole = [HEADINGS, *rows]
    if columns is None:
        return _aligned(whole)
    widths = [max(map(len, cells)) for cells in zip(*whole, strict=True)]
    table: list[Row] = []
    for shown in _choices():
        room = columns - sum(widths[index] + len(_GAP) for index in shown)
        table = [(*(row[index] for index in shown), shortened(row[-1], room)) for row in whole]
        if room >= min(widths[-1], _LEAST_NAME) and len({*table}) == len(table):
            break
    return _aligned(table)


def _aligned(table: Sequence[Row]) -> list[str]:
    """A line for each row, the cells of a column at the same place."""
    widths = [max(map(len, cells)) for cells in zip(*table, strict=True)]
    return [_GAP.join([*map(str.ljust, row[:-1], widths), row[-1]]) for row in table]


def _choices() -> Iterator[list[int]]:
    """Which columns to show besides names, by their places, the best choice first, and none at the end."""
    for count in range(len(_DISPENSABLE) + 1):
        for left_out in combinations(_DISPENSABLE, count):
            yield [index for index, heading in enumerate(HEADINGS[:-1]) if heading not in left_out]


def shortened(name: str, room: int) -> str:
    """A name in so many characters: the provider and its last words, which tell it from others, and `…` between."""
    if len(name) <= room:
        return name
    head = f"{name.partition('.')[0]}.…"
    tail = name[len(name) - max(room - len(head), 1) :]
    return head + tail[max(tail.find("_"), 0) :]  # half a number would be another one
