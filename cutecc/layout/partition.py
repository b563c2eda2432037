"""What one block, and one thread, gets of a tensor: local tiles, local partitions, coordinate tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cutecc.errors import LayoutError
from cutecc.layout.algebra import Tile
from cutecc.layout.basis import ArithmeticTuple, Basis, add_coordinates
from cutecc.layout.divide import zipped_divide
from cutecc.layout.integers import Integer, Symbolic, absolute, add, divide, multiply, remainder, sign, subtract
from cutecc.layout.layout import Layout
from cutecc.layout.make import make_identity_layout
from cutecc.layout.modes import dice_tuple, slice_layout
from cutecc.layout.swizzle import SomeLayout
from cutecc.layout.tuples import Coordinate, IntTuple, is_tuple, leaves, modes, product, show


def local_tile(
    layout: SomeLayout, tiler: Tile, coordinate: Coordinate, projection: Coordinate = None
) -> tuple[SomeLayout, ArithmeticTuple]:
    """The tile at `coordinate` among the tiles of `layout`, and its offset; modes with `_` stay.

    A `projection` such as `(1, None, 1)` takes only the modes of `tiler` and `coordinate` where it has a number, and
    those of `coordinate` that it does not reach.
    """
    if projection is not None:
        beyond = len(modes(coordinate)) - len(modes(projection))
        tiler = dice_tuple(projection, tiler)
        coordinate = dice_tuple((*modes(projection), *(1,) * beyond), coordinate)
    divided = zipped_divide(layout, tiler)
    inside, among = modes(divided.shape)
    return slice_layout((_whole(inside), _filled(coordinate, among)), divided)


def local_partition(
    layout: SomeLayout, threads: Layout, index: Integer, projection: Coordinate = None
) -> tuple[SomeLayout, ArithmeticTuple]:
    """What thread `index` of `threads` gets when they are laid over `layout` again and again, and its offset."""
    coordinate = flat_coordinate(threads, index)
    tiler = tuple(map(product, modes(threads.shape)))
    if projection is not None:
        tiler, coordinate = dice_tuple(projection, tiler), dice_tuple(projection, coordinate)
    divided = zipped_divide(layout, tiler)
    return slice_layout((coordinate, _whole(modes(divided.shape)[1])), divided)


def flat_coordinate(layout: Layout, index: Integer) -> tuple[Integer, ...]:
    """The coordinate, one integer for each mode at the top, that an injective `layout` sends to `index`.

    Leaf by leaf it is `index / stride % size`, so indices beyond the layout begin again.
    """
    coordinate: list[Integer] = []
    for mode in range(len(layout)):
        total: Integer = 0
        step: Integer = 1
        for size, stride in zip(leaves(layout[mode].shape), leaves(layout[mode].stride), strict=True):
            total = add(total, multiply(_leaf_coordinate(index, size, stride), step))
            step = multiply(step, size)
        coordinate.append(total)
    return tuple(coordinate)


def hierarchical_coordinate(layout: Layout, index: Integer) -> Any:
    """The same coordinate, nested as the shape of `layout` is."""
    if not is_tuple(layout.shape):
        return _leaf_coordinate(index, layout.shape, layout.stride)
    return tuple(hierarchical_coordinate(layout[mode], index) for mode in range(len(layout)))


def _leaf_coordinate(index: Integer, size: Any, stride: Any) -> Integer:
    if stride == 0 or size == 1:
        return 0
    if isinstance(stride, Basis):
        raise LayoutError(f"{size}:{stride} leads to coordinates, not to indices")
    if isinstance(stride, Symbolic):
        # It may be 0 too: then nothing is divided by it, and the coordinate is 0.
        moves = absolute(sign(stride))
        return remainder(multiply(divide(index, add(stride, subtract(1, moves))), moves), size)
    return remainder(divide(index, stride), size)


def _whole(shape: Any) -> Any:
    return tuple(None for _ in shape) if is_tuple(shape) else None


def _filled(coordinate: Any, shape: Any) -> Any:
    """The coordinate with `_` for the modes of `shape` that it does not reach."""
    if not is_tuple(coordinate) or not is_tuple(shape):
        return coordinate
    return (*coordinate, *(None,) * (len(shape) - len(coordinate)))


@dataclass(frozen=True, slots=True)
class CoordinateTensor:
    """A tensor whose elements are coordinates: `offset + layout(c)`, the layout's strides being `1@0`, `1@1`, …."""

    offset: ArithmeticTuple
    layout: Layout

    def __str__(self) -> str:
        return f"{show(self.offset)} o {self.layout}"

    def __call__(self, coordinate: Coordinate) -> ArithmeticTuple:
        """The coordinate at a coordinate."""
        return add_coordinates(self.offset, self.layout(coordinate))

    def tile(self, tiler: Tile, coordinate: Coordinate, projection: Coordinate = None) -> CoordinateTensor:
        layout, offset = local_tile(self.layout, tiler, coordinate, projection)
        return CoordinateTensor(add_coordinates(self.offset, offset), layout)


def make_identity_tensor(shape: IntTuple) -> CoordinateTensor:
    """The tensor of `shape` whose element at a coordinate is that coordinate."""
    zero = _zeros(shape)
    return CoordinateTensor(zero, make_identity_layout(shape))


def _zeros(shape: IntTuple) -> Any:
    return tuple(map(_zeros, shape)) if is_tuple(shape) else 0
