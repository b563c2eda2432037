"""Taking layouts apart by mode and putting them together: select, group, append, slice and dice."""

from __future__ import annotations

import functools
from typing import Any, cast

from cutecc.errors import LayoutError
from cutecc.layout.basis import ArithmeticTuple, add_coordinates
from cutecc.layout.layout import Layout, crd2idx, join, misfit
from cutecc.layout.swizzle import ComposedLayout, SomeLayout, on_outer
from cutecc.layout.tuples import Coordinate, IntTuple, flatten, is_tuple

_MOST_MODES = 1_000
"""Of a layout that is filled up: more than any kernel has, and few enough to be written."""


@on_outer
def get(layout: Layout, *path: int) -> Layout:
    """The mode at `path`, outermost first: `get(layout, 1, 0)` is mode 0 of mode 1."""
    for mode in path:
        _check_modes("get", layout, mode)
        layout = layout[mode]
    return layout


@on_outer
def select(layout: Layout, *chosen: int) -> Layout:
    """The layout of the chosen modes, in that order."""
    _check_modes("select", layout, *chosen)
    return join(*(layout[mode] for mode in chosen))


@on_outer
def group_modes(layout: Layout, begin: int, end: int) -> Layout:
    """The layout with its modes from `begin` up to, not including, `end` as one mode."""
    if not 0 <= begin < end <= len(layout):
        raise LayoutError(f"group_modes: there are no modes from {begin} up to {end} in {layout}")
    every = [*layout]
    if not is_tuple(layout.shape):
        return join(layout)
    return join(*every[:begin], join(*every[begin:end]), *every[end:])


@on_outer
def flatten_layout(layout: Layout) -> Layout:
    """The layout with all its leaves as modes."""
    return Layout(flatten(layout.shape), flatten(layout.stride))


@on_outer
def append(layout: Layout, other: Layout) -> Layout:
    """The layout with one more mode at the end."""
    return join(*layout, other)


@on_outer
def prepend(layout: Layout, other: Layout) -> Layout:
    """The layout with one more mode in front."""
    return join(other, *layout)


@on_outer
def append_to_rank(layout: Layout, rank: int, fill: Layout = Layout(1, 0)) -> Layout:
    """The layout with `fill` appended until it has `rank` modes."""
    missing = _missing_modes(layout, rank)
    return join(*layout, *(fill,) * missing) if missing > 0 else layout


@on_outer
def prepend_to_rank(layout: Layout, rank: int, fill: Layout = Layout(1, 0)) -> Layout:
    """The layout with `fill` put in front until it has `rank` modes."""
    missing = _missing_modes(layout, rank)
    return join(*(fill,) * missing, *layout) if missing > 0 else layout


def _missing_modes(layout: Layout, rank: int) -> int:
    """How many modes `layout` has fewer than `rank`. Raises `LayoutError` for a rank that no layout has."""
    if rank > _MOST_MODES:
        raise LayoutError(f"a layout has at most {_MOST_MODES:,} modes, not {rank:,}")
    return rank - len(layout)


def slice_tuple(coordinate: Coordinate, value: Any) -> Any:
    """The parts of `value` where `coordinate` has `_`."""
    return _parts(coordinate, value, whole=True)


def dice_tuple(coordinate: Coordinate, value: Any) -> Any:
    """The parts of `value` where `coordinate` has a number."""
    return _parts(coordinate, value, whole=False)


def _parts(coordinate: Coordinate, value: Any, *, whole: bool) -> Any:
    if not is_tuple(coordinate):
        return value if (coordinate is None) == whole else ()
    if not is_tuple(value) or len(coordinate) != len(value):
        raise misfit(coordinate, value)
    parts: list[Any] = []
    for inner, part in zip(coordinate, value, strict=True):
        if is_tuple(inner):
            parts += _parts(inner, part, whole=whole)
        elif (inner is None) == whole:
            parts.append(part)
    return tuple(parts)


@functools.lru_cache(maxsize=65536)
def slice_layout(coordinate: Coordinate, layout: SomeLayout) -> tuple[SomeLayout, ArithmeticTuple]:
    """The modes of `layout` where `coordinate` has `_`, and the offset of the rest of the coordinate.

    Of a composed layout the offset goes into the layout itself, for a swizzle does not commute with it; 0 is returned.
    (CuTe takes a swizzle apart into strides where it can.)
    """
    if isinstance(layout, ComposedLayout):
        outer, offset = slice_layout(coordinate, layout.outer)
        moved = cast(IntTuple, add_coordinates(layout.offset, offset))
        return cast(SomeLayout, ComposedLayout(layout.inner, moved, outer)), 0
    kept = Layout(slice_tuple(coordinate, layout.shape), slice_tuple(coordinate, layout.stride))
    shape, stride = dice_tuple(coordinate, layout.shape), dice_tuple(coordinate, layout.stride)
    return cast(SomeLayout, kept), crd2idx(dice_tuple(coordinate, coordinate), shape, stride)


@functools.lru_cache(maxsize=65536)
def dice(coordinate: Coordinate, layout: SomeLayout) -> SomeLayout:
    """The modes of `layout` where `coordinate` has a number."""
    if isinstance(layout, ComposedLayout):
        return cast(SomeLayout, ComposedLayout(layout.inner, layout.offset, dice(coordinate, layout.outer)))
    diced = Layout(dice_tuple(coordinate, layout.shape), dice_tuple(coordinate, layout.stride))
    return cast(SomeLayout, diced)


def _check_modes(name: str, layout: Layout, *chosen: int) -> None:
    for mode in chosen:
        if not 0 <= mode < len(layout):
            raise LayoutError(f"{name}: there is no mode {mode} in {layout}")
