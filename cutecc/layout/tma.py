"""What a block gives to TMA: a tile in shared memory and the same tile in global memory, in the order of boxes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from cutecc.layout.algebra import coalesce, composition, right_inverse
from cutecc.layout.basis import ArithmeticTuple, add_coordinates
from cutecc.layout.divide import logical_divide
from cutecc.layout.integers import Integer, divide
from cutecc.layout.layout import Layout, join
from cutecc.layout.make import tile_to_shape
from cutecc.layout.swizzle import AnyLayout, ComposedLayout
from cutecc.layout.tuples import IntTuple


@dataclass(frozen=True)
class Part:
    """Of one tensor: ((in a box, boxes), tiles…), and the offset of its first element."""

    layout: AnyLayout
    offset: ArithmeticTuple


def tma_partition(tensors: Sequence[AnyLayout], box: int, block: Integer, blocks: Layout) -> list[Part]:
    """The parts of tensors that TMA copies, the first of them in shared memory.

    The first mode of each is the tile, of as many elements in all of them; the first tensor's says in which order the
    tile lies in memory, and so in which boxes of `box` elements hold it. `block` of the `blocks` of a cluster begins at
    its share of each box, which all of them receive: `blocks` leads from a block's coordinate to its number.
    """
    shared = tensors[0]
    in_memory = shared.outer if isinstance(shared, ComposedLayout) else shared
    tile = in_memory[0]
    # From a place in memory to the element there, as often as it takes to reach them all.
    elements = tile_to_shape(join(right_inverse(tile)), (tile.size,))[0]
    boxes = logical_divide(elements, box)
    share = blocks(block) * divide(box, blocks.cosize)
    return [_part(tensor, boxes, share) for tensor in tensors]


def _part(tensor: AnyLayout, boxes: Layout, share: Integer) -> Part:
    rest = (None,) * (len(tensor) - 1)
    by_box = coalesce(composition(tensor, (boxes, *rest)), ((1, 1),))
    first = ((share, 0), *(0 for _ in rest))
    if isinstance(by_box, ComposedLayout) and isinstance(by_box.inner, Layout):
        # What steps lead through another layout to need not be as far from each other everywhere.
        start = cast(IntTuple, add_coordinates(by_box.offset, by_box.outer(first)))
        return Part(ComposedLayout(by_box.inner, start, by_box.outer), 0)
    return Part(by_box, by_box(first))
