"""Layouts made to order: by an order of modes, like another, thread-value, of coordinates, tiled to a shape."""

from __future__ import annotations

import itertools
from typing import Any, cast

from cutecc.errors import LayoutError
from cutecc.layout.algebra import cached, coalesce, composition, right_inverse
from cutecc.layout.basis import Basis
from cutecc.layout.integers import Integer, multiply
from cutecc.layout.layout import Layout, make_layout
from cutecc.layout.product import blocked_product, raked_product
from cutecc.layout.tuples import (
    IntTuple,
    ceil_div,
    is_tuple,
    leaves,
    modes,
    nested_as,
    product,
    show,
)


@cached
def make_ordered_layout(shape: IntTuple, order: IntTuple) -> Layout:
    """A compact layout whose mode with the smallest number in `order` is the fastest.

    `order` nests as `shape` does, or less; equal numbers go from left to right.
    """
    sizes = list(leaves(shape))
    ranks = list(leaves(_spread(order, shape)))
    strides: list[Integer] = [0] * len(sizes)
    current: Integer = 1
    for position in sorted(range(len(sizes)), key=lambda i: (ranks[i], i)):
        if sizes[position] != 1:
            strides[position] = current
            current = multiply(current, sizes[position])
    return Layout(shape, nested_as(shape, strides))


def _spread(order: Any, shape: Any) -> Any:
    """`order` nested as `shape` is, numbers repeated where it is coarser."""
    if is_tuple(order):
        if not is_tuple(shape) or len(order) != len(shape):
            raise LayoutError(f"make_ordered_layout: order {show(order)} does not fit shape {show(shape)}")
        return tuple(map(_spread, order, shape))
    return nested_as(shape, itertools.repeat(order))


@cached
def make_layout_like(layout: Layout) -> Layout:
    """A compact layout of the same shape whose modes are ordered by `layout`'s strides; stride 0 stays.

    Strides that are not known count as larger than those that are, and are ordered from left to right. Modes of equal
    strides get equal ones again.
    """
    flat = list(zip(leaves(layout.shape), leaves(layout.stride), strict=True))

    def place(position: int) -> tuple[int, int]:
        stride = flat[position][1]
        return (0, abs(stride)) if isinstance(stride, int) else (1, position)

    def compact(position: int) -> Integer:
        size, stride = flat[position]
        if stride == 0 or size == 1:
            return 0
        return product(tuple(flat[i][0] for i in range(len(flat)) if flat[i][1] != 0 and place(i) < place(position)))

    return Layout(layout.shape, nested_as(layout.shape, map(compact, range(len(flat)))))


@cached
def make_identity_layout(shape: IntTuple) -> Layout:
    """The layout that sends each coordinate of `shape` to itself; its strides are `1@0`, `1@1`, …."""

    def strides(part: IntTuple, path: tuple[int, ...]) -> Any:
        if is_tuple(part):
            return tuple(strides(inner, (*path, mode)) for mode, inner in enumerate(part))
        return Basis(1, path) if path else 1

    return Layout(shape, strides(shape, ()))


@cached
def make_layout_tv(threads: Layout, values: Layout) -> tuple[IntTuple, Layout]:
    """The tile that `threads`, each with `values`, cover, and the layout `(thread, value) -> index in the tile`.

    `threads` sends a coordinate of the grid of threads to a thread's number, `values` the coordinate of a value in its
    thread to the value's number; both have to be compact. For example `(4,32):(32,1)` and `(4,4):(4,1)` give the tile
    `(16,128)` and `((32,4),(4,4)):((64,4),(16,1))`.
    """
    elements = raked_product(threads, values)
    pairs = make_layout((threads.size, values.size))
    tile = tuple(map(product, modes(elements.shape)))
    return tile, cast(Layout, composition(right_inverse(elements), pairs))


@cached
def tile_to_shape(block: Layout, shape: IntTuple, order: IntTuple | None = None) -> Layout:
    """Copies of `block` that fill `shape`, the copies in the given order of modes (leftmost first without one).

    Raises `LayoutError` when the block does not divide the shape.
    """
    from cutecc.layout.modes import append_to_rank

    target = modes(shape)
    rank = max(len(block), len(target))
    padded = append_to_rank(block, rank)
    sizes = tuple(map(product, modes(padded.shape)))
    full = (*target, *(1,) * (rank - len(target)))
    for mode, (size, whole) in enumerate(zip(sizes, full, strict=True)):
        if isinstance(size, int) and isinstance(whole, int) and whole % size:
            raise LayoutError(f"tile_to_shape: mode {mode} of the block, {size}, does not divide {whole}")
    counts = ceil_div(full, sizes)
    tiles = make_layout(counts) if order is None else make_ordered_layout(counts, order)
    return cast(Layout, coalesce(blocked_product(padded, tiles), full))
