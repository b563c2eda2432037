"""The picture of a thread-value layout: who holds each element of a tile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cutecc.errors import LayoutError
from cutecc.layout.facts import leads_to_coordinates, offsets
from cutecc.layout.layout import make_layout
from cutecc.layout.pictures.colours import group_colour
from cutecc.layout.pictures.drawing import Line, check_drawable, element_at, labels, panels_of, size_of
from cutecc.layout.pictures.grid import Cell, Picture
from cutecc.layout.swizzle import AnyLayout
from cutecc.layout.tuples import is_tuple, show


def picture_of_threads(layout: AnyLayout, tile: Any, *, lines: Sequence[Line] = ()) -> Picture:
    """A picture of the `tile` that the threads of `layout` share, with the numbers of thread and value.

    `layout` sends (thread, value) to an index in the tile, leftmost mode fastest. `lines` add the index or coordinate
    in the tile to the labels. Raises `LayoutError` when it is no such layout, or leads out of the tile.
    """
    check_drawable(layout)
    check_drawable(make_layout(tile))
    if layout.rank != 2 or not is_tuple(layout.shape) or leads_to_coordinates(layout):
        raise LayoutError(
            f"{layout} is no thread-value layout: it has to have two modes, thread and value, and lead to an index"
        )
    threads, values = (size_of(mode) for mode in layout.shape)
    size = size_of(tile)
    holders: dict[int, list[tuple[int, int]]] = {}
    for number, index in enumerate(offsets(layout)):
        value, thread = divmod(number, threads)
        if not 0 <= index < size:
            raise LayoutError(
                f"thread {thread} has value {value} at index {index}; a tile {show(tile)} has {size} elements"
            )
        holders.setdefault(index, []).append((thread, value))
    positions = make_layout(tile)

    def cell(indices: tuple[int, ...]) -> Cell:
        element = element_at(positions, indices)
        found = holders.get(element.index)
        more = labels(element, lines)
        if not found:
            return Cell(more)
        thread, value = found[0]
        others = (f"+{len(found) - 1}",) if len(found) > 1 else ()
        return Cell((f"T{thread}", f"V{value}", *others, *more), group_colour(thread), thread)

    panels, notes = panels_of(tile, cell)
    if len(holders) < size:
        notes += (f"{size - len(holders)} elements of the tile belong to no thread",)
    if any(len(found) > 1 for found in holders.values()):
        notes += ("+n: n more threads or values have the same element",)
    subtitle = f"{_counted(threads, 'thread')} with {_counted(values, 'value')} each, on the tile {show(tile)}"
    return Picture(str(layout), panels, subtitle, notes=notes, joint="")


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' if count != 1 else ''}"
