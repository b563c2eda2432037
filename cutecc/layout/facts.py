"""What can be said of a layout as a function: what it visits, how often, and in what order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from cutecc.errors import LayoutError
from cutecc.layout.algebra import coalesce
from cutecc.layout.basis import Basis
from cutecc.layout.integers import Integer
from cutecc.layout.layout import Layout
from cutecc.layout.swizzle import AnyLayout, ComposedLayout
from cutecc.layout.tuples import is_tuple, leaves

LARGEST = 1 << 20
"""Elements that are visited one by one; beyond, only what follows from sizes and strides is known."""


@dataclass(frozen=True)
class Facts:
    """What is known of a layout; `None` where it is not, as with sizes that only the running kernel knows."""

    size: Integer
    """How many coordinates there are."""
    cosize: Integer | None
    """One more than the largest offset."""
    rank: int
    depth: int
    injective: bool | None
    """No two coordinates have the same offset."""
    compact: bool | None
    """It visits every offset below its size, and no other."""
    in_order: bool | None
    """Its offsets are 0, 1, 2, … in the order of indices, leftmost mode fastest."""


def facts_of(layout: AnyLayout) -> Facts:
    """What is known of `layout`. One to coordinates has no cosize, and is neither compact nor in order."""
    sizes = (layout.size, layout.rank, layout.depth)
    if not layout.is_static or leads_to_coordinates(layout) or cast(int, layout.size) > LARGEST:
        plain = isinstance(layout, Layout) and not leads_to_coordinates(layout)
        return Facts(sizes[0], layout.cosize if plain else None, *sizes[1:], None, None, None)
    try:
        found = offsets(layout)
    except LayoutError:  # a swizzle of coordinates is a layout to CuTe, but no function
        return Facts(sizes[0], None, *sizes[1:], None, None, None)
    distinct = len(set(found))
    injective = distinct == len(found)
    compact = injective and min(found) == 0 and max(found) == len(found) - 1
    in_order = compact and all(offset == index for index, offset in enumerate(found))
    return Facts(sizes[0], max(found) + 1, *sizes[1:], injective, compact, in_order)


def leads_to_coordinates(layout: AnyLayout) -> bool:
    """Whether its strides are `1@0` and the like, so that it gives coordinates and not offsets."""
    innermost = layout
    while isinstance(innermost, ComposedLayout):
        if not isinstance(innermost.inner, Layout | ComposedLayout):
            return False
        innermost = innermost.inner
    return any(isinstance(stride, Basis) for stride in leaves(innermost.stride))


def offsets(layout: AnyLayout) -> list[int]:
    """The offsets of all coordinates in the order of indices. Sizes and strides have to be known."""
    if isinstance(layout, ComposedLayout):
        if is_tuple(layout.offset) or leads_to_coordinates(layout.outer):
            return [layout(index) for index in range(cast(int, layout.size))]
        inside = offsets(layout.outer)
        return [cast(Any, layout.inner)(cast(int, layout.offset) + offset) for offset in inside]
    found = [0]
    flat = coalesce(layout)
    for size, stride in zip(leaves(flat.shape), leaves(flat.stride), strict=True):
        found = [offset + step * stride for step in range(size) for offset in found]
    return found
