"""Floating-point formats, and exact conversion between them in all rounding modes.

Every value of every format here is a `double` exactly; so conversions go from bits to `double` (`unpacked`) and back
(`packed`), rounding once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cutecc.emulator.numbers.code import Rounding, Value

Mode = Rounding | Literal["rna", "rs"]
"""`rna`: to nearest, halves away from zero. `rs`: away where what is cut off and something random make one."""

_MANTISSA, _BIAS, _INFINITY = 52, 1023, 0x7FF << 52
_SIGN = 1 << 63


@dataclass(frozen=True, slots=True)
class Format:
    """A sign, exponent bits and mantissa bits, from the top."""

    exponent: int
    """Bits."""
    mantissa: int
    """Bits."""
    special: Literal["ieee", "nan", "none"] = "ieee"
    """What the highest exponent is for: infinities and NaNs; one NaN, all ones (e4m3); numbers."""

    @property
    def bias(self) -> int:
        return (1 << (self.exponent - 1)) - 1

    @property
    def lowest(self) -> int:
        """The exponent of the least normal number."""
        return 1 - self.bias

    @property
    def width(self) -> int:
        """Bits."""
        return 1 + self.exponent + self.mantissa

    @property
    def infinity(self) -> int:
        """Its bits, where the format has one."""
        return ((1 << self.exponent) - 1) << self.mantissa

    @property
    def largest(self) -> int:
        """The bits of the largest number."""
        return {"ieee": self.infinity - 1, "nan": (1 << (self.width - 1)) - 2}.get(
            self.special, (1 << (self.width - 1)) - 1
        )

    @property
    def quiet(self) -> int:
        """The bit that tells a quiet NaN from a signalling one."""
        return 1 << (self.mantissa - 1)

    @property
    def nan(self) -> int:
        """The bits that a NaN becomes: all ones behind the sign; where the format has none, the largest number."""
        return (1 << (self.width - 1)) - 1


FORMATS: dict[str, Format] = {
    "f16": Format(5, 10),
    "bf16": Format(8, 7),
    "f32": Format(8, 23),
    "f64": Format(11, 52),
    # The bits of tf32 are the upper 19 of the 32 that hold it.
    "tf32": Format(8, 10),
    "e4m3": Format(4, 3, "nan"),
    "e5m2": Format(5, 2),
    "e2m1": Format(2, 1, "none"),
    "e2m3": Format(2, 3, "none"),
    "e3m2": Format(3, 2, "none"),
}


def unpacked(bits: Value, format_: Format) -> Value:
    """The `double` that these bits, of the width or wider, mean; a NaN keeps its payload."""
    if format_ == FORMATS["f64"]:
        return bits.float()
    if format_ == FORMATS["f32"]:
        return bits.float().widen()
    wide = bits.resize("i64")
    up, bias = _MANTISSA - format_.mantissa, _BIAS - format_.bias
    magnitude = wide & ((1 << (format_.width - 1)) - 1)
    sign = ((wide >> (format_.width - 1)) & 1) << 63
    normal = (magnitude << up) + (bias << _MANTISSA)
    # A subnormal is what is left of the number with its mantissa and an implicit one, without that one.
    one = wide.constant((bias + 1) << _MANTISSA)
    small = (one | (magnitude << up)).float().fsub(one.float()).bits() & (_SIGN - 1)
    value = magnitude.below(1 << format_.mantissa).then(small, normal)
    if format_.special == "ieee":
        value = magnitude.below(format_.infinity).then(value, (magnitude << up) | _INFINITY)
    elif format_.special == "nan":
        value = magnitude.same(format_.nan).then(_INFINITY | (1 << 51), value)
    return (value | sign).float()


def packed(
    value: Value,
    format_: Format,
    mode: Mode = "rn",
    finite: bool = False,
    flush: bool = False,
    random: Value | None = None,
) -> Value:
    """The bits, an integer of 64, of a `double` in the format; a NaN becomes the format's.

    `finite`: what is too large, infinity too, becomes the largest number. `flush`: what is still below the least normal
    number when it is rounded to as many bits as that has becomes a zero. `random`, of `rs`: a fraction, of at most 16
    bits, times 2^63; the value is then one of `f32`.
    """
    bits = value.bits()
    magnitude = bits & (_SIGN - 1)
    sign = bits >> 63
    field = magnitude >> _MANTISSA
    fraction = magnitude & ((1 << _MANTISSA) - 1)
    implicit = field.same(0).then(0, field.constant(1 << _MANTISSA))
    found = rounded(sign, (fraction | implicit) << 10, field.most(1) - _BIAS, format_, mode, finite, flush, random)
    infinity = format_.largest if finite or format_.special != "ieee" else format_.infinity
    found = magnitude.same(_INFINITY).then(infinity, found)
    negative = sign << (format_.width - 1)
    nan = magnitude.above(_INFINITY)
    return nan.then(format_.nan, found | negative)


def packed_integer(value: Value, format_: Format, mode: Mode, signed: bool) -> Value:
    """The bits, an integer of 64, of an integer of up to 64 bits in the format."""
    wide = value.resize("i64", signed)
    sign = wide >> 63 if signed else wide.constant(0)
    magnitude = sign.differs(0).then(-wide, wide)
    zeros = magnitude.leading_zeros()
    top = magnitude << (zeros & 63)
    exponent = magnitude.same(0).then(-5000, 63 - zeros)
    # The lowest bit stands for all that are cut off.
    found = rounded(sign, (top >> 1) | (top & 1), exponent, format_, mode)
    return found | (sign << (format_.width - 1))


def rounded(
    sign: Value,
    significand: Value,
    exponent: Value,
    format_: Format,
    mode: Mode,
    finite: bool = False,
    flush: bool = False,
    random: Value | None = None,
) -> Value:
    """The bits of a magnitude, rounded as its sign (0 or 1) has it (see `packed`); integers of 64 bits.

    The magnitude is `significand * 2**(exponent - 62)`; its bit 62 is set, or it is far below the least number.
    """
    least = 1 - format_.bias
    at = exponent if flush else exponent.most(least, signed=True)
    shift = (at - exponent) + (62 - format_.mantissa)
    if random is not None:
        # Of an f32, whose lower bits here are 0: however far it is shifted, what random bits reach stays.
        significand, shift = significand >> 32, shift - 32
    far = shift.above(63)
    shift = shift.least(63)
    significand = far.then(significand.least(1), significand)
    kept = significand >> shift
    rest = significand & ((significand.constant(1) << shift) - 1)
    half = significand.constant(1) << (shift - 1)
    if mode == "rn":
        up = rest.above(half) | (rest.same(half) & (kept & 1).differs(0))
    elif mode == "rna":
        up = ~rest.below(half)
    elif random is not None:
        up = ((rest + (random >> (63 - shift))) >> shift).differs(0)
    elif mode == "rz":
        up = None
    else:
        up = rest.differs(0) & (sign.same(0) if mode == "rp" else sign.differs(0))
    if up is not None:
        kept = kept + up.resize("i64")
    found = ((at + (format_.bias - 1)) << format_.mantissa) + kept
    if flush:
        found = found.below(1 << format_.mantissa, signed=True).then(0, found)
    beyond = found.above(format_.largest)
    if finite or mode == "rz" or format_.special != "ieee":
        return beyond.then(format_.largest, found)
    if mode in ("rn", "rna", "rs"):
        return beyond.then(format_.infinity, found)
    inward = sign.differs(0) if mode == "rp" else sign.same(0)
    return beyond.then(inward.then(format_.largest, found.constant(format_.infinity)), found)


def add_to_odd(a: Value, b: Value) -> Value:
    """The sum of two `double`s, rounded to odd where it is not exact.

    Rounded again, to fewer bits, it gives what rounding once would.
    """
    total = a.fadd(b)
    other = total.fsub(a)
    error = a.fsub(total.fsub(other)).fadd(b.fsub(other))
    bits = total.bits()
    inexact = error.compare("one", error.real(0.0)) & (bits & 1).same(0)
    # The exact sum lies on the error's side of the total: further out, or nearer to zero.
    outward = (bits ^ error.bits()).below(0, signed=True)
    odd = outward.then(bits - 1, bits + 1)
    finite = (bits & _INFINITY).differs(_INFINITY)
    return (inexact & finite).then(odd, bits).float()
