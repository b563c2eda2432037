"""Arithmetic on ranges of integers, as upstream MLIR's `ConstantIntRanges` and `intrange::infer…` define it.

A range of a value of `width` bits is a tuple `(width, umin, umax, smin, smax)`: its unsigned and its signed bounds,
both inclusive. Either pair may be looser than the other. Source: MLIR's InferIntRangeCommon.cpp and
InferIntRangeInterface.cpp below mlir/lib/Interfaces; results have to equal theirs, also where a tighter bound is easy.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable

Range = tuple[int, int, int, int, int]

NSW = 1
"""Overflow flag: the signed result does not wrap."""
NUW = 2
"""Overflow flag: the unsigned result does not wrap."""


_remembered = functools.lru_cache(4096)  # unrolled code asks the same many times


def to_signed(value: int, width: int) -> int:
    """Read the low `width` bits of `value` as two's complement."""
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def signed_limits(width: int) -> tuple[int, int]:
    return -(1 << (width - 1)), (1 << (width - 1)) - 1


@_remembered
def full(width: int) -> Range:
    """The range of a value of which nothing is known."""
    return (width, 0, (1 << width) - 1, *signed_limits(width))


@_remembered
def constant(value: int, width: int) -> Range:
    unsigned, signed = value & ((1 << width) - 1), to_signed(value, width)
    return (width, unsigned, unsigned, signed, signed)


def from_unsigned(low: int, high: int, width: int) -> Range:
    """Unsigned bounds; the signed ones follow when both have the same sign."""
    signed_low, signed_high = to_signed(low, width), to_signed(high, width)
    if (signed_low < 0) == (signed_high < 0):
        return (width, low, high, min(signed_low, signed_high), max(signed_low, signed_high))
    return (width, low, high, *signed_limits(width))


def from_signed(low: int, high: int, width: int) -> Range:
    """Signed bounds; the unsigned ones follow when both have the same sign."""
    mask = (1 << width) - 1
    if (low < 0) == (high < 0):
        return (width, min(low & mask, high & mask), max(low & mask, high & mask), low, high)
    return (width, 0, mask, low, high)


def union(a: Range, b: Range) -> Range:
    return (a[0], min(a[1], b[1]), max(a[2], b[2]), min(a[3], b[3]), max(a[4], b[4]))


def intersection(a: Range, b: Range) -> Range:
    return (a[0], max(a[1], b[1]), min(a[2], b[2]), max(a[3], b[3]), min(a[4], b[4]))


def constant_value(a: Range) -> int | None:
    """The one value of a range as an unsigned number; `None` when there are several."""
    if a[1] == a[2]:
        return a[1]
    if a[3] == a[4]:
        return a[3] & ((1 << a[0]) - 1)
    return None


def _bounded(low: int, high: int, width: int, signed: bool) -> Range:
    return from_signed(low, high, width) if signed else from_unsigned(low, high, width)


def _corners(
    function: Callable[[int, int], int | None], left: Iterable[int], right: tuple[int, int], width: int, signed: bool
) -> Range:
    """The hull of `function` over the corners; everything when one of them overflows."""
    results: list[int] = []
    for a in left:
        for b in right:
            result = function(a, b)
            if result is None:
                return full(width)
            results.append(result)
    return _bounded(min(results), max(results), width, signed)


def _checked(width: int, signed: bool, saturate: bool) -> Callable[[int], int | None]:
    low, high = signed_limits(width) if signed else (0, (1 << width) - 1)

    def check(value: int) -> int | None:
        if low <= value <= high:
            return value
        if saturate:
            return low if value < low else high
        return None

    return check


def _ends(low: int | None, high: int | None, width: int, signed: bool) -> Range:
    if low is None or high is None:
        return full(width)
    return _bounded(low, high, width, signed)


@_remembered
def add(a: Range, b: Range, flags: int = 0) -> Range:
    width = a[0]
    unsigned, signed = _checked(width, False, bool(flags & NUW)), _checked(width, True, bool(flags & NSW))
    return intersection(
        _ends(unsigned(a[1] + b[1]), unsigned(a[2] + b[2]), width, False),
        _ends(signed(a[3] + b[3]), signed(a[4] + b[4]), width, True),
    )


@_remembered
def sub(a: Range, b: Range, flags: int = 0) -> Range:
    width = a[0]
    unsigned, signed = _checked(width, False, bool(flags & NUW)), _checked(width, True, bool(flags & NSW))
    return intersection(
        _ends(unsigned(a[1] - b[2]), unsigned(a[2] - b[1]), width, False),
        _ends(signed(a[3] - b[4]), signed(a[4] - b[3]), width, True),
    )


