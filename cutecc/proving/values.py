"""The integers that decide who synchronises with whom: what they are while sizes are symbols, and how they shift.

A value is an `int`, or one of the classes here. Arithmetic is that of unbounded integers: what wraps around is not
modelled, which is a precondition that proofs name.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

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


@dataclass(frozen=True, slots=True)
class Count:
    """How many steps a loop over the grid takes: the least `k` of which `first + k * stride < end` is not true."""

    end: Symbol
    first: Symbol | None

    def __str__(self) -> str:
        return f"tiles of a block, of {self.end.name}"


class NeedsNumber(Exception):
    """A number decides, of which none was assumed so far."""

    def __init__(self, what: Symbol | Count) -> None:
        super().__init__(str(what))
        self.what = what


class DependsOnPeriod(Exception):
    """A value would come out otherwise in the longer run: the run does not stand for it."""


@dataclass(slots=True)
class Numbers:
    """What is assumed of counts while the kernel is run, and what was asked of them."""

    counts: dict[Count, Value] = field(default_factory=dict["Count", Value])
    strides: dict[Count, Symbol] = field(default_factory=dict["Count", Symbol])

    def exceeds(self, count: Count, stride: Symbol | None, steps: Value) -> Value:
        """Whether a count is more than so many steps of this stride."""
        if stride is not None and self.strides.setdefault(count, stride) != stride:
            return UNKNOWN
        number = self.counts.get(count)
        if number is None:
            raise NeedsNumber(count)
        return compare("sgt", number, steps, self)


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
    if type(a) is int and a == 0 or type(b) is int and b == 0:
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


def bitwise(function: Callable[[int, int], int], a: Value, b: Value) -> Value:
    """`and`, `or`, `xor` and the like, of numbers that do not grow."""
    if type(a) is int and type(b) is int:
        return function(a, b)
    if function is operator.and_ and (a == 0 or b == 0) and not isinstance(a, Lanes) and not isinstance(b, Lanes):
        return 0
    _needs(a, b)
    if isinstance(a, Shifted) or isinstance(b, Shifted):
        mask = b if isinstance(a, Shifted) else a
        grown = a if isinstance(a, Shifted) else b
        if function is operator.and_ and type(mask) is int and mask >= 0 and grown.by % (1 << mask.bit_length()) == 0:
            return grown.value & mask
        raise DependsOnPeriod("bits of a number that grows")
    return lanewise(function, a, b) if a is not UNKNOWN and b is not UNKNOWN else UNKNOWN


def _needs(*given: Value) -> None:
    """What is of one symbol can be computed, once a number is assumed for it."""
    symbols = {symbol for each in given if isinstance(each, Linear) for symbol, _ in each.terms}
    if len(symbols) == 1 and all(each is not UNKNOWN and not isinstance(each, Lanes) for each in given):
        raise NeedsNumber(symbols.pop())


def divide(a: Value, b: Value) -> Value:
    """Rounded towards zero."""
    if type(a) is int and type(b) is int:
        return _quotient(a, b)
    return _divided(a, b, _quotient, lambda by, size: by // size)


def remainder(a: Value, b: Value) -> Value:
    """With the sign of the first."""
    if type(a) is int and type(b) is int:
        return _remainder(a, b)
    return _divided(a, b, _remainder, lambda by, size: 0)


def _divided(a: Value, b: Value, function: Callable[[int, int], int], shift: Callable[[int, int], int]) -> Value:
    if a is UNKNOWN or b is UNKNOWN:
        return UNKNOWN
    _needs(a, b)
    if isinstance(a, Linear) or isinstance(b, Linear):
        return UNKNOWN
    if isinstance(b, Shifted):
        raise DependsOnPeriod("a division by a number that grows")
    if isinstance(a, Shifted):
        if not isinstance(b, int) or a.by % b or a.value < 0:
            raise DependsOnPeriod(f"a number that grows by {a.by} is divided by {b}")
        return _shifted(function(a.value, b), shift(a.by, b))
    return lanewise(function, a, b)


def _quotient(a: int, b: int) -> int:
    if b == 0:
        return 0
    found = abs(a) // abs(b)
    return found if (a < 0) == (b < 0) else -found


def _remainder(a: int, b: int) -> int:
    return a - b * _quotient(a, b)


def shift_left(a: Value, b: Value) -> Value:
    return multiply(a, 1 << b) if type(b) is int else bitwise(operator.lshift, a, b)


def shift_right(a: Value, b: Value) -> Value:
    if type(a) is int and type(b) is int:
        return a >> b
    if isinstance(a, Shifted) and type(b) is int:
        return divide(a, 1 << b)
    return bitwise(operator.rshift, a, b)


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
        return lanewise(lambda x, y: int(function(x, y)), a, b)
    x, y = _parts(a), _parts(b)
    found, by = function(x.value, y.value), x.by - y.by
    if by:
        difference = x.value - y.value
        if difference == 0 or (difference > 0) != (by > 0):
            raise DependsOnPeriod("a comparison of numbers of which one grows faster")
    return int(found)


def _compared(name: str, a: Value, b: Value, numbers: Numbers) -> Value:
    difference = subtract(a, b)
    if not isinstance(difference, Linear):
        return compare(name, difference, 0, numbers)
    if name in ("eq", "ne") or len(difference.terms) == 1:
        _needs(difference)
        return UNKNOWN
    # a < b is b - a > 0, and of integers a <= b is b - a + 1 > 0.
    positive = difference if name[1] == "g" else multiply(difference, -1)
    if name[2] == "e":
        positive = add(positive, 1)
    for sign in (1, -1):
        # `x > 0`, or of integers `not (-x + 1 > 0)`.
        asked = positive if sign > 0 else add(multiply(positive, -1), 1)
        if (found := _asked(asked)) is not None:
            holds = numbers.exceeds(*found)
            return holds if sign > 0 else subtract(1, holds)
    return UNKNOWN


def _asked(positive: Linear) -> tuple[Count, Symbol | None, Value] | None:
    """`end - first - k * stride > 0` asks whether a count exceeds `k`."""
    if positive.constant != 0:
        return None
    ends = [symbol for symbol, factor in positive.terms if factor == 1 and not symbol.is_positive]
    firsts = [symbol for symbol, factor in positive.terms if factor == -1 and not symbol.is_positive]
    strides = [(symbol, factor) for symbol, factor in positive.terms if symbol.is_positive]
    unclear = len(ends) != 1 or len(firsts) > 1 or len(strides) > 1
    if unclear or len(ends) + len(firsts) + len(strides) < len(positive.terms):
        return None
    count = Count(ends[0], firsts[0] if firsts else None)
    return (count, strides[0][0], multiply(strides[0][1], -1)) if strides else (count, None, 0)


def select(condition: Value, a: Value, b: Value) -> Value:
    """The first value where the condition is not zero."""
    if type(condition) is int:
        return a if condition else b
    if condition is UNKNOWN:
        return a if a == b else UNKNOWN
    return lanewise(lambda c, x, y: x if c else y, condition, a, b)


def uniform(values: Iterable[int]) -> Value:
    """One number where all lanes have the same."""
    found = tuple(values)
    return Lanes(found) if any(each != found[0] for each in found) else found[0]
