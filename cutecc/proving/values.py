"""The integers that decide who synchronises with whom: what they are while sizes are symbols, and how they shift.

A value is an `int`, or one of the classes here. Arithmetic is that of unbounded integers: what wraps around is not
modelled, which is a precondition that proofs name.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cutecc.proving.numbers import Numbers

WARP = 32
Value = Any
"""`int`, `Lanes`, `Linear`, `Shifted` or `UNKNOWN`."""


class Unknown:
    """What is not known: it comes from memory, from another operation than those modelled, or of several symbols."""

    def __repr__(self) -> str:
        return "?"


UNKNOWN = Unknown()


class Lanes(tuple[int, ...]):
    """A value of each lane of a warp, when they differ."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Symbol:
    """A number that the launch decides: an argument of the kernel, the block's place, or what is made of these alone.

    Two are one if they are computed in the same way.
    """

    name: str
    is_positive: bool = False
    """Whether it is at least one, as are sizes of the grid."""

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Linear:
    """A sum of multiples of symbols."""

    terms: tuple[tuple[Symbol, Value], ...]
    """In the order of their names; no factor is zero."""
    constant: Value = 0


@dataclass(frozen=True, slots=True)
class Shifted:
    """A number of a run, and by how much it is more in the run that is longer by one period."""

    value: int
    by: int


class DependsOnPeriod(Exception):
    """A value would come out otherwise in the longer run: the run does not stand for it."""


def simple(terms: dict[Symbol, Value], constant: Value) -> Value:
    kept = tuple(sorted(((s, k) for s, k in terms.items() if k != 0), key=lambda each: each[0].name))
    return Linear(kept, constant) if kept else constant


def add(a: Value, b: Value) -> Value:
    if type(a) is int and type(b) is int:
        return a + b
    return _general("add", operator.add, a, b)


def subtract(a: Value, b: Value) -> Value:
    if type(a) is int and type(b) is int:
        return a - b
    if isinstance(a, Linear) or isinstance(b, Linear):
        return add(a, multiply(b, -1))
    return _general("subtract", operator.sub, a, b)


def multiply(a: Value, b: Value) -> Value:
    if type(a) is int and type(b) is int:
        return a * b
    if 0 in (a, b) and not isinstance(a, Lanes) and not isinstance(b, Lanes):
        return 0
    return _general("multiply", operator.mul, a, b)


def _general(name: str, function: Callable[[int, int], int], a: Value, b: Value) -> Value:
    if a is UNKNOWN or b is UNKNOWN:
        return UNKNOWN
    if isinstance(a, Lanes) or isinstance(b, Lanes):
        return lanewise(function, a, b)
    if isinstance(a, Linear) or isinstance(b, Linear):
        return _linear(name, a, b)
    x, y = _parts(a), _parts(b)
    match name:
        case "add":
            return _shifted(x.value + y.value, x.by + y.by)
        case "subtract":
            return _shifted(x.value - y.value, x.by - y.by)
        case _:
            if x.by and y.by:
                raise DependsOnPeriod("a product of two numbers that both grow")
            return _shifted(x.value * y.value, x.by * y.value + x.value * y.by)


def _linear(name: str, a: Value, b: Value) -> Value:
    if isinstance(a, Linear) and isinstance(b, Linear):
        if name == "multiply":
            return UNKNOWN
        terms = dict(a.terms)
        for symbol, factor in b.terms:
            terms[symbol] = add(terms.get(symbol, 0), factor)
        return simple(terms, add(a.constant, b.constant))
    linear, other = (a, b) if isinstance(a, Linear) else (b, a)
    if name == "add":
        return Linear(linear.terms, add(linear.constant, other))
    return simple({s: multiply(k, other) for s, k in linear.terms}, multiply(linear.constant, other))


def _parts(value: Value) -> Shifted:
    return value if isinstance(value, Shifted) else Shifted(value, 0)


def _shifted(value: int, by: int) -> Value:
    return Shifted(value, by) if by else value


def lanewise(function: Callable[..., int], *given: Value) -> Value:
    """A function of each lane's values; one number where all have the same."""
    if any(not isinstance(each, (int, Lanes)) for each in given):
        return UNKNOWN
    wide = [each if isinstance(each, Lanes) else (each,) * WARP for each in given]
    found = [function(*each) for each in zip(*wide, strict=True)]
    return Lanes(found) if any(each != found[0] for each in found) else found[0]


BITS: dict[str, Callable[[int, int], int]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "left": lambda a, b: a << b,
    "right": lambda a, b: a >> b,
}
"""Operations on bits."""