@_remembered
def mul(a: Range, b: Range, flags: int = 0) -> Range:
    width = a[0]
    unsigned, signed = _checked(width, False, bool(flags & NUW)), _checked(width, True, bool(flags & NSW))
    return intersection(
        _corners(lambda x, y: unsigned(x * y), a[1:3], b[1:3], width, False),
        _corners(lambda x, y: signed(x * y), a[3:5], b[3:5], width, True),
    )


_Fixup = Callable[[int, int, int], int | None]


def _truncating(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return -quotient if (a < 0) != (b < 0) else quotient


def _signed_remainder(a: int, b: int) -> int:
    return a - _truncating(a, b) * b


def _keep(_a: int, _b: int, quotient: int) -> int | None:
    return quotient


def _div_unsigned(a: Range, b: Range, fixup: _Fixup) -> Range:
    if b[1] and b[2]:
        return _corners(lambda x, y: fixup(x, y, x // y), a[1:3], b[1:3], a[0], False)
    return from_unsigned(a[1] // b[2] if b[2] and a[1] >= b[2] else 0, a[2], a[0])


def _div_signed(a: Range, b: Range, fixup: _Fixup) -> Range:
    width = a[0]
    if not (b[3] > 0 or b[4] < 0):
        return full(width)
    lowest = signed_limits(width)[0]

    def divide(x: int, y: int) -> int | None:
        return None if x == lowest and y == -1 else fixup(x, y, _truncating(x, y))

    return _corners(divide, a[3:5], b[3:5], width, True)


@_remembered
def div_unsigned(a: Range, b: Range) -> Range:
    return _div_unsigned(a, b, _keep)


@_remembered
def div_signed(a: Range, b: Range) -> Range:
    return _div_signed(a, b, _keep)


@_remembered
def ceildiv_unsigned(a: Range, b: Range) -> Range:
    highest = (1 << a[0]) - 1

    def fixup(x: int, y: int, quotient: int) -> int | None:
        if x % y == 0:
            return quotient
        return quotient + 1 if quotient < highest else None

    return _div_unsigned(a, b, fixup)


@_remembered
def ceildiv_signed(a: Range, b: Range) -> Range:
    width = a[0]
    lowest, highest = signed_limits(width)

    def fixup(x: int, y: int, quotient: int) -> int | None:
        if _signed_remainder(x, y) and (x >= 0) == (y >= 0):
            return quotient + 1 if quotient < highest else None
        # Upstream: the expansion turns INT_MIN / positive into a positive number, and the bound has to agree with it.
        return to_signed(-quotient, width) if x == lowest and y > 1 else quotient

    result = _div_signed(a, b, fixup)
    if a[3] == lowest and a[4] > a[3]:
        result = union(result, _div_signed(from_signed(a[3] + 1, a[4], width), b, fixup))
    return result


@_remembered
def floordiv_signed(a: Range, b: Range) -> Range:
    lowest = signed_limits(a[0])[0]

    def fixup(x: int, y: int, quotient: int) -> int | None:
        if _signed_remainder(x, y) and (x >= 0) != (y >= 0):
            return quotient - 1 if quotient > lowest else None
        return quotient

    return _div_signed(a, b, fixup)


@_remembered
def rem_signed(a: Range, b: Range) -> Range:
    width = a[0]
    mask = (1 << width) - 1
    low, high = signed_limits(width)
    if b[3] > 0 or b[4] < 0:
        divisor = b[4] if b[3] > 0 else to_signed(-b[3], width)
        largest = to_signed(divisor - 1, width)
        low = -largest if a[3] < 0 else 0
        high = largest if a[4] > 0 else 0
        if b[3] == b[4] and ((a[4] - a[3]) & mask) < (divisor & mask):
            first, last = _signed_remainder(a[3], divisor), _signed_remainder(a[4], divisor)
            if first <= last:
                low, high = first, last
    return from_signed(low, high, width)


@_remembered
def rem_unsigned(a: Range, b: Range) -> Range:
    mask = (1 << a[0]) - 1
    low, high = 0, min((b[2] - 1) & mask, a[2])
    if b[1] and b[1] == b[2] and ((a[2] - a[1]) & mask) < b[2]:
        first, last = a[1] % b[2], a[2] % b[2]
        if first <= last:
            low, high = first, last
    return from_unsigned(low, high, a[0])


def _varying_bits(a: Range) -> int:
    """The bits below the highest one in which the unsigned bounds differ, and that one."""
    return (1 << (a[1] ^ a[2]).bit_length()) - 1


def _bit_bounds(a: Range) -> tuple[int, int]:
    varying = _varying_bits(a)
    return a[1] & ~varying, a[2] | varying


@_remembered
def bit_and(a: Range, b: Range) -> Range:
    return _corners(lambda x, y: x & y, _bit_bounds(a), _bit_bounds(b), a[0], False)


@_remembered
def bit_or(a: Range, b: Range) -> Range:
    return _corners(lambda x, y: x | y, _bit_bounds(a), _bit_bounds(b), a[0], False)


@_remembered
def bit_xor(a: Range, b: Range) -> Range:
    varying = _varying_bits(a) | _varying_bits(b)
    fixed = a[1] ^ b[1]
    return from_unsigned(fixed & ~varying, fixed | varying, a[0])


@_remembered
def shift_left(a: Range, b: Range, flags: int = 0) -> Range:
    width = a[0]
    unsigned, signed = _checked(width, False, bool(flags & NUW)), _checked(width, True, bool(flags & NSW))

    def shift(check: Callable[[int], int | None], saturate: bool) -> Callable[[int, int], int | None]:
        def apply(x: int, y: int) -> int | None:
            # Shifting by the width or more overflows, also from zero, unless the flag makes it saturate.
            if y >= width and not saturate:
                return None
            return check(x << min(y, 2 * width))

        return apply

    return intersection(
        _corners(shift(unsigned, bool(flags & NUW)), a[1:3], b[1:3], width, False),
        _corners(shift(signed, bool(flags & NSW)), a[3:5], b[1:3], width, True),
    )


@_remembered
def shift_right_signed(a: Range, b: Range) -> Range:
    return _corners(lambda x, y: None if y >= a[0] else x >> y, a[3:5], b[1:3], a[0], True)


@_remembered
def shift_right_unsigned(a: Range, b: Range) -> Range:
    return _corners(lambda x, y: None if y >= a[0] else x >> y, a[1:3], b[1:3], a[0], False)


@_remembered
def max_signed(a: Range, b: Range) -> Range:
    return from_signed(max(a[3], b[3]), max(a[4], b[4]), a[0])


@_remembered
def min_signed(a: Range, b: Range) -> Range:
    return from_signed(min(a[3], b[3]), min(a[4], b[4]), a[0])


@_remembered
def max_unsigned(a: Range, b: Range) -> Range:
    return from_unsigned(max(a[1], b[1]), max(a[2], b[2]), a[0])


@_remembered
def min_unsigned(a: Range, b: Range) -> Range:
    return from_unsigned(min(a[1], b[1]), min(a[2], b[2]), a[0])


@_remembered
def extend_unsigned(a: Range, width: int) -> Range:
    return from_unsigned(a[1], a[2], width)


@_remembered
def extend_signed(a: Range, width: int) -> Range:
    return from_signed(a[3], a[4], width)


def extend(a: Range, width: int) -> Range:
    """Each pair of bounds by its own rule."""
    return (width, a[1], a[2], a[3], a[4])


@_remembered
def truncate(a: Range, width: int) -> Range:
    mask = (1 << width) - 1
    wraps = a[1] >> width != a[2] >> width
    low_unsigned, high_unsigned = (0, mask) if wraps else (a[1] & mask, a[2] & mask)
    low, high = a[3] >> (width - 1), a[4] >> (width - 1)
    keeps_sign = low == high or (low == -1 and high in (-1, 0)) or (low == 0 and high == 0)
    signed = (to_signed(a[3], width), to_signed(a[4], width)) if keeps_sign else signed_limits(width)
    return (width, low_unsigned, high_unsigned, *signed)


# In the order of arith.cmpi's predicate attribute: eq, ne, slt, sle, sgt, sge, ult, ule, ugt, uge.
_INVERSE = (1, 0, 5, 4, 3, 2, 9, 8, 7, 6)


def _always(predicate: int, a: Range, b: Range) -> bool:
    match predicate:
        case 0:
            value = constant_value(a)
            return value is not None and value == constant_value(b)
        case 1:
            signed = a[4] < b[3] or a[3] > b[4]
            return signed and (a[2] < b[1] or a[1] > b[2])
        case 2:
            return a[4] < b[3]
        case 3:
            return a[4] <= b[3]
        case 4:
            return a[3] > b[4]
        case 5:
            return a[3] >= b[4]
        case 6:
            return a[2] < b[1]
        case 7:
            return a[2] <= b[1]
        case 8:
            return a[1] > b[2]
        case _:
            return a[1] >= b[2]


@_remembered
def compare(predicate: int, a: Range, b: Range) -> Range:
    """The range of `arith.cmpi`'s result; `predicate` is its attribute."""
    if _always(predicate, a, b):
        return constant(1, 1)
    if _always(_INVERSE[predicate], a, b):
        return constant(0, 1)
    return full(1)
