"""The same memory seen as elements of another width."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

from cutecc.errors import LayoutError
from cutecc.layout.algebra import cached
from cutecc.layout.basis import Basis
from cutecc.layout.integers import Integer, absolute, ceil_divide, divide, divides, multiply, shape_divide, sign
from cutecc.layout.layout import Layout, join
from cutecc.layout.swizzle import ComposedLayout, SomeLayout, Swizzle
from cutecc.layout.tuples import is_tuple, show


@cached
def recast_layout(new_bits: int, old_bits: int, layout: SomeLayout) -> SomeLayout:
    """A layout of elements of `old_bits` as one of elements of `new_bits`.

    Raises `LayoutError` when the elements do not pack into whole ones.
    """
    if new_bits < 1 or old_bits < 1:
        raise LayoutError(f"recast: elements of {min(new_bits, old_bits)} bits")
    shared = math.gcd(new_bits, old_bits)
    down, up = old_bits // shared, new_bits // shared
    # In this order, as CuTe does: for widths of which neither divides the other, sizes are rounded up on the way.
    return _recast(down, _recast(up, layout, up=True), up=False)


def _recast(count: int, layout: SomeLayout, *, up: bool) -> SomeLayout:
    """The layout of elements `count` times as wide, or without `up` a `count`-th as wide."""
    if count == 1:
        return layout
    if isinstance(layout, ComposedLayout):
        if isinstance(layout.inner, Swizzle):
            inner = _shifted(layout.inner, -_bits(count) if up else _bits(count))
        else:
            inner = _recast(count, layout.inner, up=up)
        outer = _recast(count, layout.outer, up=up)
        offset = _divided(layout.offset, count) if up else multiply(cast(Integer, layout.offset), count)
        return cast(SomeLayout, ComposedLayout(inner, offset, outer))
    change = _upcast_mode if up else _downcast_mode
    return cast(SomeLayout, _by_mode(change, count, layout.shape, layout.stride))


def _by_mode(change: Callable[[int, Any, Any], tuple[Any, Any]], count: int, shape: Any, stride: Any) -> Layout:
    if is_tuple(shape):
        return join(*(_by_mode(change, count, s, d) for s, d in zip(shape, stride, strict=True)))
    return Layout(*change(count, shape, stride))


def _upcast_mode(count: int, size: Any, stride: Any) -> tuple[Any, Any]:
    if stride == 0:
        return size, stride
    if isinstance(stride, int):
        step = abs(stride)
        if step % count and count % step:
            raise LayoutError(f"recast: neither of stride {stride} and {count} elements divides the other")
        return ceil_divide(size, -(-count // step)), -(-step // count) * sign(stride)
    if isinstance(stride, Basis):
        raise LayoutError(f"recast: stride {stride} leads to coordinates, which have no width")
    if divides(count, stride):
        return size, divide(stride, count)
    # CuTe leaves the size alone. A stride within one of the new elements leads to the next of them.
    return size, multiply(sign(stride), shape_divide(absolute(stride), count))


def _downcast_mode(count: int, size: Any, stride: Any) -> tuple[Any, Any]:
    if isinstance(stride, Basis):
        raise LayoutError(f"recast: stride {stride} leads to coordinates, which have no width")
    if isinstance(stride, int) and abs(stride) == 1:
        return multiply(size, count), stride
    return size, multiply(stride, count)


def _bits(count: int) -> int:
    if count & (count - 1):
        raise LayoutError(f"recast: a swizzle goes by powers of two, not by {count}")
    return count.bit_length() - 1


def _shifted(swizzle: Swizzle, by: int) -> Swizzle:
    if swizzle.base + by < 0:
        raise LayoutError(f"recast: {swizzle} moves bits within one of the new elements")
    return Swizzle(swizzle.bits, swizzle.base + by, swizzle.shift)


def _divided(offset: Any, count: int) -> Any:
    if not divides(count, offset) and offset != 0:
        raise LayoutError(f"recast: offset {show(offset)} is not known to be a multiple of {count} elements")
    return divide(offset, count)