def bitwise(name: str, a: Value, b: Value, numbers: Numbers) -> Value:
    """An operation on bits. Of numbers that grow, or are not known, only the lower bits can be taken."""
    if type(a) is int and type(b) is int:
        return BITS[name](a, b)
    if name == "and":
        # Whatever the other one is.
        if any(type(each) is int and each == 0 for each in (a, b)):
            return 0
        for value, mask in ((a, b), (b, a)):
            if type(mask) is int and mask >= 0 and isinstance(value, (Linear, Shifted)):
                return _lower_bits(value, mask, numbers)
    if isinstance(a, Shifted) or isinstance(b, Shifted):
        raise DependsOnPeriod("bits of a number that grows")
    return lanewise(BITS[name], a, b)


def _lower_bits(value: Value, mask: int, numbers: Numbers) -> Value:
    number = _as_number(value, 1 << mask.bit_length(), numbers)
    if isinstance(number, Linear):
        return UNKNOWN
    if isinstance(number, Shifted):
        if number.by % (1 << mask.bit_length()):
            raise DependsOnPeriod("bits of a number that grows")
        return number.value & mask
    return number & mask


def _as_number(value: Value, factor: int, numbers: Numbers) -> Value:
    """What is of one symbol, as a number that is known modulo a factor."""
    is_one = isinstance(value, Linear) and len(value.terms) == 1 and type(value.terms[0][1]) is int
    return numbers.representative(value, factor) if is_one else value


def divide(a: Value, b: Value, numbers: Numbers) -> Value:
    """Rounded towards zero."""
    if type(a) is int and type(b) is int:
        return _quotient(a, b)
    return _divided(a, b, _quotient, lambda by, size: by // size, numbers)


def remainder(a: Value, b: Value, numbers: Numbers) -> Value:
    """With the sign of the first."""
    if type(a) is int and type(b) is int:
        return _remainder(a, b)
    return _divided(a, b, _remainder, lambda by, size: 0, numbers)


def _divided(
    a: Value,
    b: Value,
    function: Callable[[int, int], int],
    shift: Callable[[int, int], int],
    numbers: Numbers,
) -> Value:
    if a is UNKNOWN or b is UNKNOWN:
        return UNKNOWN
    if isinstance(a, Linear) and type(b) is int and b > 0:
        return _divided_linear(a, b, function, shift, numbers)
    if isinstance(a, Linear) or isinstance(b, Linear):
        return UNKNOWN
    if isinstance(b, Shifted):
        raise DependsOnPeriod("a division by a number that grows")
    if isinstance(a, Shifted):
        if not isinstance(b, int) or a.by % b or a.value < 0:
            raise DependsOnPeriod(f"a number that grows by {a.by} is divided by {b}")
        return _shifted(function(a.value, b), shift(a.by, b))
    return lanewise(function, a, b)


def _divided_linear(
    a: Linear, b: int, function: Callable[[int, int], int], shift: Callable[[int, int], int], numbers: Numbers
) -> Value:
    factors = [factor for _, factor in a.terms]
    is_whole = all(type(factor) is int and factor % b == 0 for factor in factors)
    if is_whole and type(a.constant) is int and a.constant >= 0:
        return simple({symbol: shift(factor, b) for symbol, factor in a.terms}, function(a.constant, b))
    found = _as_number(a, b, numbers)
    return UNKNOWN if isinstance(found, Linear) else _divided(found, b, function, shift, numbers)


def _quotient(a: int, b: int) -> int:
    if b == 0:
        return 0
    found = abs(a) // abs(b)
    return found if (a < 0) == (b < 0) else -found


def _remainder(a: int, b: int) -> int:
    return a - b * _quotient(a, b)


def shift_left(a: Value, b: Value, numbers: Numbers) -> Value:
    return multiply(a, 1 << b) if type(b) is int else bitwise("left", a, b, numbers)


def shift_right(a: Value, b: Value, numbers: Numbers) -> Value:
    if type(a) is int and type(b) is int:
        return a >> b
    if isinstance(a, (Shifted, Linear)) and type(b) is int:
        return divide(a, 1 << b, numbers)
    return bitwise("right", a, b, numbers)


_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    **{f"{sign}{name}": getattr(operator, name) for sign in "su" for name in ("lt", "le", "gt", "ge")},
}
PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
"""As `arith.cmpi` numbers them."""


