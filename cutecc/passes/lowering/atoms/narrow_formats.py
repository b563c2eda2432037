"""Floating-point formats of 8 bits and fewer, converted from and to `f32` by integers of 32 bits.

What the instructions of GPUs that have them give (PTX ISA, "cvt"), bit for bit; formats without an instruction convert
as LLVM's APFloat has it. Values are vectors; every operation is one on all elements.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Literal

from cutecc.ir.constants import constant_of_type
from cutecc.ir.mlir import arith, ir
from cutecc.passes.lowering.values.integers import Predicate, compare, converted

Special = Literal["ieee", "nan", "unsigned zero", "none"]

_MANTISSA, _BIAS = 23, 127
"""Of `f32`."""
_MAGNITUDE, _INFINITY, _NAN = 0x7FFFFFFF, 0x7F800000, 0x7FFFFFFF
"""Bits of `f32`; the NaN is the one that PTX makes."""


@dataclass(frozen=True)
class NarrowFormat:
    """A sign, exponent bits and mantissa bits, from the top."""

    exponent: int
    """Bits."""
    mantissa: int
    """Bits."""
    special: Special
    """What is no number: infinities and NaNs, of the highest exponent; one NaN, all ones; one NaN, where a negative
    zero would be; nothing."""
    bias: int
    saturates: bool = True
    """Whether what is too large, infinity too, becomes the largest number. Else it becomes infinity, or a NaN."""

    @property
    def bits(self) -> int:
        """Of one number."""
        return 1 + self.exponent + self.mantissa

    @property
    def sign(self) -> int:
        """The sign's bit."""
        return 1 << (self.exponent + self.mantissa)

    @property
    def infinity(self) -> int:
        """The bits of the highest exponent."""
        return self.sign - (1 << self.mantissa)

    @property
    def largest(self) -> int:
        """The bits of the largest number."""
        beyond = {"ieee": self.infinity, "nan": self.nan}.get(self.special, self.sign)
        return beyond - 1

    @property
    def nan(self) -> int:
        """The bits that a NaN becomes; the largest number, where the format has none."""
        return self.sign if self.special == "unsigned zero" else self.sign - 1


FORMATS = {
    "f8E4M3FN": NarrowFormat(4, 3, "nan", 7),
    "f8E5M2": NarrowFormat(5, 2, "ieee", 15),
    "f8E4M3": NarrowFormat(4, 3, "ieee", 7, saturates=False),
    "f8E4M3B11FNUZ": NarrowFormat(4, 3, "unsigned zero", 11, saturates=False),
    "f6E3M2FN": NarrowFormat(3, 2, "none", 3),
    "f6E2M3FN": NarrowFormat(2, 3, "none", 1),
    "f4E2M1FN": NarrowFormat(2, 1, "none", 1),
}
"""OCP 8-bit Floating Point Specification, OCP Microscaling Formats, and MLIR's documentation of its float types."""


def from_float(vector: ir.Value, format_: NarrowFormat) -> ir.Value:
    """The bits of `f32` in the format, rounded to nearest with ties to even: integers of 32 bits."""
    bits = as_integers(vector)
    magnitude = _and(bits, _MAGNITUDE)
    # Normal: half of the last place is added, less one bit where that is even, and what is behind it is cut off.
    dropped = _MANTISSA - format_.mantissa
    odd = _and(_shift_right(magnitude, dropped), 1)
    rounded = _add(_add(magnitude, odd), (1 << (dropped - 1)) - 1)
    normal = _add(_shift_right(rounded, dropped), -((_BIAS - format_.bias) << format_.mantissa))
    # Subnormal: beside a number whose last place is the least that the format has, addition rounds.
    beside = (_BIAS - format_.bias + 1 + dropped) << _MANTISSA
    total = arith.addf(as_floats(magnitude), as_floats(_splat(beside, magnitude)))
    small = _add(as_integers(total), -beside)
    found = arith.select(_is(Predicate.BELOW, magnitude, (_BIAS - format_.bias + 1) << _MANTISSA), small, normal)
    if format_.saturates:
        found = arith.minui(found, _splat(format_.largest, found))
    elif format_.special == "ieee":
        found = arith.minui(found, _splat(format_.infinity, found))
    sign = _and(_shift_right(bits, 31 - format_.exponent - format_.mantissa), format_.sign)
    if format_.special == "unsigned zero":
        sign = arith.select(_is(Predicate.EQUAL, found, 0), found, sign)
        is_nan = _is(Predicate.ABOVE, found, format_.largest)
    else:
        is_nan = _is(Predicate.ABOVE, magnitude, _INFINITY)
    return arith.select(is_nan, _splat(format_.nan, found), arith.ori(found, sign))


