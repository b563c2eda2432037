"""Details that the floating-point instructions share: flushed subnormals, canonical NaNs, clamping, the smaller of two.

All on the bits of a value in a format, as an integer of the format's width.
"""

from __future__ import annotations

from cutecc.emulator.numbers.code import Value
from cutecc.emulator.numbers.formats import FORMATS, Format

WIDE_NAN = 0xFFF8_0000_0000_0000
"""What an `f64` operation without a NaN operand gives for an invalid one."""


def flushed(bits: Value, format_: Format) -> Value:
    """A subnormal as zero of its sign."""
    return (bits & format_.infinity).same(0).then(bits & (1 << (format_.width - 1)), bits)


def canonical(bits: Value, format_: Format) -> Value:
    """Any NaN as the format's one."""
    return is_nan(bits, format_).then(format_.nan, bits)


def is_nan(bits: Value, format_: Format) -> Value:
    return magnitude(bits, format_).above(format_.infinity)


def magnitude(bits: Value, format_: Format) -> Value:
    """Without the sign."""
    return bits & ((1 << (format_.width - 1)) - 1)


def clamped(bits: Value, format_: Format) -> Value:
    """`.sat`: to [0, 1], a NaN to 0."""
    one = format_.bias << format_.mantissa
    in_range = bits.at_most(one).then(bits, bits.constant(one))
    return (bits.above(format_.infinity)).then(0, in_range)


def positive(bits: Value, format_: Format) -> Value:
    """`.relu`: a negative number to 0; a NaN to the format's."""
    return is_nan(bits, format_).then(format_.nan, bits.most(0, signed=True))


def order(bits: Value) -> Value:
    """An integer that as signed one compares as the numbers do, -0 below +0."""
    return bits ^ (bits.sign_shift(bits.width - 1) >> 1)


def extreme(a: Value, b: Value, format_: Format, largest: bool, nan_wins: bool, xor_sign: bool) -> Value:
    """`min` and `max`: a NaN loses, or wins; `xor_sign`: of the magnitudes, with the product of the signs.

    A NaN result is the format's; in `f64`, `b` made quiet.
    """
    sign = (a ^ b) & (1 << (format_.width - 1))
    if xor_sign:
        a, b = magnitude(a, format_), magnitude(b, format_)
    first = order(b).below(order(a), signed=True) if largest else order(a).below(order(b), signed=True)
    result = first.then(a, b)
    nan_a, nan_b = is_nan(a, format_), is_nan(b, format_)
    if nan_wins:
        nan = nan_a | nan_b
    else:
        nan = nan_a & nan_b
        result = nan_a.then(b, nan_b.then(a, result))
    if format_ == FORMATS["f64"]:
        return nan.then(b | format_.quiet, result)
    return nan.then(format_.nan, result | sign if xor_sign else result)


def wide_result(value: Value, *operands: Value) -> Value:
    """The bits of an `f64` result: of a NaN those of the first NaN operand, made quiet."""
    found = value.is_nan().then(WIDE_NAN, value.bits())
    for operand in reversed(operands):
        found = operand.is_nan().then(operand.bits() | FORMATS["f64"].quiet, found)
    return found
