"""The operations on layouts: coalesce, filter, composition, complement and the inverses.

Each is defined by the function that its result must be; the functions below say it. What is known at compile time is
decided here, sizes and strides that are not become expressions over them. Results are cached by value.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar, cast

from cutecc.errors import LayoutError
from cutecc.layout.basis import Basis, Ratio
from cutecc.layout.integers import Integer, Symbolic, absolute, ceil_divide, divide, minimum, multiply, sign
from cutecc.layout.layout import Layout, join, make_layout
from cutecc.layout.swizzle import ComposedLayout, Swizzle, on_outer
from cutecc.layout.tuples import (
    IntTuple,
    ceil_div,
    is_tuple,
    leaves,
    map_leaves,
    modes,
    prefix_products,
    product,
    show,
)

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

Tile = Any
"""What a layout is divided or composed by: a layout, a size, `None` for all of a mode, or a tuple of these by mode."""


def cached(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Remember results by the value of the arguments."""
    return cast("Callable[Parameters, Result]", functools.lru_cache(maxsize=65536)(function))


def _layout_of(pairs: Sequence[tuple[Any, Any]]) -> Layout:
    """Flat modes as a layout; of one mode, without a tuple around it, and of none, `1:0`."""
    if not pairs:
        return Layout(1, 0)
    if len(pairs) == 1:
        return Layout(*pairs[0])
    return Layout(tuple(size for size, _ in pairs), tuple(stride for _, stride in pairs))


def _flat_modes(layout: Layout) -> list[tuple[Any, Any]]:
    return list(zip(leaves(layout.shape), leaves(layout.stride), strict=True))


@on_outer
def coalesce(layout: Layout, profile: Any = 0) -> Layout:
    """The same function of an index with as few modes as possible.

    A `profile` keeps that structure: each mode of the layout at a leaf of it is coalesced on its own.
    """
    if is_tuple(profile):
        if len(profile) > len(layout):
            raise LayoutError(f"coalesce: profile {show(profile)} has more modes than {layout}")
        kept = [coalesce(layout[mode], inner) for mode, inner in enumerate(profile)]
        return join(*kept, *(layout[mode] for mode in range(len(profile), len(layout))))
    return _layout_of(_merged(_flat_modes(layout)))