def to_float(bits: ir.Value, format_: NarrowFormat) -> ir.Value:
    """The `f32` of integers of 32 bits that hold a number in the format, and nothing above it."""
    magnitude = _and(bits, format_.sign - 1)
    raised = _shift_left(magnitude, _MANTISSA - format_.mantissa)
    normal = _add(raised, (_BIAS - format_.bias) << _MANTISSA)
    # A subnormal is what is left of the number with its mantissa and an implicit one, without that one.
    one = _splat((_BIAS - format_.bias + 1) << _MANTISSA, bits)
    with_one = arith.ori(raised, one)
    small = as_integers(arith.subf(as_floats(with_one), as_floats(one)))
    found = arith.select(_is(Predicate.BELOW, magnitude, 1 << format_.mantissa), small, normal)
    if format_.special == "ieee":
        infinite = _splat(_INFINITY, bits)
        found = arith.select(_is(Predicate.EQUAL, magnitude, format_.infinity), infinite, found)
    sign = _shift_left(_and(bits, format_.sign), 31 - format_.exponent - format_.mantissa)
    found = arith.ori(found, sign)
    if format_.special == "ieee":
        found = arith.select(_is(Predicate.ABOVE, magnitude, format_.infinity), _splat(_NAN, bits), found)
    elif format_.special == "nan":
        found = arith.select(_is(Predicate.EQUAL, magnitude, format_.nan), _splat(_NAN, bits), found)
    elif format_.special == "unsigned zero":
        found = arith.select(_is(Predicate.EQUAL, bits, format_.nan), _splat(_NAN, bits), found)
    return as_floats(found)


_POWER_NAN = 0xFF
_LEAST_POWER = 0x00400000
"""2^-127, the least power that `f8E8M0FNU` has, as `f32`: a subnormal."""


def power_from_float(vector: ir.Value, *, up: bool) -> ir.Value:
    """The bits of `f32` in `f8E8M0FNU`, the sign left out: the exponent, rounded up or toward zero."""
    magnitude = _and(as_integers(vector), _MAGNITUDE)
    code = _shift_right(magnitude, _MANTISSA)
    if up:
        beyond = converted(
            "arith.extui", _is(Predicate.ABOVE, magnitude, _LEAST_POWER), ir.IntegerType.get_signless(32)
        )
        inexact = _shift_right(_add(_and(magnitude, (1 << _MANTISSA) - 1), (1 << _MANTISSA) - 1), _MANTISSA)
        code = arith.select(_is(Predicate.EQUAL, code, 0), beyond, arith.addi(code, inexact))
    return arith.minui(code, _splat(_POWER_NAN, code))


def power_to_float(bits: ir.Value) -> ir.Value:
    """The `f32` of integers of 32 bits that hold a number in `f8E8M0FNU`."""
    # The NaN is the one that `cvt.rn.bf16x2.ue8m0x2` makes.
    found = arith.select(_is(Predicate.EQUAL, bits, _POWER_NAN), _splat(0x7FFF0000, bits), _shift_left(bits, _MANTISSA))
    return as_floats(arith.select(_is(Predicate.EQUAL, bits, 0), _splat(_LEAST_POWER, bits), found))


def as_integers(vector: ir.Value) -> ir.Value:
    """The bits of a vector of `f32`."""
    return converted("arith.bitcast", vector, ir.IntegerType.get_signless(32))


def as_floats(vector: ir.Value) -> ir.Value:
    """A vector of integers of 32 bits as `f32`."""
    return converted("arith.bitcast", vector, ir.F32Type.get())


def _splat(number: int, like: ir.Value) -> ir.Value:
    # As the attribute takes them, the bits have a sign.
    (signed,) = struct.unpack("<i", struct.pack("<I", number & 0xFFFFFFFF))
    return constant_of_type(signed, like.type)


def _add(value: ir.Value, number: int | ir.Value) -> ir.Value:
    return arith.addi(value, _splat(number, value) if isinstance(number, int) else number)


def _and(value: ir.Value, mask: int) -> ir.Value:
    return arith.andi(value, _splat(mask, value))


def _shift_left(value: ir.Value, bits: int) -> ir.Value:
    return arith.shli(value, _splat(bits, value))


def _shift_right(value: ir.Value, bits: int) -> ir.Value:
    return arith.shrui(value, _splat(bits, value))


def _is(predicate: Predicate, value: ir.Value, number: int) -> ir.Value:
    return compare(predicate, value, _splat(number, value))
