"""Taking layouts apart by mode and putting them together: select, group, append, slice and dice."""

from __future__ import annotations

from typing import Any, cast

from cutecc.errors import LayoutError
from cutecc.layout.basis import ArithmeticTuple, add_coordinates
from cutecc.layout.layout import Layout, crd2idx, join, misfit
from cutecc.layout.swizzle import AnyLayout, ComposedLayout, with_outer
from cutecc.layout.tuples import Coordinate, flatten, is_tuple, modes


def get(layout: AnyLayout, *path: int) -> AnyLayout:
    """The mode at `path`, outermost first: `get(layout, 1, 0)` is mode 0 of mode 1."""
    if isinstance(layout, ComposedLayout):
        return with_outer(layout, cast(Layout, get(layout.outer, *path)))
    for mode in path:
        _check_modes("get", layout, mode)
        layout = layout[mode]
    return layout


def select(layout: AnyLayout, *chosen: int) -> AnyLayout:
    """The layout of the chosen modes, in that order."""
    if isinstance(layout, ComposedLayout):
        return with_outer(layout, cast(Layout, select(layout.outer, *chosen)))
    _check_modes("select", layout, *chosen)
    return join(*(layout[mode] for mode in chosen))


def group_modes(layout: AnyLayout, begin: int, end: int) -> AnyLayout:
    """The layout with its modes from `begin` up to, not including, `end` as one mode."""
    if isinstance(layout, ComposedLayout):
        return with_outer(layout, cast(Layout, group_modes(layout.outer, begin, end)))
    if not 0 <= begin < end <= len(layout):
        raise LayoutError(f"group_modes: there are no modes from {begin} up to {end} in {layout}")
    every = [layout[mode] for mode in range(len(layout))]
    if not is_tuple(layout.shape):
        return join(layout)
    return join(*every[:begin], join(*every[begin:end]), *every[end:])


def flatten_layout(layout: Layout) -> Layout:
    """The layout with all its leaves as modes."""
    return Layout(flatten(layout.shape), flatten(layout.stride))


def append(layout: Layout, other: Layout) -> Layout:
    """The layout with one more mode at the end."""
    return Layout((*modes(layout.shape), other.shape), (*modes(layout.stride), other.stride))


def prepend(layout: Layout, other: Layout) -> Layout:
    """The layout with one more mode in front."""
    return Layout((other.shape, *modes(layout.shape)), (other.stride, *modes(layout.stride)))


def append_to_rank(layout: Layout, rank: int, fill: Layout = Layout(1, 0)) -> Layout:
    """The layout with `fill` appended until it has `rank` modes."""
    while len(layout) < rank:
        layout = append(layout, fill)
    return layout


def prepend_to_rank(layout: Layout, rank: int, fill: Layout = Layout(1, 0)) -> Layout:
    """The layout with `fill` put in front until it has `rank` modes."""
    while len(layout) < rank:
        layout = prepend(layout, fill)
    return layout


def slice_tuple(coordinate: Coordinate, value: Any) -> Any:
    """The parts of `value` where `coordinate` has `_`."""
    if is_tuple(coordinate):
        _check_fit(coordinate, value)
        return tuple(part for c, v in zip(coordinate, value, strict=True) for part in _sliced(c, v))
    return value if coordinate is None else ()


def _sliced(coordinate: Coordinate, value: Any) -> tuple[Any, ...]:
    if is_tuple(coordinate):
        return slice_tuple(coordinate, value)
    return (value,) if coordinate is None else ()


def dice_tuple(coordinate: Coordinate, value: Any) -> Any:
    """The parts of `value` where `coordinate` has a number."""
    if is_tuple(coordinate):
        _check_fit(coordinate, value)
        return tuple(part for c, v in zip(coordinate, value, strict=True) for part in _diced(c, v))
    return () if coordinate is None else value


def _diced(coordinate: Coordinate, value: Any) -> tuple[Any, ...]:
    if is_tuple(coordinate):
        return dice_tuple(coordinate, value)
    return () if coordinate is None else (value,)


def slice_layout(coordinate: Coordinate, layout: AnyLayout) -> tuple[AnyLayout, ArithmeticTuple]:
    """The modes of `layout` where `coordinate` has `_`, and the offset of the rest of the coordinate.

    Of a composed layout the offset goes into the layout itself, for a swizzle does not commute with it; 0 is returned.
    """
    if isinstance(layout, ComposedLayout):
        outer, offset = slice_layout(coordinate, layout.outer)
        moved = cast(Any, add_coordinates(layout.offset, offset))
        return ComposedLayout(layout.inner, moved, cast(Layout, outer)), 0
    kept = Layout(slice_tuple(coordinate, layout.shape), slice_tuple(coordinate, layout.stride))
    fixed = dice_tuple(coordinate, coordinate)
    return kept, crd2idx(fixed, dice_tuple(coordinate, layout.shape), dice_tuple(coordinate, layout.stride))


def dice(coordinate: Coordinate, layout: Layout) -> Layout:
    """The modes of `layout` where `coordinate` has a number."""
    return Layout(dice_tuple(coordinate, layout.shape), dice_tuple(coordinate, layout.stride))


def _check_fit(coordinate: Any, value: Any) -> None:
    if not is_tuple(value) or len(coordinate) != len(value):
        raise misfit(coordinate, value)


def _check_modes(name: str, layout: Layout, *chosen: int) -> None:
    for mode in chosen:
        if not 0 <= mode < len(layout):
            raise LayoutError(f"{name}: there is no mode {mode} in {layout}")
