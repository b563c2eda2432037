"""Integers of a layout: known ones, which are plain `int`s, and symbolic ones, which a running kernel knows."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

from cutecc.errors import LayoutError

Operation = Literal["+", "-", "*", "/", "%", "ceil_div", "shape_div", "min", "abs", "sign", "^", "&", ">>", "<<"]
"""`/` and `%` truncate, as in C and in the code that CuTe makes; `ceil_div` rounds up."""


@dataclass(frozen=True, slots=True, repr=False)
class Symbolic:
    """An integer that is not known before the kernel runs: a variable, or an expression over variables.

    CuTe prints each one as `?`, with what is known of it: `?{div=4}`, `?{i64 div=4}`. Two of them are equal when they
    are the same expression; the algebra, like CuTe's, never concludes more about them than width and divisibility say.
    `symbol` and the arithmetic below make them.
    """

    operation: Operation | None = None
    """How it is computed from `operands`; `None` for a variable."""
    operands: tuple[Integer, ...] = ()
    name: str = ""
    """A variable's name; CuTe's own text has none."""
    width: int = 32
    """Bits: 8, 16, 32 or 64."""
    divisibility: int = 1
    """The largest known divisor."""
    _hash: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        if self.width not in (8, 16, 32, 64) or self.divisibility < 1:
            raise LayoutError(f"there are no integers of {self.width} bits that {self.divisibility} divides")
        # An expression is hashed often, and is as deep as the algebra that made it.
        parts = (self.operation, self.operands, self.name, self.width, self.divisibility)
        object.__setattr__(self, "_hash", hash(parts))

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        # Written out, an expression can be longer than memory: parts of it stand in many places.
        return f"<{self.name or self.operation} {self}>"

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


Integer: TypeAlias = int | Symbolic


def symbol(name: str = "", *, width: int = 32, divisibility: int = 1) -> Symbolic:
    """A variable: `width` bits, a multiple of `divisibility`."""
    return Symbolic(name=name, width=width, divisibility=divisibility)


def divisibility(value: Integer) -> int:
    """The largest divisor that is known; of 0, which everything divides, 0."""
    return abs(value) if isinstance(value, int) else value.divisibility


def width(value: Integer) -> int:
    """Bits that hold the value: a known one fits where the others do."""
    return 8 if isinstance(value, int) else value.width


def divides(divisor: Integer, value: Integer) -> bool:
    """Whether `value` is known to be a multiple of `divisor`."""
    return isinstance(divisor, int) and divisor != 0 and divisibility(value) % divisor == 0


@functools.lru_cache(maxsize=65536)
def _expression(operation: Operation, operands: tuple[Integer, ...], known_divisor: int) -> Symbolic:
    # Equal expressions are one object, so that comparing two stops where they share parts.
    return Symbolic(operation, operands, width=max(map(width, operands)), divisibility=max(1, known_divisor))


def add(left: Integer, right: Integer) -> Integer:
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    if left == 0:
        return right
    if right == 0:
        return left
    return _expression("+", (left, right), math.gcd(divisibility(left), divisibility(right)))


def subtract(left: Integer, right: Integer) -> Integer:
    if isinstance(left, int) and isinstance(right, int):
        return left - right
    if right == 0:
        return left
    return _expression("-", (left, right), math.gcd(divisibility(left), divisibility(right)))


def multiply(left: Integer, right: Integer) -> Integer:
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    if left == 0 or right == 0:
        return 0
    if left == 1:
        return right
    if right == 1:
        return left
    return _expression("*", (left, right), divisibility(left) * divisibility(right))


def divide(left: Integer, right: Integer) -> Integer:
    """`left / right`, rounded towards 0. Raises `LayoutError` for a division by 0."""
    _check_divisor(right)
    if isinstance(left, int) and isinstance(right, int):
        return _truncated(left, right)
    if right == 1 or left == 0:
        return left
    exact = isinstance(right, int) and divides(right, left)
    return _expression("/", (left, right), divisibility(left) // abs(cast(int, right)) if exact else 1)


def remainder(left: Integer, right: Integer) -> Integer:
    """What `divide` leaves, with the sign of `left`. Raises `LayoutError` for a division by 0."""
    _check_divisor(right)
    if isinstance(left, int) and isinstance(right, int):
        return left - _truncated(left, right) * right
    if left == 0 or right == 1 or divides(right, left):
        return 0
    # CuTe keeps the divisor only where it divides the modulus, not their common one.
    known = divisibility(left)
    return _expression("%", (left, right), known if divides(known, right) else 1)


def ceil_divide(left: Integer, right: Integer) -> Integer:
    """`left / right`, rounded up. Raises `LayoutError` for a division by 0.

    Nothing is known of what divides it, also where `right` divides `left`, because CuTe's types say so.
    """
    _check_divisor(right)
    if isinstance(left, int) and isinstance(right, int):
        return -(-left // right)
    if right == 1 or left == 0:
        return left
    return _expression("ceil_div", (left, right), 1)


def shape_divide(left: Integer, right: Integer) -> Integer:
    """What is left of size `left` after `right` elements are taken: the quotient, but 1 where it would be 0.

    Raises `LayoutError` when of two known sizes neither divides the other.
    """
    _check_divisor(right)
    if isinstance(left, int) and isinstance(right, int):
        if left % right and right % left:
            raise LayoutError(f"shape_div: neither of {left} and {right} divides the other")
        return -(-left // right)
    return left if left == 1 else _expression("shape_div", (left, right), 1)


def _check_divisor(divisor: Integer) -> None:
    if divisor == 0:
        raise LayoutError("division by 0")


def _truncated(left: int, right: int) -> int:
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def minimum(left: Integer, right: Integer) -> Integer:
    if isinstance(left, int) and isinstance(right, int):
        return min(left, right)
    return (
        left if left == right else _expression("min", (left, right), math.gcd(divisibility(left), divisibility(right)))
    )


def absolute(value: Integer) -> Integer:
    return abs(value) if isinstance(value, int) else _expression("abs", (value,), value.divisibility)


def exclusive_or(value: Symbolic, mask: int, shift: int) -> Integer:
    """`value` with the bits below flipped by those in `mask`, moved right by `shift` bits (left when negative)."""
    if value.divisibility & -value.divisibility > mask:
        # The flipping bits are known to be 0.
        return value
    moved = shifted(masked(value, mask), shift)
    return _expression("^", (value, moved), math.gcd(value.divisibility, divisibility(moved)))


def masked(value: Integer, mask: int) -> Integer:
    """The bits of `value` that are in `mask`."""
    # The largest power of two that divides every value under `mask`.
    return value & mask if isinstance(value, int) else _expression("&", (value, mask), mask & -mask)


def shifted(value: Integer, shift: int) -> Integer:
    """`value`, not negative, moved right by `shift` bits (left when negative)."""
    if isinstance(value, int):
        return value >> shift if shift >= 0 else value << -shift
    known = value.divisibility & -value.divisibility
    return _expression(
        ">>" if shift >= 0 else "<<", (value, abs(shift)), known >> shift if shift >= 0 else known << -shift
    )


def sign(value: Integer) -> Integer:
    """-1, 0 or 1."""
    return (value > 0) - (value < 0) if isinstance(value, int) else _expression("sign", (value,), 1)


def variables(value: Integer) -> list[Symbolic]:
    """The variables of an expression, each once, in the order they are read."""
    found: dict[Symbolic, None] = {}
    seen: set[int] = set()

    def visit(part: Integer) -> None:
        if isinstance(part, int) or id(part) in seen:
            return
        seen.add(id(part))
        if part.operation is None:
            found[part] = None
        for operand in part.operands:
            visit(operand)

    visit(value)
    return list(found)


def evaluate(value: Integer, values: Mapping[str, int]) -> int:
    """The value of an expression when its variables have `values`, by name.

    Raises `KeyError` for a missing one, `LayoutError` for a division by 0.
    """
    known: dict[int, int] = {}

    def of(part: Integer) -> int:
        if isinstance(part, int):
            return part
        if id(part) not in known:
            operands = [of(operand) for operand in part.operands]
            name = part.operation
            known[id(part)] = values[part.name] if name is None else _OPERATIONS[name](*operands)
        return known[id(part)]

    return of(value)


def _running_shape_divide(left: int, right: int) -> Integer:
    """What a kernel computes, where nobody checks that one divides the other."""
    return divide(left, right) or multiply(sign(left), sign(right))


_OPERATIONS: Mapping[Operation, Callable[..., Any]] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "%": remainder,
    "ceil_div": ceil_divide,
    "shape_div": _running_shape_divide,
    "min": minimum,
    "abs": absolute,
    "sign": sign,
    "^": int.__xor__,
    "&": int.__and__,
    ">>": int.__rshift__,
    "<<": int.__lshift__,
}
"""Of known numbers; all but the division of shapes are as the functions above have them."""
