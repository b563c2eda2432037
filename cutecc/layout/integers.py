"""Integers of a layout: known ones, which are plain `int`s, and symbolic ones, which a running kernel knows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Operation = Literal["+", "-", "*", "//", "ceil_div", "%", "min", "max", "abs", "^", "&", ">>", "<<"]


@dataclass(frozen=True, slots=True)
class Symbolic:
    """An integer that is not known before the kernel runs: a variable, or an expression over variables.

    CuTe prints each one as `?`, with what is known of it: `?{div=4}`, `?{i64 div=4}`. Two of them are equal when they
    are the same expression; the algebra, like CuTe's, never concludes more about them than width and divisibility say.
    """

    operation: Operation | None = None
    """How it is computed from `operands`; `None` for a variable."""
    operands: tuple[Integer, ...] = ()
    name: str = ""
    """A variable's name; CuTe's own text has none."""
    width: int = 32
    """Bits: 32 or 64."""
    divisibility: int = 1
    """The largest known divisor."""
    _hash: int = field(default=0, compare=False, repr=False)

    def __post_init__(self) -> None:
        # An expression is hashed often, and is as deep as the algebra that made it.
        object.__setattr__(
            self, "_hash", hash((self.operation, self.operands, self.name, self.width, self.divisibility))
        )

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        known = [f"i{self.width}"] if self.width != 32 else []
        known += [f"div={self.divisibility}"] if self.divisibility != 1 else []
        return f"?{{{' '.join(known)}}}" if known else "?"

    def __add__(self, other: Integer) -> Integer:
        return add(self, other)

    __radd__ = __add__

    def __mul__(self, other: Integer) -> Integer:
        return multiply(self, other)

    __rmul__ = __mul__

    def __sub__(self, other: Integer) -> Integer:
        return subtract(self, other)

    def __rsub__(self, other: Integer) -> Integer:
        return subtract(other, self)

    def __neg__(self) -> Integer:
        return multiply(self, -1)

    def __floordiv__(self, other: Integer) -> Integer:
        return floor_divide(self, other)

    def __rfloordiv__(self, other: Integer) -> Integer:
        return floor_divide(other, self)

    def __mod__(self, other: Integer) -> Integer:
        return modulo(self, other)

    def __rmod__(self, other: Integer) -> Integer:
        return modulo(other, self)


Integer: TypeAlias = int | Symbolic


def symbol(name: str = "", *, width: int = 32, divisibility: int = 1) -> Symbolic:
    """A variable: `width` bits, a multiple of `divisibility`."""
    return Symbolic(name=name, width=width, divisibility=divisibility)


def divisibility(value: Integer) -> int:
    """The largest divisor that is known; of 0, which everything divides, 0."""
    return abs(value) if isinstance(value, int) else value.divisibility


def width(value: Integer) -> int:
    """Bits that hold the value: a known one fits where the others do."""
    return 32 if isinstance(value, int) else value.width


def divides(divisor: Integer, value: Integer) -> bool:
    """Whether `value` is known to be a multiple of `divisor`."""
    return isinstance(divisor, int) and divisor != 0 and divisibility(value) % divisor == 0


def _expression(operation: Operation, operands: tuple[Integer, ...], known_divisor: int) -> Symbolic:
    return Symbolic(operation, operands, width=max(map(width, operands)), divisibility=max(1, known_divisor))


def add(left: Integer, right: Integer) -> Integer:
    """`left + right`."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    if left == 0:
        return right
    if right == 0:
        return left
    return _expression("+", (left, right), math.gcd(divisibility(left), divisibility(right)))


def subtract(left: Integer, right: Integer) -> Integer:
    """`left - right`."""
    if isinstance(left, int) and isinstance(right, int):
        return left - right
    if right == 0:
        return left
    return _expression("-", (left, right), math.gcd(divisibility(left), divisibility(right)))


def multiply(left: Integer, right: Integer) -> Integer:
    """`left * right`."""
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    if left == 0 or right == 0:
        return 0
    if left == 1:
        return right
    if right == 1:
        return left
    return _expression("*", (left, right), divisibility(left) * divisibility(right))


def floor_divide(left: Integer, right: Integer) -> Integer:
    """`left / right`, rounded down; the operands are not negative, as sizes are not."""
    if isinstance(left, int) and isinstance(right, int):
        return left // right
    if right == 1 or left == 0:
        return left
    return _expression("//", (left, right), _quotient_divisibility(left, right))


