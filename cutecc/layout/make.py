"""Layouts made to order: by an order of modes, like another, thread-value, of coordinates, tiled to a shape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from cutecc.errors import LayoutError
from cutecc.layout.algebra import cached, composition, filter_zeros, right_inverse
from cutecc.layout.basis import Basis
from cutecc.layout.integers import Integer, multiply
from cutecc.layout.layout import Layout, make_layout
from cutecc.layout.modes import append_to_rank
from cutecc.layout.product import blocked_product, raked_product
from cutecc.layout.swizzle import AnyLayout, ComposedLayout, on_outer
from cutecc.layout.tuples import (
    IntTuple,
    ceil_div,
    is_static,
    is_tuple,
    leaves,
    map_leaves,
    modes,
    nested_as,
    prefix_products,
    product,
    show,
)


@cached
def make_ordered_layout(shape: IntTuple, order: IntTuple) -> Layout:
    """A compact layout whose mode with the smallest number in `order` is the fastest.

    `order` nests as `shape` does, or less: a mode under one number is compact with its leftmost mode fastest. Modes of
    equal numbers get equal strides; those whose number is not known come last, from left to right.
    """
    return Layout(shape, nested_as(order, _compact(list(_blocks(order, shape)))))


def _compact(modes: Sequence[tuple[Any, IntTuple]], start: Integer = 1) -> Iterator[Any]:
    """The strides of modes, each with its rank: compact from `start` on, the mode of the least known rank first."""
    places = [(0, rank) if isinstance(rank, int) else (1, number) for number, (rank, _) in enumerate(modes)]
    for own, (_, mode) in zip(places, modes, strict=True):
        faster = tuple(other for place, (_, other) in zip(places, modes, strict=True) if place < own)
        yield prefix_products(mode, multiply(start, product(faster)))


def _blocks(order: Any, shape: Any) -> Iterator[tuple[Integer, IntTuple]]:
    """Each number of `order` with the part of `shape` that it orders."""
    if not is_tuple(order):
        yield order, shape
        return
    if not is_tuple(shape) or len(order) != len(shape):
        raise LayoutError(f"make_ordered_layout: order {show(order)} does not fit shape {show(shape)}")
    for rank, mode in zip(order, shape, strict=True):
        yield from _blocks(rank, mode)


@cached
def make_layout_like(layout: AnyLayout) -> Layout:
    """A compact layout of the same shape whose modes are ordered by `layout`'s strides; stride 0 stays.

    Strides that are not known count as larger than those that are, and are ordered from left to right. Modes of equal
    strides get equal ones again.
    """
    layout = layout.outer if isinstance(layout, ComposedLayout) else layout
    compact = _ordered_by_strides(filter_zeros(layout), 1)

    def kept(stride: Any, new: Integer) -> Integer:
        return 0 if stride == 0 else new

    return Layout(layout.shape, map_leaves(kept, layout.stride, compact.stride))


@cached
def make_fragment_like(layout: AnyLayout) -> Layout:
    """A compact layout for registers: the first mode leftmost fastest, the others ordered by `layout`'s strides.

    Stride 0 stays in the first of several modes alone. With a size that is not known, all go from left to right.
    """
    layout = layout.outer if isinstance(layout, ComposedLayout) else layout
    if len(layout) <= 1 or not is_static(layout.shape):
        return make_layout(layout.shape)
    first = filter_zeros(layout[0])
    fragment = Layout(layout[0].shape, prefix_products(first.shape))
    rest = Layout(modes(layout.shape)[1:], modes(layout.stride)[1:])
    return Layout(layout.shape, (fragment.stride, *modes(_ordered_by_strides(rest, first.size).stride)))


def _ordered_by_strides(layout: Layout, start: Integer) -> Layout:
    ranked = list(zip(leaves(layout.stride), leaves(layout.shape), strict=True))
    return Layout(layout.shape, nested_as(layout.shape, _compact(ranked, start)))


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
    `(16,128)` and `((32,4),(4,4)):((64,4),(16,1))`. Raises `LayoutError` for one that is not compact.
    """
    for name, layout in (("threads", threads), ("values", values)):
        if right_inverse(layout).size != layout.size:
            raise LayoutError(f"make_layout_tv: the {name} {layout} are not compact: they do not number 0, 1, 2, …")
    elements = raked_product(threads, values)
    pairs = make_layout((threads.size, values.size))
    tile = tuple(map(product, modes(elements.shape)))
    return tile, cast(Layout, composition(right_inverse(elements), pairs))


@on_outer
def tile_to_shape(block: Layout, shape: IntTuple, order: IntTuple | None = None) -> Layout:
    """Copies of `block` that fill `shape`, the copies in the given order of modes (leftmost first without one).

    Each mode is `(block, copies)`; where the block does not divide the shape, the last copies stick out. A mode of the
    shape that is a tuple is as many elements as it has.
    """
    target = tuple(map(product, modes(shape)))
    if len(block) > len(target):
        raise LayoutError(f"tile_to_shape: the block {block} has more modes than the shape {show(shape)}")
    padded = append_to_rank(block, len(target))
    counts = ceil_div(target, tuple(map(product, modes(padded.shape))))
    tiles = make_layout(counts) if order is None else make_ordered_layout(counts, order)
    return blocked_product(padded, tiles)