def compare(name: str, a: Value, b: Value, numbers: Numbers) -> Value:
    """Whether the comparison `name` holds, as 0 or 1.

    Of numbers that grow it is known where both grow alike, or where what holds for the shorter run holds more clearly
    for each longer one.
    """
    function = _COMPARISONS[name]
    if type(a) is int and type(b) is int:
        return int(function(a, b))
    if a is UNKNOWN or b is UNKNOWN:
        return UNKNOWN
    if isinstance(a, Linear) or isinstance(b, Linear):
        return _compared(name, a, b, numbers)
    if isinstance(a, Lanes) or isinstance(b, Lanes):
        return lanewise(_as_integer(function), a, b)
    x, y = _parts(a), _parts(b)
    found, by = function(x.value, y.value), x.by - y.by
    if by:
        difference = x.value - y.value
        if difference == 0 or (difference > 0) != (by > 0):
            raise DependsOnPeriod("a comparison of numbers of which one grows faster")
    return int(found)


def compare_fixed(name: str, a: Value, b: Value, numbers: Numbers) -> Value:
    """As `compare`, of values that no loop changes."""
    numbers.is_fixed = True
    try:
        return compare(name, a, b, numbers)
    finally:
        numbers.is_fixed = False


def _as_integer(function: Callable[[int, int], bool]) -> Callable[[int, int], int]:
    return lambda a, b: int(function(a, b))


def _compared(name: str, a: Value, b: Value, numbers: Numbers) -> Value:
    difference = subtract(a, b)
    if not isinstance(difference, Linear):
        return compare(name, difference, 0, numbers)
    if name in ("eq", "ne"):
        if len(difference.terms) > 1:
            return UNKNOWN
        # Equal is neither more nor less.
        less, more = (_is_positive(each, numbers) for each in (multiply(difference, -1), difference))
        if less is UNKNOWN or more is UNKNOWN:
            return UNKNOWN
        return int(bool(less or more) == (name == "ne"))
    # a < b is b - a > 0, and of integers a <= b is b - a + 1 > 0.
    positive = difference if name[1] == "g" else multiply(difference, -1)
    if name[2] == "e":
        positive = add(positive, 1)
    return _is_positive(positive, numbers)


def _is_positive(positive: Linear, numbers: Numbers) -> Value:
    for sign in (1, -1):
        # `x > 0`, or of integers `not (-x + 1 > 0)`.
        asked = positive if sign > 0 else add(multiply(positive, -1), 1)
        holds = _more(asked, numbers)
        if holds is not UNKNOWN:
            return holds if sign > 0 else 1 - holds
    return UNKNOWN


def _more(positive: Linear, numbers: Numbers) -> Value:
    if len(positive.terms) == 1:
        ((symbol, factor),) = positive.terms
        if symbol.is_positive and factor == 1 and type(positive.constant) is int and positive.constant >= 0:
            return 1
        return numbers.exceeds(symbol, multiply(positive.constant, -1)) if factor == 1 else UNKNOWN
    found = _asked(positive)
    return UNKNOWN if found is None else numbers.has_tile(*found)


def _asked(positive: Linear) -> tuple[Symbol, Symbol | None, Symbol | None, Value] | None:
    """`end - first - k * stride > 0` asks whether there are more than `k` steps from the first to the end."""
    if positive.constant != 0:
        return None
    ends, firsts, strides = (
        [(symbol, factor) for symbol, factor in positive.terms if _part(symbol, factor) == part]
        for part in ("end", "first", "stride")
    )
    if len(ends) != 1 or len(firsts) > 1 or len(strides) > 1 or len(ends + firsts + strides) < len(positive.terms):
        return None
    first = firsts[0][0] if firsts else None
    stride, steps = strides[0] if strides else (None, 0)
    return ends[0][0], first, stride, multiply(steps, -1)


def _part(symbol: Symbol, factor: Value) -> str | None:
    """What a term of `end - first - k * stride` is."""
    if symbol.is_positive:
        return "stride"
    return {1: "end", -1: "first"}.get(factor) if type(factor) is int else None


def select(condition: Value, a: Value, b: Value) -> Value:
    """The first value where the condition is not zero."""
    if type(condition) is int:
        return a if condition else b
    if a == b:
        return a
    if condition is UNKNOWN:
        return UNKNOWN
    return lanewise(_chosen, condition, a, b)


def _chosen(condition: int, a: int, b: int) -> int:
    return a if condition else b


def uniform(values: Iterable[int]) -> Value:
    """One number where all lanes have the same."""
    found = tuple(values)
    return Lanes(found) if any(each != found[0] for each in found) else found[0]