def exact_quotient(left: Integer, right: int) -> Integer:
    """`left / right`, where nothing is left over: a divisor of `left` that shares nothing with `right` stays one."""
    if isinstance(left, int) or right == 1:
        return floor_divide(left, right)
    return _expression("//", (left, right), left.divisibility // math.gcd(left.divisibility, right))


def ceil_divide(left: Integer, right: Integer) -> Integer:
    """`left / right`, rounded up; the operands are not negative.

    Nothing is known of what divides it, also where `right` divides `left`, because CuTe's types say so.
    """
    if isinstance(left, int) and isinstance(right, int):
        return -(-left // right)
    if right == 1 or left == 0:
        return left
    return _expression("ceil_div", (left, right), 1)


def modulo(left: Integer, right: Integer) -> Integer:
    """The remainder of `left / right`; the operands are not negative."""
    if isinstance(left, int) and isinstance(right, int):
        return left % right
    if left == 0 or right == 1 or divides(right, left):
        return 0
    # CuTe keeps the divisor only where it divides the modulus, not their common one.
    known = divisibility(left)
    return _expression("%", (left, right), known if divides(known, right) else 1)


def minimum(left: Integer, right: Integer) -> Integer:
    """The smaller of two."""
    if isinstance(left, int) and isinstance(right, int):
        return min(left, right)
    return (
        left if left == right else _expression("min", (left, right), math.gcd(divisibility(left), divisibility(right)))
    )


def maximum(left: Integer, right: Integer) -> Integer:
    """The larger of two."""
    if isinstance(left, int) and isinstance(right, int):
        return max(left, right)
    return (
        left if left == right else _expression("max", (left, right), math.gcd(divisibility(left), divisibility(right)))
    )


def absolute(value: Integer) -> Integer:
    """The value without its sign."""
    return abs(value) if isinstance(value, int) else _expression("abs", (value,), value.divisibility)


def exclusive_or(value: Symbolic, mask: int, shift: int) -> Integer:
    """`value` with the bits below flipped by those in `mask`, moved right by `shift` bits (left when negative)."""
    picked = _expression("&", (value, mask), _low_bits(mask))
    moved = _expression(
        ">>" if shift >= 0 else "<<", (picked, abs(shift)), _low_bits(mask >> shift if shift >= 0 else mask << -shift)
    )
    return _expression("^", (value, moved), math.gcd(value.divisibility, moved.divisibility))


def _low_bits(mask: int) -> int:
    """The largest power of two that divides every value under `mask`."""
    return mask & -mask


def sign(value: Integer) -> int:
    """-1, 0 or 1; a symbolic value counts as positive, as CuTe's dynamic strides do."""
    return (value > 0) - (value < 0) if isinstance(value, int) else 1


def _quotient_divisibility(left: Integer, right: Integer) -> int:
    if isinstance(right, int) and right != 0 and divides(right, left):
        return divisibility(left) // abs(right)
    return 1


def variables(value: Integer) -> list[Symbolic]:
    """The variables of an expression, each once, in the order they are read."""
    if isinstance(value, int):
        return []
    if value.operation is None:
        return [value]
    return list(dict.fromkeys(variable for operand in value.operands for variable in variables(operand)))


def evaluate(value: Integer, values: Mapping[str, int]) -> int:
    """The value of an expression when its variables have `values`, by name. Raises `KeyError` for a missing one."""
    if isinstance(value, int):
        return value
    if value.operation is None:
        return values[value.name]
    operands = [evaluate(operand, values) for operand in value.operands]
    match value.operation, operands:
        case "+", [left, right]:
            return left + right
        case "-", [left, right]:
            return left - right
        case "*", [left, right]:
            return left * right
        case "//", [left, right]:
            return left // right
        case "ceil_div", [left, right]:
            return -(-left // right)
        case "%", [left, right]:
            return left % right
        case "min", _:
            return min(operands)
        case "max", _:
            return max(operands)
        case "abs", [operand]:
            return abs(operand)
        case "^", [left, right]:
            return left ^ right
        case "&", [left, right]:
            return left & right
        case ">>", [left, right]:
            return left >> right
        case "<<", [left, right]:
            return left << right
        case _:
            raise AssertionError(f"no such operation: {value.operation}")
