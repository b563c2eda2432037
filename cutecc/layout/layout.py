"""Layouts: functions from coordinates to offsets, written `shape:stride`."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

from cutecc.errors import LayoutError
from cutecc.layout.basis import ArithmeticTuple, Basis, Ratio, add_coordinates, scaled
from cutecc.layout.integers import Integer, Symbolic, absolute, add, divide, multiply, remainder, subtract, width
from cutecc.layout.shape_text import ShapeReader
from cutecc.layout.tuples import (
    Coordinate,
    IntTuple,
    Stride,
    congruent,
    depth,
    is_static,
    is_tuple,
    leaves,
    modes,
    prefix_products,
    product,
    rank,
    show,
    size_in,
)


@dataclass(frozen=True, slots=True)
class Layout:
    """A shape and a stride that nest alike: the coordinate `c` goes to the sum of `c * stride` over the leaves.

    An integer counts through the coordinates, leftmost mode fastest, so a layout is also a function of indices:
    `Layout((4, 8), (8, 1))(5)` is the offset of the coordinate `(1, 1)`, 9.
    """

    shape: IntTuple
    stride: Stride

    def __post_init__(self) -> None:
        if _is_function(self.shape, self.stride):
            return
        # Which of the reasons it is.
        if not congruent(self.shape, self.stride):
            raise LayoutError(f"shape {show(self.shape)} and stride {show(self.stride)} do not nest alike")
        _check_sizes(self.shape)
        for stride in leaves(self.stride):
            if not isinstance(stride, int | Symbolic | Basis):
                raise LayoutError(f"stride {show(self.stride)}: '{show(stride)}' is not a stride")

    @classmethod
    def parse(cls, text: str) -> Layout:
        """The layout that CuTe prints as `text`, such as `(4,(2,?)):(1,(4,?{i64 div=8}))`. Raises `LayoutError`.

        Without a stride, `(4,8)`, it is compact with the leftmost mode fastest. Each `?` is a variable of its own,
        named by its place among the `?` of the text: `0`, `1`, …. See `rename_symbols` for those of two texts.
        """
        return parse_layout(text)

    def __str__(self) -> str:
        return f"{show(self.shape)}:{show(self.stride)}"

    def __len__(self) -> int:
        return rank(self.shape)

    def __getitem__(self, mode: int) -> Layout:
        """One mode; of a layout of one integer mode, itself."""
        return Layout(modes(self.shape)[mode], modes(self.stride)[mode])

    def __iter__(self) -> Iterator[Layout]:
        return map(self.__getitem__, range(len(self)))

    def __call__(self, coordinate: Coordinate) -> Any:
        """The offset of a coordinate; with `Basis` strides, the coordinate it goes to, of which `Ratio`s are parts."""
        return _crd2idx(coordinate, self.shape, self.stride)

    @property
    def rank(self) -> int:
        """How many modes there are at the top."""
        return rank(self.shape)

    @property
    def depth(self) -> int:
        """How deep modes nest."""
        return depth(self.shape)

    @property
    def size(self) -> Integer:
        """How many coordinates there are."""
        return product(self.shape)

    @property
    def cosize(self) -> Integer:
        """One more than the largest offset, strides taken without their sign; of coordinates, the size of their box."""
        last: dict[tuple[int, ...], Integer] = {}
        for size, stride in zip(leaves(self.shape), leaves(self.stride), strict=True):
            path, step = (stride.path, stride.value) if isinstance(stride, Basis) else ((), stride)
            if isinstance(step, Ratio):
                raise LayoutError(f"cosize of {self}: stride {stride} goes a part of a step")
            last[path] = add(last.get(path, 0), multiply(subtract(size, 1), absolute(step)))
        found = product(tuple(add(each, 1) for each in last.values()))
        if isinstance(found, int) or is_static(self.shape):
            return found
        # CuTe asks for the offset of the last index, in which every stride has a part, but that of a mode of size 1.
        strides = [step for size, step in zip(leaves(self.shape), leaves(self.stride), strict=True) if size != 1]
        numbers = [*leaves(self.shape), *(step.value if isinstance(step, Basis) else step for step in strides)]
        widest = max(map(width, cast(list[Integer], numbers)))
        return replace(found, width=max(found.width, widest))

    @property
    def leaves(self) -> list[Any]:
        """All sizes, then all strides."""
        return [*leaves(self.shape), *leaves(self.stride)]

    @property
    def is_static(self) -> bool:
        """Whether every size and stride is known."""
        return is_static(self.shape) and is_static(self.stride)


@functools.lru_cache(maxsize=65536)
def parse_layout(text: str) -> Layout:
    """The layout that CuTe prints as `text`, as `Layout.parse` gives it."""
    reader = ShapeReader(text)
    if not reader.composes:
        value = reader.shape(Layout)
        if not reader.composes:
            reader.finish()
            return value if isinstance(value, Layout) else make_layout(value)
    raise LayoutError(f"'{text}' is not a plain layout")


def make_layout(shape: IntTuple, stride: Stride | None = None) -> Layout:
    """A layout; without strides, compact with the leftmost mode fastest."""
    if stride is None:
        _check_sizes(shape)
        stride = prefix_products(shape)
    return Layout(shape, stride)


def _is_function(shape: Any, stride: Any) -> bool:
    """Whether a shape and a stride make a layout, in one walk: a lowering makes thousands."""
    if isinstance(shape, tuple):
        nested = isinstance(stride, tuple) and len(shape) == len(stride)  # pyright: ignore[reportUnknownArgumentType]
        return nested and all(map(_is_function, shape, stride))  # pyright: ignore[reportUnknownArgumentType]
    is_size = shape >= 1 if isinstance(shape, int) else isinstance(shape, Symbolic)
    return is_size and isinstance(stride, _STEPS)


_STEPS = (int, Symbolic, Basis)


def _check_sizes(shape: Any) -> None:
    for leaf in leaves(shape):
        size = size_in(shape, leaf)
        if isinstance(size, int) and size < 1:
            raise LayoutError(f"shape {show(shape)}: sizes are at least 1")


def join(*layouts: Layout) -> Layout:
    """The layout whose modes are `layouts`."""
    return Layout(tuple(each.shape for each in layouts), tuple(each.stride for each in layouts))


def crd2idx(coordinate: Coordinate, shape: IntTuple, stride: Stride | None = None) -> Any:
    """The offset of `coordinate` in `shape:stride`; compact strides when there are none.

    The coordinate nests as the shape does, or less: an integer counts through the modes below it, leftmost fastest.
    `None`, CuTe's `_`, counts as 0. With `Basis` strides the result is a coordinate. Raises `LayoutError` when they do
    not fit, and where strides such as `1/2@0` lead between two coordinates.
    """
    layout = make_layout(shape, stride)
    return whole(layout(first_of(coordinate)), f"{layout} at {show(coordinate)}")


def first_of(coordinate: Coordinate) -> Any:
    """The first of the coordinates that `coordinate` names: 0 for each `_`."""
    return tuple(map(first_of, coordinate)) if is_tuple(coordinate) else 0 if coordinate is None else coordinate


def whole(coordinate: ArithmeticTuple, what: str) -> IntTuple:
    """`coordinate`, which `what` gives. Raises `LayoutError` where it is a part of a step."""
    if any(isinstance(leaf, Ratio) for leaf in leaves(coordinate)):
        raise LayoutError(f"{what} is {show(coordinate)}, between two coordinates")
    return coordinate


def _crd2idx(coordinate: Coordinate, shape: IntTuple, stride: Stride) -> Any:
    if is_tuple(coordinate):
        if not is_tuple(shape) or len(coordinate) != len(shape):
            raise misfit(coordinate, shape)
        return _sum(map(_crd2idx, coordinate, shape, modes(stride)))
    if coordinate is None:
        raise LayoutError("a coordinate with '_' names many elements", hints=["slice the layout instead"])
    if is_tuple(shape):
        if isinstance(coordinate, int) and (known := _known_leaves(shape, stride)):
            return _offset(coordinate, known)
        parts: list[Any] = []
        for mode, step in zip(shape[:-1], modes(stride)[:-1], strict=True):
            size = product(mode)
            parts.append(_crd2idx(remainder(coordinate, size), mode, step))
            coordinate = divide(coordinate, size)
        if shape:
            parts.append(_crd2idx(coordinate, shape[-1], modes(stride)[-1]))
        return _sum(parts)
    if isinstance(stride, Basis):
        return Basis(scaled(stride.value, coordinate), stride.path).as_coordinate()
    assert not is_tuple(stride)
    return multiply(coordinate, stride)


@functools.lru_cache(maxsize=1024)
def _known_leaves(shape: IntTuple, stride: Stride) -> tuple[tuple[int, int], ...]:
    """The size and the stride of each leaf, when all are known, and all strides are of offsets; else nothing.

    Nothing also of a shape with a mode of no leaves: as the last mode, it would take what is left of an index.
    """
    leaf_pairs = tuple(zip(leaves(shape), leaves(stride), strict=True))
    known = all(isinstance(size, int) and isinstance(step, int) for size, step in leaf_pairs)
    return leaf_pairs if known and not _has_empty_mode(shape) else ()


def _has_empty_mode(shape: IntTuple) -> bool:
    return is_tuple(shape) and (not shape or any(map(_has_empty_mode, shape)))


def _offset(index: int, known: tuple[tuple[int, int], ...]) -> int:
    """The offset of an index; indices below 0 count the other way."""
    left, offset = abs(index), 0
    for size, step in known[:-1]:
        left, position = divmod(left, size)
        offset += position * step
    offset += left * known[-1][1]
    return offset if index >= 0 else -offset


def misfit(coordinate: Any, value: Any) -> LayoutError:
    """The error of a coordinate whose modes are not those of `value`."""
    parts = f"{rank(value)} modes" if is_tuple(value) else "no modes"
    return LayoutError(f"coordinate {show(coordinate)} has {rank(coordinate)} modes, {show(value)} has {parts}")


def _sum(parts: Any) -> Any:
    return functools.reduce(add_coordinates, parts, 0)


def idx2crd(index: Any, shape: IntTuple) -> IntTuple:
    """The coordinate in `shape` that `index` counts to, leftmost mode fastest; a tuple of indices mode by mode.

    The last mode takes what is left, also beyond its size.
    """
    if is_tuple(index):
        if not is_tuple(shape) or len(index) != len(shape):
            raise misfit(index, shape)
        return tuple(map(idx2crd, index, shape))
    if not is_tuple(shape):
        return index
    coordinates: list[IntTuple] = []
    for mode in shape[:-1]:
        size = product(mode)
        coordinates.append(idx2crd(remainder(index, size), mode))
        index = divide(index, size)
    return (*coordinates, *(idx2crd(index, mode) for mode in shape[-1:]))
