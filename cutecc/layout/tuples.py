"""Int tuples: integers nested in tuples, which shapes, strides and coordinates are, and arithmetic over them.

A leaf is an `int`, a `Symbolic`, or in strides a `Basis`; in coordinates `None` stands for CuTe's `_`, the whole mode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from cutecc.errors import LayoutError
from cutecc.layout.basis import Basis
from cutecc.layout.integers import Integer, Symbolic, ceil_divide, multiply, shape_divide

if TYPE_CHECKING:
    from typing_extensions import TypeIs

IntTuple: TypeAlias = "Integer | tuple[IntTuple, ...]"
Stride: TypeAlias = "Integer | Basis | tuple[Stride, ...]"
Coordinate: TypeAlias = "Integer | tuple[Coordinate, ...] | None"


def is_tuple(value: object) -> TypeIs[tuple[Any, ...]]:
    """Whether `value` is a tuple of modes, not a leaf."""
    return isinstance(value, tuple)


def rank(value: Any) -> int:
    """How many modes there are at the top; an integer is one mode."""
    return len(value) if is_tuple(value) else 1


def depth(value: Any) -> int:
    """How deep tuples nest; 0 for an integer."""
    return 1 + max(map(depth, value), default=0) if is_tuple(value) else 0


def modes(value: Any) -> tuple[Any, ...]:
    """The modes at the top; of an integer, itself."""
    return value if is_tuple(value) else (value,)


def leaves(value: Any) -> Iterator[Any]:
    """The leaves from left to right."""
    if is_tuple(value):
        for mode in value:
            yield from leaves(mode)
    else:
        yield value


def flatten(value: Any) -> Any:
    """All leaves as one flat tuple; an integer stays one."""
    return tuple(leaves(value)) if is_tuple(value) else value


def map_leaves(function: Callable[..., Any], value: Any, *others: Any) -> Any:
    """`function` of each leaf, with the leaves at the same places of `others`, which are nested as `value` is."""
    if is_tuple(value):
        return tuple(map_leaves(function, *parts) for parts in zip(value, *others, strict=True))
    return function(value, *others)


def nested_as(profile: Any, flat: Iterable[Any]) -> Any:
    """The values of `flat`, from left to right, nested as the leaves of `profile` are."""
    values = iter(flat)

    def next_value(_: object) -> Any:
        return next(values)

    return map_leaves(next_value, profile)


def congruent(left: Any, right: Any) -> bool:
    """Whether two tuples nest alike."""
    if is_tuple(left) and is_tuple(right):
        return len(left) == len(right) and all(map(congruent, left, right))
    return not is_tuple(left) and not is_tuple(right)


def compatible(coarse: Any, fine: Any) -> bool:
    """Whether each coordinate of shape `coarse` is one of `fine`, which divides the same sizes into more modes."""
    if is_tuple(coarse):
        return is_tuple(fine) and len(coarse) == len(fine) and all(map(compatible, coarse, fine))
    return coarse == product(fine)


def is_static(value: Any) -> bool:
    """Whether every leaf is known."""
    return not any(isinstance(leaf.value if isinstance(leaf, Basis) else leaf, Symbolic) for leaf in leaves(value))


def product(value: IntTuple) -> Integer:
    """The product of all leaves: the size of a shape."""
    result: Integer = 1
    for leaf in leaves(value):
        result = multiply(result, size_in(value, leaf))
    return result


def size_in(shape: Any, leaf: Any) -> Integer:
    """A leaf of a shape; raises `LayoutError` for what is no integer."""
    if not isinstance(leaf, int | Symbolic):
        raise LayoutError(f"shape {show(shape)}: '{show(leaf)}' is not a size")
    return leaf


def prefix_products(shape: IntTuple, start: Integer = 1) -> IntTuple:
    """Strides that make `shape` compact, leftmost mode fastest, nested as `shape` is; a mode of size 1 has stride 0."""
    current = start

    def stride(size: Integer) -> Integer:
        nonlocal current
        before, current = current, multiply(current, size_in(shape, size))
        return 0 if size == 1 else before

    return map_leaves(stride, shape)


def shape_div(left: IntTuple, right: IntTuple) -> IntTuple:
    """What is left of shape `left` after `right` elements are taken from its front.

    A tuple on the left gives up its modes from the left to an integer on the right. Raises `LayoutError` when a known
    size neither divides nor is divided by the other.
    """
    if is_tuple(left):
        if is_tuple(right):
            if len(left) != len(right):
                raise LayoutError(f"shape_div: {show(left)} has {len(left)} modes, {show(right)} has {len(right)}")
            return tuple(map(shape_div, left, right))
        return _front_to_back(shape_div, left, right)
    return shape_divide(left, product(right))


def ceil_div(left: IntTuple, right: IntTuple) -> IntTuple:
    """How many tiles of `right` cover the shape `left`, mode by mode; modes that `right` lacks stay as they are."""
    if is_tuple(left):
        if not is_tuple(right):
            return _front_to_back(ceil_div, left, right)
        if len(right) > len(left):
            raise LayoutError(f"ceil_div: {show(right)} has more modes than {show(left)}")
        return (*map(ceil_div, left, right), *left[len(right) :])
    return ceil_divide(left, product(right))


def _front_to_back(
    divide: Callable[[IntTuple, IntTuple], IntTuple], shape: tuple[IntTuple, ...], rest: IntTuple
) -> tuple[IntTuple, ...]:
    """Each mode divided by what the modes before it have left of `rest`."""
    result: list[IntTuple] = []
    for position, mode in enumerate(shape):
        # A size of 0 has nothing to divide by, but behind the last mode nothing is left to divide.
        rest = divide(rest, product(shape[position - 1])) if position else rest
        result.append(divide(mode, rest))
    return tuple(result)


def show(value: Any) -> str:
    """An int tuple as CuTe prints it: `(4,(2,?{div=8}))`, `_` for a whole mode."""
    if is_tuple(value):
        return f"({','.join(map(show, value))})"
    return "_" if value is None else str(value)
