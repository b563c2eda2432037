"""`cvt` to and from the narrow formats, and with stochastic rounding.

PTX ISA, 9.7.9.21 "cvt": the text of `.rn`, `.rz`, `.rp`, `.rs`, `.relu` and `.satfinite`, and of the layouts of random
bits. The pictures of the latter (figures 38 to 41) say which bits each of a pair uses; the text has one field for two
operands. `reverses_first` is how public measurements on a B200 have it: the first operand of a pair takes the field
with its bits in reverse order.

All rounding is exact: a value of f32 is compared with its neighbours in the format, as floats of 64 bits.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from blackwell_model.formats import FORMATS, UE8M0, Format, magnitudes

RANDOM_BITS = 16


def as_float(bits: int) -> float:
    """The value of an f32."""
    return float(np.uint32(bits).view(np.float32))


def to_narrow(bits: int, name: str, *, relu: bool = False) -> int:
    """`cvt.rn.satfinite{.relu}` of an f32 to a format of 4, 6 or 8 bits with a sign."""
    return _signed(bits, FORMATS[name], relu, lambda magnitude: _nearest_even(magnitude, name))


def to_narrow_stochastic(bits: int, name: str, random: int, *, relu: bool = False) -> int:
    """`cvt.rs.satfinite{.relu}` of an f32, with 16 random bits.

    They are added to the 16 highest bits of what is cut off, and a carry is one more in the last place. That they are
    aligned so the manual does not say for formats that cut off more than 16 bits.
    """
    return _signed(bits, FORMATS[name], relu, lambda magnitude: _stochastic(magnitude, name, random))


def _signed(bits: int, form: Format, relu: bool, encode: Callable[[float], int]) -> int:
    value = as_float(bits)
    if math.isnan(value):
        # Formats without one have the largest number for it, positive.
        return form.largest if form.nan is None else form.nan
    negative = bits >> 31
    if relu and negative:
        return 0
    magnitude = abs(value)
    code = form.largest if magnitude > magnitudes(form.name)[-1] else encode(magnitude)
    return (form.sign_bit if negative else 0) | min(code, form.largest)


def _nearest_even(magnitude: float, name: str) -> int:
    lower, share = _between(magnitude, name)
    return lower + (share > 0.5 or (share == 0.5 and lower % 2))


def _stochastic(magnitude: float, name: str, random: int) -> int:
    lower, share = _between(magnitude, name)
    return lower + (math.floor(share * (1 << RANDOM_BITS)) + random >> RANDOM_BITS)


def _between(magnitude: float, name: str) -> tuple[int, float]:
    """The greatest code whose value is not above, and how far on the way to the next one the magnitude is."""
    known = magnitudes(name)
    lower = bisect.bisect_right(known, magnitude) - 1
    if lower == len(known) - 1:
        return lower, 0.0
    return lower, (magnitude - known[lower]) / (known[lower + 1] - known[lower])


def to_ue8m0(bits: int, rounding: Literal["rz", "rp"], *, satfinite: bool = False) -> int:
    """`cvt.{rz,rp}{.satfinite}` of an f32: the power of two of its magnitude.

    There is no zero: what is less than the least power becomes it. What is above the greatest, an infinity too, is NaN
    without `.satfinite` where rounding does not come back to it; the manual says neither of this nor that signs are
    ignored, except of MAX_NORM.
    """
    magnitude = abs(as_float(bits))
    nan = 0xFF
    if math.isnan(magnitude):
        return nan
    if math.isinf(magnitude):
        return UE8M0.largest if satfinite else nan
    known = magnitudes("ue8m0")
    lower = max(bisect.bisect_right(known, magnitude) - 1, 0)
    code = lower + (rounding == "rp" and magnitude > known[lower])
    return code if code <= UE8M0.largest else (UE8M0.largest if satfinite else nan)


def to_f16(code: int, name: str, *, relu: bool = False) -> int:
    """`cvt.rn{.relu}.f16x2` of one element: exact, as f16 has every value of these formats. A NaN is canonical."""
    value = FORMATS[name].decode(code)
    if math.isnan(value):
        return 0x7FFF
    if relu and math.copysign(1.0, value) < 0:
        return 0
    return int(np.float16(value).view(np.uint16))


def ue8m0_to_bf16(code: int) -> int:
    """`cvt.rn.bf16x2.ue8m0x2` of one element; the least power is subnormal there."""
    if code == 0xFF:
        return 0x7FFF
    return code << 7 if code else 1 << 6


def pack(codes: Sequence[int], name: str) -> int:
    """Of 2 or 4 elements in the order of the operands: the first is the highest. Those of 6 bits have a byte each."""
    width = 4 if name == "e2m1" else 8
    return sum(code << width * place for place, code in enumerate(reversed(codes)))


def random_fields(random: int, destination: Literal["f16", "bf16", "e2m1", "8 bits"]) -> tuple[int, int]:
    """Of the operand `rbits`: the bits for a and b (or a alone), and those for e and f (or b alone).

    Formats of 6 and 8 bits have `8 bits`.
    """
    high, low = random >> 16 & 0xFFFF, random & 0xFFFF
    match destination:
        case "f16":
            return high & 0x1FFF, low & 0x1FFF
        case "e2m1":
            # The upper bytes of both halves, and the lower ones.
            return (high >> 8) << 8 | low >> 8, (high & 0xFF) << 8 | low & 0xFF
        case _:
            return high, low


def random_bits_of_four(random: int, name: str, *, reverses_first: bool = True) -> tuple[int, int, int, int]:
    """The 16 bits for each of a, b, e and f of a conversion to `x4`."""
    first, second = random_fields(random, "e2m1" if name == "e2m1" else "8 bits")
    if not reverses_first:
        return first, first, second, second
    return _reversed(first), first, _reversed(second), second


def to_half_stochastic(bits: int, destination: Literal["f16", "bf16"], random: int) -> int:
    """`cvt.rs` of a finite f32 within the range of the destination's normal numbers.

    The bits that are cut off, plus the random ones, carry.
    """
    if destination == "bf16":
        return bits + random >> 16
    rebiased = bits - ((127 - 15) << 23) & 0x7FFFFFFF
    return bits >> 31 << 15 | rebiased + random >> 13


def _reversed(field: int) -> int:
    return int(f"{field:016b}"[::-1], 2)
