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


@dataclass(frozen=True, slots=True)
class Count:
    """How many steps a loop over the grid takes: the least `k` of which `first + k * stride < end` is not true."""

    end: Symbol
    first: Symbol | None

    def __str__(self) -> str:
        return f"tiles of a block, of {self.end}"


class Undecided(Exception):
    """Whether a number is more than another: nothing that was decided so far says so."""

    def __init__(self, key: Key, steps: int) -> None:
        super().__init__(f"{key} > {steps}")
        self.key = key
        self.steps = steps


class NeedsPeriod(Exception):
    """A remainder or quotient of a number decides: it is to be known modulo a multiple of `factor`."""

    def __init__(self, symbol: Symbol, factor: int) -> None:
        super().__init__(f"{symbol.name} modulo {factor}")
        self.symbol = symbol
        self.factor = factor


class DependsOnPeriod(Exception):
    """A value would come out otherwise in the longer run: the run does not stand for it."""


@dataclass(frozen=True, slots=True)
class Key:
    """A number: of the whole launch, or the one that a tile has of a number that may differ between tiles."""

    what: Symbol | Count
    tile: int | None = None

    def __str__(self) -> str:
        return f"{self.what}" if self.tile is None else f"{self.what} of tile {self.tile}"


@dataclass(slots=True)
class Bounds:
    """What is known of a number that is at least zero."""

    least: int = 0
    most: int | None = None

    @property
    def exact(self) -> int | None:
        return self.least if self.least == self.most else None


@dataclass(frozen=True, slots=True)
class Residue:
    """That a number is `first`, or more by a multiple of `period`."""

    first: int
    period: int


@dataclass(slots=True)
class Numbers:
    """What was decided of the numbers of a launch so far: they are found out as somebody asks."""

    bounds: dict[Key, Bounds] = field(default_factory=dict["Key", Bounds])
    residues: dict[Symbol, Residue] = field(default_factory=dict["Symbol", Residue])
    strides: dict[Count, Symbol] = field(default_factory=dict["Count", Symbol])
    tile: int | None = None
    """The tile that whoever asks is at."""
    asked_tile: int | None = None
    """The last one of which was asked whether it is there."""

    def copy(self) -> Numbers:
        bounds = {key: Bounds(each.least, each.most) for key, each in self.bounds.items()}
        return Numbers(bounds, dict(self.residues), dict(self.strides), self.tile, self.asked_tile)

    def known(self, key: Key) -> Bounds:
        """What is known of a number: of a tile's, also what is of all tiles', and the other way round."""
        if key.tile is not None:
            found = self.bounds.get(key)
            return found if found is not None else self.bounds.get(Key(key.what), Bounds())
        of_tiles = [each for other, each in self.bounds.items() if other.what == key.what]
        mosts = [each.most for each in of_tiles if each.most is not None]
        return Bounds(max((each.least for each in of_tiles), default=0), min(mosts, default=None))

    def has_tile(self, count: Count, stride: Symbol | None, steps: Value) -> Value:
        """Whether there is a tile after so many steps of this stride."""
        if stride is not None and self.strides.setdefault(count, stride) != stride:
            return UNKNOWN
        if type(steps) is not int:
            return UNKNOWN
        self.asked_tile = steps
        return self._exceeds(Key(count), steps)

    def exceeds(self, symbol: Symbol, steps: Value) -> Value:
        """Whether a number is more than another."""
        return self._exceeds(Key(symbol, self.tile), steps) if type(steps) is int else UNKNOWN

    def _exceeds(self, key: Key, steps: int) -> int:
        known = self.known(key)
        if known.least > steps:
            return 1
        if known.most is not None and known.most <= steps:
            return 0
        residue = self.residues.get(key.what) if isinstance(key.what, Symbol) else None
        if residue is not None and not _could_be(residue, known, steps):
            # It cannot be this one: what is true of the one before is true of it.
            self.decide(key, steps, more=True)
            return 1
        raise Undecided(key, steps)

    def decide(self, key: Key, steps: int, *, more: bool) -> None:
        """Of a number that nothing was said of: that it is more, or not."""
        known = self.known(key)
        found = self.bounds[key] = Bounds(known.least, known.most)
        if more:
            found.least = max(found.least, steps + 1)
        else:
            found.most = steps if found.most is None else min(found.most, steps)

    def representative(self, linear: Linear, factor: int) -> Value:
        """A sum of multiples of one symbol as a number of which the period is known. Raises `NeedsPeriod`."""
        ((symbol, multiple),) = linear.terms
        exact = self.known(Key(symbol, self.tile)).exact
        residue = self.residues.get(symbol)
        if exact is not None:
            number = exact if residue is None else Shifted(exact, residue.period)
            return add(multiply(multiple, number), linear.constant)
        if residue is None or residue.period * multiple % factor:
            raise NeedsPeriod(symbol, factor)
        return add(multiply(multiple, Shifted(residue.first, residue.period)), linear.constant)


def _could_be(residue: Residue, known: Bounds, steps: int) -> bool:
    """Whether there is a number that is possible so far, and not more than so many."""
    first = residue.first
    if first < known.least:
        first += -(-(known.least - first) // residue.period) * residue.period
    return first <= steps


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


def bitwise(function: Callable[[int, int], int], a: Value, b: Value, numbers: Numbers) -> Value:
    """`and`, `or`, `xor` and the like, of numbers that do not grow."""
    if type(a) is int and type(b) is int:
        return function(a, b)
    if function is operator.and_ and (a == 0 or b == 0) and not isinstance(a, Lanes) and not isinstance(b, Lanes):
        return 0
    a, b = (_as_number(each, 1 << 32, numbers) for each in (a, b))
    if isinstance(a, Linear) or isinstance(b, Linear):
        return UNKNOWN
    if isinstance(a, Shifted) or isinstance(b, Shifted):
        mask = b if isinstance(a, Shifted) else a
        grown = a if isinstance(a, Shifted) else b
        if function is operator.and_ and type(mask) is int and mask >= 0 and grown.by % (1 << mask.bit_length()) == 0:
            return grown.value & mask
        raise DependsOnPeriod("bits of a number that grows")
    return lanewise(function, a, b) if a is not UNKNOWN and b is not UNKNOWN else UNKNOWN


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
    if all(type(factor) is int and factor % b == 0 for factor in factors) and type(a.constant) is int:
        if 0 <= a.constant:
            terms = {symbol: shift(factor, b) for symbol, factor in a.terms}
            return simple(terms, function(a.constant, b))
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
    return multiply(a, 1 << b) if type(b) is int else bitwise(operator.lshift, a, b, numbers)


def shift_right(a: Value, b: Value, numbers: Numbers) -> Value:
    if type(a) is int and type(b) is int:
        return a >> b
    if isinstance(a, (Shifted, Linear)) and type(b) is int:
        return divide(a, 1 << b, numbers)
    return bitwise(operator.rshift, a, b, numbers)


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
    if a == b:
        return a
    if condition is UNKNOWN:
        return UNKNOWN
    return lanewise(lambda c, x, y: x if c else y, condition, a, b)


def uniform(values: Iterable[int]) -> Value:
    """One number where all lanes have the same."""
    found = tuple(values)
    return Lanes(found) if any(each != found[0] for each in found) else found[0]
