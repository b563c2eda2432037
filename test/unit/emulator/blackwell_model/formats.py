"""Values of the narrow formats: e4m3, e5m2, e3m2, e2m3, e2m1, ue8m0, ue4m3, and what a tensor core reads of tf32.

PTX ISA, 5.2.3 "Alternate Floating-Point Data Formats". Formats of 4 and 6 bits have neither infinities nor NaN.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Format:
    """Bits of the sign, exponent and mantissa; a value of exponent e has the weight 2 ** (e - bias)."""

    name: str
    exponent_bits: int
    mantissa_bits: int
    bias: int
    signed: bool = True

    @property
    def bits(self) -> int:
        return self.signed + self.exponent_bits + self.mantissa_bits

    @property
    def sign_bit(self) -> int:
        return 1 << self.bits - 1 if self.signed else 0

    @property
    def nan(self) -> int | None:
        """The code that conversions make of a NaN, positive."""
        return {"e4m3": 0x7F, "e5m2": 0x7F, "ue4m3": 0x7F, "ue8m0": 0xFF}.get(self.name)

    @property
    def largest(self) -> int:
        """The code of MAX_NORM."""
        return {"e5m2": 0x7B, "e4m3": 0x7E, "ue4m3": 0x7E, "ue8m0": 0xFE}.get(
            self.name, (1 << self.exponent_bits + self.mantissa_bits) - 1
        )

    def decode(self, code: int) -> float:
        """The value, exactly."""
        sign = -1.0 if code & self.sign_bit else 1.0
        magnitude = code & ~self.sign_bit & (1 << self.bits) - 1
        if magnitude > self.largest:
            infinite = self.name == "e5m2" and magnitude == 0x7C
            return math.copysign(math.inf if infinite else math.nan, sign)
        exponent, mantissa = magnitude >> self.mantissa_bits, magnitude & (1 << self.mantissa_bits) - 1
        if self.name == "ue8m0":
            return math.ldexp(1.0, exponent - self.bias)
        # Subnormals have the weight of exponent 1, and no leading bit.
        lead = (1 << self.mantissa_bits) * (exponent > 0)
        return sign * math.ldexp(lead + mantissa, max(exponent, 1) - self.bias - self.mantissa_bits)


E4M3 = Format("e4m3", 4, 3, 7)
E5M2 = Format("e5m2", 5, 2, 15)
E3M2 = Format("e3m2", 3, 2, 3)
E2M3 = Format("e2m3", 2, 3, 1)
E2M1 = Format("e2m1", 2, 1, 1)
UE8M0 = Format("ue8m0", 8, 0, 127, signed=False)
UE4M3 = Format("ue4m3", 4, 3, 7, signed=False)
"""7 bits: the eighth of the byte that it is in is padding."""

FORMATS = {each.name: each for each in (E4M3, E5M2, E3M2, E2M3, E2M1, UE8M0, UE4M3)}


@cache
def values(name: str) -> tuple[float, ...]:
    """Of all codes."""
    return tuple(FORMATS[name].decode(code) for code in range(1 << FORMATS[name].bits))


@cache
def magnitudes(name: str) -> tuple[float, ...]:
    """Of the codes from 0 to that of MAX_NORM, which ascend."""
    return tuple(FORMATS[name].decode(code) for code in range(FORMATS[name].largest + 1))


def read_tf32(bits: int) -> int:
    """The bits of an f32 that a product uses: with the 10 highest of its mantissa.

    The manual leaves the layout of tf32 to the implementation, and public products of numbers that were not converted
    are so.
    """
    return bits & 0xFFFFE000


def in_a_byte(name: str, code: int) -> int:
    """The byte that `f8f6f4` and `mxf8f6f4` have an element in, where it has a byte of its own."""
    return code << 2 if name == "e2m1" else code


def from_a_byte(name: str, byte: int) -> int:
    return (byte >> 2 if name == "e2m1" else byte) & (1 << FORMATS[name].bits) - 1
