"""Taking a swizzle apart into strides."""

from __future__ import annotations

import functools
from typing import Any, cast

from cutecc.errors import LayoutError
from cutecc.layout.basis import Basis
from cutecc.layout.integers import Integer, Symbolic, add, masked, multiply, shifted, subtract
from cutecc.layout.layout import Layout
from cutecc.layout.swizzle import ComposedLayout, Swizzle
from cutecc.layout.tuples import IntTuple, is_tuple, map_leaves, modes, prefix_products, show


def swizzled_strides(layout: ComposedLayout, shape: IntTuple) -> tuple[Layout, Integer]:
    """A plain layout of `shape` and an offset that together are the swizzled `layout`.

    `shape` is the layout's own, or finer: a mode along which a step flips bits is one for each bit. They exist where no
    two modes, nor a mode and the offset, share a bit that the swizzle flips or flips by: then a step along a mode flips
    bits of its own, up or down as the offset says, and that is a stride. That this is so is not checked: CuTe decides
    it, and says so by the type of what it gives. Raises `LayoutError` when `shape` does not fit.
    """
    swizzle, offset = layout.inner, layout.offset
    if not isinstance(swizzle, Swizzle):
        raise LayoutError(f"{layout} is not swizzled")
    plain = _refined(layout.outer.shape, layout.outer.stride, shape)
    return Layout(shape, map_leaves(functools.partial(_stride, swizzle, offset), plain)), swizzle(offset)


def _refined(shape: Any, stride: Any, finer: Any) -> Any:
    """The strides of a layout whose modes are those of `finer`."""
    if is_tuple(shape) and is_tuple(finer) and len(shape) == len(finer):
        return tuple(map(_refined, shape, modes(stride), finer))
    if is_tuple(shape):
        raise LayoutError(f"{show(finer)} is not a finer shape than {show(shape)}")
    return map_leaves(functools.partial(multiply, stride), prefix_products(finer)) if is_tuple(finer) else stride


def _stride(swizzle: Swizzle, offset: Any, step: Any) -> Integer:
    """How far the swizzle moves what is `step` further than `offset`, whose bits are others."""
    if isinstance(step, Symbolic | Basis) or step == 0:
        return cast(Integer, step)
    if step.bit_count() != 1:
        return subtract(swizzle(add(offset, step)), swizzle(offset))
    # A single bit, which is clear in the offset. Where it flips another, that goes up or down as the offset has it;
    # where it is flipped by one, it goes up or down itself.
    bits, shift = ((1 << swizzle.bits) - 1) << swizzle.base, swizzle.shift
    flipped, flipping = (bits, bits << shift) if shift >= 0 else (bits << -shift, bits)
    if step & flipping:
        other = shifted(step, shift)
        return add(step, subtract(other, multiply(masked(offset, cast(int, other)), 2)))
    if step & flipped:
        other = shifted(step, -shift)
        return subtract(step, multiply(shifted(masked(offset, cast(int, other)), shift), 2))
    return step