def _merged(flat: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Flat modes without those of size 1, and with each that goes on where the one before it ends as one."""
    merged: list[tuple[Any, Any]] = []
    for size, stride in reversed(flat):
        if size == 1:
            continue
        if merged and _continues(size, stride, *merged[-1]):
            merged[-1] = (multiply(size, merged[-1][0]), stride)
        else:
            merged.append((size, stride))
    return merged[::-1]


def _continues(size: Integer, stride: Any, next_size: Integer, next_stride: Any) -> bool:
    """Whether the next mode goes on where this one ends, so that both are one."""
    if not isinstance(size, int) or not isinstance(next_size, int):
        return False
    end = stride * size
    known = isinstance(end.value if isinstance(end, Basis) else end, int | Ratio)
    return known and end == next_stride


@on_outer
def filter_zeros(layout: Layout) -> Layout:
    """The layout with every mode of stride 0 cut to size 1."""

    def size(stride: Any, size: Integer) -> Integer:
        return 1 if stride == 0 else size

    return Layout(map_leaves(size, layout.stride, layout.shape), layout.stride)


@on_outer
def filter_layout(layout: Layout) -> Layout:
    """The layout without its modes of stride 0 and size 1, coalesced: it visits each offset once."""
    return coalesce(filter_zeros(layout))


@cached
def composition(left: Any, right: Any) -> Any:
    """The layout `c -> left(right(c))`; with a tile on the right, mode by mode.

    Raises `LayoutError` when a known size or stride of `right` does not divide as it has to.
    """
    if isinstance(left, ComposedLayout):
        return ComposedLayout(left.inner, left.offset, composition(left.outer, right))
    if isinstance(left, Swizzle):
        outer = right if isinstance(right, Layout | ComposedLayout) else make_layout(right)
        if isinstance(outer, ComposedLayout):
            raise LayoutError(f"composition: {outer} on the right is not a plain layout")
        return outer if left.bits == 0 else ComposedLayout(left, 0, outer)
    if right is None:
        return left
    if is_tuple(right):
        if len(right) > len(left):
            raise LayoutError(
                f"composition: the tile {show_tile(right)} has {len(right)} modes, the layout {left} has {len(left)}"
            )
        return join(*(composition(left[mode], each) for mode, each in enumerate(right)))
    if isinstance(right, ComposedLayout):
        raise LayoutError(f"composition: {right} on the right is not a plain layout")
    right = right if isinstance(right, Layout) else make_layout(right)
    if () in (left.shape, right.shape) or not list(leaves(left.shape)):
        raise LayoutError(f"composition: there is nothing in {left if not list(leaves(left.shape)) else right}")
    return _compose(left, right.shape, right.stride, _Composition(left, right))


class _Composition:
    """Which composition an error is about."""

    def __init__(self, left: Layout, right: Layout) -> None:
        self.left, self.right = left, right

    def error(self, reason: str) -> LayoutError:
        return LayoutError(f"composition: {reason}", notes=[f"in composition({self.left}, {self.right})"])


def _compose(left: Layout, shape: Any, stride: Any, whole: _Composition) -> Layout:
    if is_tuple(shape):
        return join(*(_compose(left, s, d, whole) for s, d in zip(shape, modes(stride), strict=True)))
    if isinstance(stride, Basis):
        inside, step = _mode_along(left, stride, whole)
        return _compose(inside, shape, step, whole)
    if stride == 0:
        return Layout(shape, 0)
    flat = _endless_modes(left)
    if len(flat) == 1:
        return Layout(shape, flat[0][1] * stride)
    result: list[tuple[Any, Any]] = []
    rest_shape, rest_stride = shape, stride
    for size, step in flat[:-1]:
        _check_stride(size, rest_stride, whole)
        taken = ceil_divide(size, absolute(rest_stride))
        next_stride = multiply(ceil_divide(absolute(rest_stride), size), sign(rest_stride))
        if taken != 1 and rest_shape != 1:
            new_shape = minimum(taken, rest_shape)
            if isinstance(rest_shape, int) and isinstance(new_shape, int) and rest_shape % new_shape:
                raise whole.error(_remainder_text(size, step, rest_stride, f"size {rest_shape}", new_shape))
            result.append((new_shape, step * rest_stride))
            rest_shape = divide(rest_shape, new_shape)
        rest_stride = next_stride
    if result and rest_shape == 1:
        return _layout_of(result)
    result.append((rest_shape, flat[-1][1] * rest_stride))
    # Modes that a size not known keeps apart on the left can be one here.
    return _layout_of(_merged(result) if len(result) > 1 else result)


def _remainder_text(size: Any, step: Any, stride: Any, what: str, taken: int) -> str:
    if isinstance(size, int) and isinstance(stride, int) and size % stride:
        return f"stride {stride} does not divide size {size} of {size}:{step}"
    return f"{what} is not a multiple of the {taken} elements left in {size}:{step}"


def _mode_along(left: Layout, stride: Basis, whole: _Composition) -> tuple[Layout, Integer]:
    """The mode of `left` that a stride leads along, and how many of its coordinates a step goes."""
    inside = left
    for mode in stride.path:
        if mode >= len(inside):
            raise whole.error(f"stride {stride} names a mode that {inside} does not have")
        inside = inside[mode]
    if not list(leaves(inside.shape)):
        raise whole.error(f"stride {stride} names a mode with nothing in it")
    if isinstance(stride.value, Ratio):
        raise whole.error(f"stride {stride} leads between the coordinates of {inside}")
    return inside, stride.value


def _endless_modes(layout: Layout) -> list[tuple[Any, Any]]:
    """The merged modes; the last stays, also of size 1, because indices beyond the layout's size go on along it."""
    flat = _flat_modes(layout)
    size, stride = flat[-1]
    return _merged([*flat[:-1], (2 if size == 1 else size, stride)])


def _check_stride(size: Any, stride: Any, whole: _Composition) -> None:
    if isinstance(size, int) and isinstance(stride, int) and stride % size and stride > size:
        raise whole.error(f"stride {stride} is neither a multiple of size {size} nor smaller than it")


@cached
def complement(layout: Layout, cotarget: IntTuple) -> Layout:
    """The layout that visits what `layout` leaves out: together they fill `cotarget` offsets.

    With several modes, strides must be known. Where they lead to coordinates, `cotarget` is the box of these. Raises
    `LayoutError` when `layout` visits an offset twice.
    """
    if any(isinstance(stride, Basis) for stride in leaves(layout.stride)):
        return _complement_of_coordinates(layout, cotarget)
    remaining = _flat_modes(filter_layout(layout))
    if remaining == [(1, 0)]:
        return coalesce(make_layout(cotarget))
    if len(remaining) > 1 and not all(isinstance(stride, int) for _, stride in remaining):
        raise LayoutError(f"complement of {layout}: with several modes, strides have to be known")
    result: list[tuple[Any, Any]] = []
    end: Integer = 1
    for size, stride in sorted(remaining, key=lambda mode: mode[1]) if len(remaining) > 1 else remaining:
        if isinstance(stride, int) and stride < 0:
            raise LayoutError(f"complement of {layout}: stride {stride} is negative")
        gap = divide(stride, end)
        if gap == 0:
            raise LayoutError(
                f"complement of {layout}: it is not injective: mode {size}:{stride} begins inside the modes before it"
            )
        result.append((gap, end))
        end = multiply(stride, size)
    rest = ceil_div(cotarget, end)
    rest = _known_first(rest) if isinstance(end, int) else product(rest)
    result += zip(leaves(rest), leaves(prefix_products(rest, end)), strict=True)
    return coalesce(_layout_of(result))


def _known_first(shape: IntTuple) -> IntTuple:
    """The known sizes at the front, mode by mode, and all that follows as one."""
    sizes = list(leaves(shape))
    known = next((position for position, size in enumerate(sizes) if not isinstance(size, int)), len(sizes))
    return (*sizes[:known], product(tuple(sizes[known:]))) if known else product(shape)


def _complement_of_coordinates(layout: Layout, box: IntTuple) -> Layout:
    """What `layout` leaves out of each mode of a `box` of coordinates."""
    _check_whole_steps("complement", layout)
    steps: list[tuple[Any, Basis]] = []
    for size, stride in _flat_modes(filter_layout(layout)):
        if isinstance(stride, Basis):
            steps.append((size, stride))
        elif size != 1:
            raise LayoutError(f"complement of {layout}: stride {stride} is an offset, others lead to coordinates")
    # Modes of size 1 too, which are no steps.
    paths = _paths(layout)

    def along(path: tuple[int, ...], size: Any) -> Layout:
        exact = [(steps_along, basis.value) for steps_along, basis in steps if basis.path == path]
        deeper = _modes_below(path, paths)
        if deeper or not path or (is_tuple(size) and path not in paths):
            parts = modes(size)
            count = max(len(parts), *(mode + 1 for mode in deeper), 0)
            return join(*(along((*path, m), parts[m] if m < len(parts) else 1) for m in range(count)))
        rest = complement(_layout_of(exact), product(size))
        if rest.size == 1:
            return Layout(1, _along(path, _end(exact)))
        return Layout(rest.shape, map_leaves(functools.partial(_along, path), rest.stride))

    return along((), box)


def _end(flat: list[tuple[Any, Any]]) -> Integer:
    """Where flat modes end, of which the one with the longest step is the last; without any, at 1."""
    last_size, last_stride = max(flat, key=lambda mode: mode[1]) if len(flat) > 1 else (*flat, (1, 1))[0]
    return multiply(last_size, last_stride)


def _paths(layout: Layout) -> list[tuple[int, ...]]:
    """The modes of coordinates that a layout's strides lead along."""
    return [stride.path for stride in leaves(layout.stride) if isinstance(stride, Basis)]


def _modes_below(path: tuple[int, ...], paths: list[tuple[int, ...]]) -> list[int]:
    """The modes of the mode at `path` that others lead along, or along parts of."""
    return [each[len(path)] for each in paths if each[: len(path)] == path != each]


def _check_whole_steps(what: str, layout: Layout) -> None:
    for stride in leaves(layout.stride):
        if isinstance(stride, Basis) and isinstance(stride.value, Ratio):
            raise LayoutError(f"{what} of {layout}: stride {stride} goes a part of a step")


def _along(path: tuple[int, ...], stride: Integer) -> Basis | int:
    return Basis(stride, path) if stride != 0 else 0


@cached
def right_inverse(layout: Layout) -> Layout:
    """The largest layout `r` with `layout(r(i)) == i`: what leads back from the offsets 0, 1, 2, ….

    Of a layout of coordinates, what leads back from coordinates, mode by mode.
    """
    return _inverse(layout, _contiguous)


@cached
def left_inverse(layout: Layout) -> Layout:
    """A layout `l` with `l(layout(i)) == i` for each index of an injective layout; of coordinates, mode by mode.

    Raises `LayoutError` when the strides, sorted, are not multiples of one another, or are not known.
    """

    return _inverse(layout, functools.partial(_filled, layout))


@dataclass(frozen=True, slots=True)
class _Step:
    """A mode of the layout to invert: its size and stride, and what an index grows by along it."""

    size: Any
    stride: Any
    start: Any


def _inverse(layout: Layout, invert: Callable[[list[_Step]], list[tuple[Any, Any]]]) -> Layout:
    flat = _flat_modes(coalesce(layout))
    starts = leaves(prefix_products(tuple(size for size, _ in flat)))
    steps = [_Step(size, stride, start) for (size, stride), start in zip(flat, starts, strict=True)]
    if not any(isinstance(step.stride, Basis) for step in steps):
        return _layout_of(invert(steps))
    coordinates = [(step, step.stride) for step in steps if isinstance(step.stride, Basis)]
    _check_whole_steps("inverse", layout)
    paths = _paths(layout)

    def along(path: tuple[int, ...]) -> Layout:
        exact = [_Step(step.size, basis.value, step.start) for step, basis in coordinates if basis.path == path]
        deeper = _modes_below(path, paths)
        if deeper:
            return join(*(along((*path, mode)) for mode in range(max(deeper) + 1)))
        return _layout_of(invert(exact))

    return along(())


def _contiguous(steps: list[_Step]) -> list[tuple[Any, Any]]:
    result: list[tuple[Any, Any]] = []
    wanted: Integer = 1
    rest = list(steps)
    while step := next((s for s in rest if isinstance(s.stride, int) and s.stride == wanted), None):
        rest.remove(step)
        result.append((step.size, step.start))
        if not isinstance(step.size, int):
            break
        wanted *= step.size
    return result


def _filled(layout: Layout, steps: list[_Step]) -> list[tuple[Any, Any]]:
    for step in steps:
        if not isinstance(step.stride, int) or step.stride < 0:
            reason = "has to be known" if isinstance(step.stride, Symbolic) else "is negative"
            raise LayoutError(f"left_inverse of {layout}: stride {step.stride} {reason}")
    steps = sorted((step for step in steps if step.stride != 0), key=lambda step: step.stride)
    if not steps:
        return []
    result: list[tuple[Any, Any]] = [(steps[0].stride, 0)]
    for step, following in itertools.pairwise(steps):
        if following.stride % step.stride:
            raise LayoutError(
                f"left_inverse of {layout}: stride {following.stride} is not a multiple of stride {step.stride}"
            )
        result.append((following.stride // step.stride, step.start))
    result.append((steps[-1].size, steps[-1].start))
    return _merged(result)


def show_tile(tile: Tile) -> str:
    """A tile as CuTe prints it: `[16:1;64:1]`, `_` for all of a mode."""
    if is_tuple(tile):
        return f"[{';'.join(map(show_tile, tile))}]"
    if tile is None:
        return "_"
    return str(tile if isinstance(tile, Layout | ComposedLayout) else make_layout(tile))
