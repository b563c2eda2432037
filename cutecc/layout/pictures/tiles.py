"""The picture of a division: the elements of each tile in one colour, where they are or gathered by tile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from cutecc.errors import LayoutError
from cutecc.layout.algebra import complement, composition, show_tile
from cutecc.layout.divide import flat_divide, logical_divide, tiled_divide, zipped_divide
from cutecc.layout.layout import Layout, crd2idx, join, make_layout
from cutecc.layout.make import make_identity_layout
from cutecc.layout.pictures.colours import OUTSIDE, group_colour
from cutecc.layout.pictures.drawing import Element, Line, check_drawable, element_at, labels, panels_of, size_of
from cutecc.layout.pictures.grid import Axis, Cell, LegendEntry, Picture
from cutecc.layout.swizzle import AnyLayout
from cutecc.layout.tuples import is_tuple, leaves, modes, show

Form = Literal["logical", "zipped", "tiled", "flat"]
DIVIDES: dict[Form, Callable[[AnyLayout, Any], AnyLayout]] = {
    "logical": logical_divide,
    "zipped": zipped_divide,
    "tiled": tiled_divide,
    "flat": flat_divide,
}


def picture_of_tiles(layout: AnyLayout, tiler: Any, *, form: Form | None = None, lines: Sequence[Line] = ()) -> Picture:
    """A picture of `layout` in tiles of `tiler`, a colour for each tile.

    Without a `form` the elements stay where they are in the layout, and the axes say the tile and the place in it. With
    one, it is the picture of that divide's result; coordinates beyond the layout, in a last tile that is not full, are
    faint. Raises `LayoutError` when the tiler does not divide the layout.
    """
    check_drawable(layout)
    divided = DIVIDES[form or "logical"](layout, tiler)
    check_drawable(divided)
    places = places_of(layout.shape, tiler)
    said: Sequence[Line] = lines or ("offset",)
    subtitle = f"in tiles of {show_tile(tiler)}"
    if form is None:
        return _in_place(layout, tiler, places, said, subtitle)
    coordinates = cast(Layout, DIVIDES[form](make_identity_layout(layout.shape), tiler))

    def cell(indices: tuple[int, ...]) -> Cell:
        element = element_at(divided, indices)
        at: Any = coordinates(indices if is_tuple(coordinates.shape) else indices[0])
        index = _index(at, layout.shape)
        if index is None:
            return Cell(labels(element, said), OUTSIDE, faint=True)
        tile = places[index].tile
        return Cell(labels(element, said), group_colour(tile), tile)

    outside = cast(int, divided.size) > cast(int, layout.size)
    panels, notes = panels_of(divided.shape, cell)
    legend = (LegendEntry(OUTSIDE, "beyond the layout"),) if outside else ()
    subtitle = f"{form}_divide of {layout} by {show_tile(tiler)}"
    return Picture(str(divided), panels, subtitle, legend, notes)


@dataclass(frozen=True)
class Place:
    """Where an element is in a division."""

    tile: int
    within: int
    """Its index in the tile."""


def places_of(shape: Any, tiler: Any) -> list[Place]:
    """The place of each index of `shape` among tiles of `tiler`."""
    return _places(shape, tiler)[1]


def _places(shape: Any, tiler: Any) -> tuple[tuple[int, int], list[Place]]:
    """How many tiles and elements in one there are, and the place of each index."""
    size = size_of(shape)
    if tiler is None:
        return (1, size), [Place(0, index) for index in range(size)]
    if is_tuple(tiler):
        counts, places = (1, 1), [Place(0, 0)]
        for mode, part in enumerate(modes(shape)):
            (tiles, elements), inner = _places(part, tiler[mode]) if mode < len(tiler) else _untiled(part)
            places = [
                Place(outer.tile + counts[0] * each.tile, outer.within + counts[1] * each.within)
                for each in inner
                for outer in places
            ]
            counts = (counts[0] * tiles, counts[1] * elements)
        return counts, places
    tile = tiler if isinstance(tiler, Layout) else make_layout(tiler)
    rest = complement(tile, size)
    divided = cast(Layout, composition(Layout(size, 1), join(tile, rest)))
    elements, tiles = size_of(tile.shape), size_of(rest.shape)
    found: dict[int, Place] = {}
    for index in range(tiles):
        for within in range(elements):
            found[divided((within, index))] = Place(index, within)
    if not all(index in found for index in range(size)):
        raise LayoutError(f"tiles of {show_tile(tiler)} leave out elements of {show(shape)}")
    return (tiles, elements), [found[index] for index in range(size)]


def _untiled(shape: Any) -> tuple[tuple[int, int], list[Place]]:
    """A mode that the tiler does not reach: each of its indices is a tile of its own."""
    size = size_of(shape)
    return (size, 1), [Place(index, 0) for index in range(size)]


def _in_place(layout: AnyLayout, tiler: Any, places: list[Place], lines: Sequence[Line], subtitle: str) -> Picture:
    tops = modes(layout.shape)
    by_mode = is_tuple(tiler) and len(tops) <= 2
    axes: list[Axis] | None = None
    if by_mode:
        axes = [
            _tiled_axis(_places(mode, tiler[at])[1] if at < len(tiler) else _untiled(mode)[1])
            for at, mode in enumerate(tops)
        ]
        axes = [Axis(1, ()), *axes] if len(axes) == 1 else axes

    def cell(indices: tuple[int, ...]) -> Cell:
        element: Element = element_at(layout, indices)
        place = places[element.index]
        more = () if by_mode else (f"{place.tile}:{place.within}",)
        return Cell((*labels(element, lines), *more), group_colour(place.tile), place.tile)

    panels, notes = panels_of(layout.shape, cell, axes)
    if not by_mode:
        notes += ("below each offset: its tile and its place in the tile",)
    return Picture(str(layout), panels, subtitle, notes=notes, joint=" ")


def _tiled_axis(places: list[Place]) -> Axis:
    return Axis(len(places), (lambda at: str(places[at].within), lambda at: str(places[at].tile)), ("in tile", "tile"))


def _index(coordinate: Any, shape: Any) -> int | None:
    """The index of a coordinate in `shape`; `None` when it lies beyond."""
    if shape == ():
        return 0
    if is_tuple(shape):
        parts = modes(coordinate)
        parts = (*parts, *(0,) * (len(shape) - len(parts)))
        coordinate = tuple(parts)
        inside = [_index(part, mode) for part, mode in zip(parts, shape, strict=True)]
        return None if None in inside else cast(int, crd2idx(tuple(inside), tuple(map(size_of, shape))))
    leaf = next(leaves(coordinate))
    return leaf if leaf < shape else None
