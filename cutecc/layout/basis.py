"""Scaled basis elements: the strides of coordinates, `1@0` for a step along mode 0 and `2@1@0` for two along (0,1)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from cutecc.errors import LayoutError
from cutecc.layout.integers import Integer, Symbolic, add, divide, multiply


@dataclass(frozen=True, slots=True)
class Ratio:
    """Steps that are no whole number, `1/2`: of elements narrower than what the coordinate counts, as fp4 in bytes.

    CuTe keeps what was written, and compares by it: `2/4` is not `1/2`. What it computes is in lowest terms.
    """

    numerator: int
    denominator: int

    def __post_init__(self) -> None:
        if self.denominator == 0:
            raise LayoutError("division by 0")

    def __str__(self) -> str:
        return f"{self.numerator}/{self.denominator}"

    def __mul__(self, factor: Integer) -> Scale:
        step = self._fraction()
        if isinstance(factor, int):
            return _lowest(step * factor)
        # Rounded towards 0, as in the code that CuTe makes.
        return divide(multiply(factor, step.numerator), step.denominator)

    __rmul__ = __mul__

    def __add__(self, other: Scale) -> Scale:
        if isinstance(other, Symbolic):
            raise LayoutError(f"{self} of a step cannot be added to a number that is not known")
        return _lowest(self._fraction() + (other if isinstance(other, int) else other._fraction()))

    def _fraction(self) -> Fraction:
        return Fraction(self.numerator, self.denominator)


Scale = Integer | Ratio
"""How many steps one is: a whole number of them, or a part."""


def _lowest(value: Fraction) -> int | Ratio:
    return value.numerator if value.denominator == 1 else Ratio(value.numerator, value.denominator)


def scaled(value: Scale, factor: Integer) -> Scale:
    """`value * factor`."""
    return value * factor if isinstance(value, Ratio) else multiply(value, factor)


def plus(left: Scale, right: Scale) -> Scale:
    """`left + right`. Raises `LayoutError` for a part of a step and a number that is not known."""
    if isinstance(left, Ratio):
        return left + right
    return right + left if isinstance(right, Ratio) else add(left, right)


@dataclass(frozen=True, slots=True)
class Basis:
    """`value` steps along one mode of a coordinate. As a stride it sends an index to a coordinate, not to an offset."""

    value: Scale
    path: tuple[int, ...]
    """The mode, outermost first: `(1, 0)` is mode 0 of mode 1."""

    def __str__(self) -> str:
        return f"{self.value}" + "".join(f"@{mode}" for mode in reversed(self.path))

    def __mul__(self, factor: Integer) -> Basis | int:
        if factor == 0:
            return 0
        return Basis(scaled(self.value, factor), self.path)

    __rmul__ = __mul__

    def as_coordinate(self) -> ArithmeticTuple:
        """The coordinate this is: `3@1` is `(0,3)`."""
        coordinate = cast(ArithmeticTuple, self.value)
        for mode in reversed(self.path):
            coordinate = (*(0,) * mode, coordinate)
        return coordinate


ArithmeticTuple = Integer | tuple["ArithmeticTuple", ...]
"""A coordinate that can be added to others, mode by mode; missing modes count as 0.

Where a stride of parts leads between two coordinates, a leaf is a `Ratio`.
"""


def add_coordinates(left: ArithmeticTuple, right: ArithmeticTuple) -> ArithmeticTuple:
    """`left + right`, mode by mode, the shorter one filled up with zeros.

    Raises `LayoutError` when a mode of the one is a number other than 0, and that of the other a coordinate.
    """
    if not isinstance(left, tuple) and not isinstance(right, tuple):
        return cast(Integer, plus(left, right))
    if not isinstance(left, tuple) or not isinstance(right, tuple):
        number, other = (right, left) if isinstance(left, tuple) else (left, right)
        if number != 0:
            raise LayoutError(f"the number {number} cannot be added to a coordinate of several modes")
        return other
    length = max(len(left), len(right))
    left, right = (*left, *(0,) * (length - len(left))), (*right, *(0,) * (length - len(right)))
    return tuple(map(add_coordinates, left, right))
