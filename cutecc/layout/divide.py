"""Dividing a layout into tiles: each element gets a coordinate within its tile, and its tile one among the tiles."""

from __future__ import annotations

from cutecc.errors import LayoutError
from cutecc.layout.algebra import Tile, coalesce, complement, composition, show_tile
from cutecc.layout.basis import Basis
from cutecc.layout.integers import Integer, ceil_divide
from cutecc.layout.layout import Layout, join, make_layout
from cutecc.layout.swizzle import on_outer
from cutecc.layout.tuples import IntTuple, ceil_div, is_tuple, leaves, map_leaves, product, show


@on_outer
def logical_divide(layout: Layout, tiler: Tile) -> Layout:
    """The layout as `(tile, rest)`, or with a tuple for a tiler each mode as `(tile, rest)`.

    Raises `LayoutError` when the tiler does not divide the layout.
    """
    if tiler is None:
        return layout
    if is_tuple(tiler):
        if len(tiler) > len(layout):
            raise LayoutError(
                f"the tiler {show_tile(tiler)} has {len(tiler)} modes, the layout {layout} has {len(layout)}"
            )
        divided = [logical_divide(layout[mode], each) for mode, each in enumerate(tiler)]
        return join(*divided, *(layout[mode] for mode in range(len(tiler), len(layout))))
    tile = tiler if isinstance(tiler, Layout) else make_layout(tiler)
    # A tile of coordinates is of the layout's own modes, which coalescing would join.
    box = layout if any(isinstance(stride, Basis) for stride in leaves(tile.stride)) else coalesce(layout)
    try:
        return composition(layout, join(tile, complement(tile, box.shape)))
    except LayoutError as error:
        raise LayoutError(error.message, notes=[*error.notes, f"to divide {layout} by {tile}"]) from None


@on_outer
def zipped_divide(layout: Layout, tiler: Tile) -> Layout:
    """The layout as `((tile, ...), (rest, ...))`: one mode within a tile, one among the tiles."""
    return join(*_unzipped(logical_divide(layout, tiler), tiler))


def _unzipped(layout: Layout, tiler: Tile) -> tuple[Layout, Layout]:
    if is_tuple(tiler):
        zipped = [_unzipped(layout[mode], each) for mode, each in enumerate(tiler)]
        rests = [rest for _, rest in zipped] + [layout[mode] for mode in range(len(tiler), len(layout))]
        return join(*(tile for tile, _ in zipped)), join(*rests)
    if len(layout) != 2:
        # `_` leaves a mode as it is, so it has to be a pair of tile and rest already.
        raise LayoutError(f"'{show_tile(tiler)}' leaves {layout} as it is, which is not a pair of a tile and a rest")
    return layout[0], layout[1]


@on_outer
def tiled_divide(layout: Layout, tiler: Tile) -> Layout:
    """The layout as `((tile, ...), rest, ...)`."""
    zipped = zipped_divide(layout, tiler)
    return join(zipped[0], *zipped[1])


@on_outer
def flat_divide(layout: Layout, tiler: Tile) -> Layout:
    """The layout as `(tile, ..., rest, ...)`."""
    zipped = zipped_divide(layout, tiler)
    return join(*zipped[0], *zipped[1])


def count_tiles(shape: IntTuple, tiler: Tile) -> IntTuple:
    """How many tiles cover a shape: mode by mode, and of layouts, as many elements as the mode has.

    Raises `LayoutError` when the tiler has more modes than the shape.
    """
    if isinstance(tiler, Layout):
        return _count_of(tiler, shape)
    if not any(isinstance(each, Layout) for each in leaves(tiler)):
        return ceil_div(shape, tiler)
    if not is_tuple(shape):
        return ceil_divide(shape, product(map_leaves(_elements, tiler)))
    if len(tiler) > len(shape):
        raise LayoutError(f"ceil_div: {show_tile(tiler)} has more modes than {show(shape)}")
    return (*map(count_tiles, shape, tiler), *shape[len(tiler) :])


def _elements(tile: Layout | Integer) -> Integer:
    return tile.size if isinstance(tile, Layout) else tile


def _count_of(tile: Layout, shape: IntTuple) -> IntTuple:
    """How many copies of `tile` cover as many elements as `shape` has: of its first element, then of it as a whole."""
    size, packed = product(shape), coalesce(tile)
    return ceil_divide(size, packed.size) if packed.stride == 1 else complement(tile, size).shape
