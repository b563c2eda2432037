"""Scaled basis elements: the strides of coordinates, `1@0` for a step along mode 0 and `2@1@0` for two along (0,1)."""

from __future__ import annotations

from dataclasses import dataclass

from cutecc.errors import LayoutError
from cutecc.layout.integers import Integer, add, multiply


@dataclass(frozen=True, slots=True)
class Basis:
    """`value` steps along one mode of a coordinate. As a stride it sends an index to a coordinate, not to an offset."""

    value: Integer
    path: tuple[int, ...]
    """The mode, outermost first: `(1, 0)` is mode 0 of mode 1."""

    def __str__(self) -> str:
        return f"{self.value}" + "".join(f"@{mode}" for mode in reversed(self.path))

    def __mul__(self, factor: Integer) -> Basis | int:
        return 0 if factor == 0 else Basis(multiply(self.value, factor), self.path)

    __rmul__ = __mul__

    def as_coordinate(self) -> ArithmeticTuple:
        """The coordinate this is: `3@1` is `(0,3)`."""
        coordinate: ArithmeticTuple = self.value
        for mode in reversed(self.path):
            coordinate = (*(0,) * mode, coordinate)
        return coordinate


ArithmeticTuple = Integer | tuple["ArithmeticTuple", ...]
"""A coordinate that can be added to others, mode by mode; missing modes count as 0."""


def add_coordinates(left: ArithmeticTuple, right: ArithmeticTuple) -> ArithmeticTuple:
    """`left + right`, mode by mode, the shorter one filled up with zeros.

    Raises `LayoutError` when a mode of the one is a number other than 0, and that of the other a coordinate.
    """
    if not isinstance(left, tuple) and not isinstance(right, tuple):
        return add(left, right)
    if not isinstance(left, tuple) or not isinstance(right, tuple):
        number, other = (right, left) if isinstance(left, tuple) else (left, right)
        if number != 0:
            raise LayoutError(f"the number {number} cannot be added to a coordinate of several modes")
        return other
    length = max(len(left), len(right))
    left, right = (*left, *(0,) * (length - len(left))), (*right, *(0,) * (length - len(right)))
    return tuple(map(add_coordinates, left, right))
