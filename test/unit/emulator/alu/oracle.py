"""What number formats mean, in exact arithmetic with Python's integers and fractions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

INF = math.inf
"""Infinities and NaNs are Python floats; numbers are fractions."""


@dataclass(frozen=True)
class Kind:
    exponent: int
    mantissa: int
    top: str = "ieee"
    """`ieee`: infinities and NaNs; `nan`: one NaN, all ones; `numbers`."""

    @property
    def width(self) -> int:
        return 1 + self.exponent + self.mantissa

    @property
    def bias(self) -> int:
        return 2 ** (self.exponent - 1) - 1

    @property
    def nan(self) -> int:
        return 2 ** (self.width - 1) - 1

    @property
    def infinity(self) -> int:
        return (2**self.exponent - 1) << self.mantissa

    @property
    def largest(self) -> int:
        """Bits of the largest number."""
        return {"ieee": self.infinity - 1, "nan": self.nan - 1, "numbers": self.nan}[self.top]


KINDS = {
    "f16": Kind(5, 10),
    "bf16": Kind(8, 7),
    "f32": Kind(8, 23),
    "f64": Kind(11, 52),
    "e4m3": Kind(4, 3, "nan"),
    "e5m2": Kind(5, 2),
    "e2m1": Kind(2, 1, "numbers"),
    "e2m3": Kind(2, 3, "numbers"),
    "e3m2": Kind(3, 2, "numbers"),
}


def power(exponent: int) -> Fraction:
    """2**exponent."""
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


@cache
def value(bits: int, kind: Kind) -> Fraction | float:
    """The number, an infinity or NaN. The sign of a zero is lost."""
    bits &= 2**kind.width - 1
    sign = -1 if bits >> (kind.width - 1) else 1
    size = bits & kind.nan
    exponent, mantissa = size >> kind.mantissa, size & (2**kind.mantissa - 1)
    if kind.top == "ieee" and size >= kind.infinity:
        return sign * INF if size == kind.infinity else math.nan
    if kind.top == "nan" and size == kind.nan:
        return math.nan
    if exponent == 0:
        return sign * mantissa * power(1 - kind.bias - kind.mantissa)
    return sign * (2**kind.mantissa + mantissa) * power(exponent - kind.bias - kind.mantissa)


def negative(bits: int, kind: Kind) -> bool:
    return bool(bits >> (kind.width - 1) & 1)


def encode(number: Fraction, kind: Kind, mode: str = "rn", finite: bool = False, minus_zero: bool = False) -> int:
    """The bits of a number rounded; `minus_zero` is the sign of an exact 0."""
    minus = number < 0 or (number == 0 and minus_zero)
    size = abs(number)
    # The exponent of the number's binade, or of the subnormals.
    exponent = 1 - kind.bias
    if size:
        exponent = max(exponent, size.numerator.bit_length() - size.denominator.bit_length() - 1)
        exponent += power(exponent + 1) <= size
    units = size * power(kind.mantissa - exponent)
    low, rest = divmod(units.numerator, units.denominator)
    half = 2 * rest - units.denominator
    away = {
        "rn": half > 0 or (half == 0 and low % 2 == 1),
        "rna": half >= 0,
        "rz": False,
        "rm": minus and rest > 0,
        "rp": not minus and rest > 0,
    }[mode]
    low += away
    if low == 2 ** (kind.mantissa + 1):
        low, exponent = low // 2, exponent + 1
    bits = low if low < 2**kind.mantissa else (exponent + kind.bias - 1 << kind.mantissa) + low
    if bits > kind.largest:
        stays = finite or mode == "rz" or (mode == "rm" and not minus) or (mode == "rp" and minus)
        bits = kind.largest if stays or kind.top != "ieee" else kind.infinity
    return bits | minus << (kind.width - 1)


def arithmetic(opcode: str, operands: list[int], kind: Kind, mode: str = "rn") -> int | None:
    """The bits of a result; `None` for a NaN."""
    values = [value(bits, kind) for bits in operands]
    signs = [negative(bits, kind) for bits in operands]
    if any(isinstance(each, float) and math.isnan(each) for each in values):
        return None
    if opcode == "sub":
        opcode, values, signs = "add", [values[0], -values[1]], [signs[0], not signs[1]]
    if opcode == "mul":
        return _product(values, signs, kind, mode)
    if opcode == "div":
        return _quotient(values, signs, kind, mode)
    if opcode == "fma":
        product = _exact_product(values, signs)
        if product is None:
            return None
        values, signs = [product, values[2]], [signs[0] != signs[1], signs[2]]
    return _sum(values, signs, kind, mode)


def _exact_product(values, signs):
    a, b = values[:2]
    if isinstance(a, float) or isinstance(b, float):
        return None if a == 0 or b == 0 else (-INF if signs[0] != signs[1] else INF)
    return a * b


def _finish(number, minus: bool, kind: Kind, mode: str) -> int:
    if isinstance(number, float):
        return kind.infinity | (minus << (kind.width - 1))
    return encode(number, kind, mode, minus_zero=minus)


def _product(values, signs, kind, mode):
    product = _exact_product(values, signs)
    return None if product is None else _finish(product, signs[0] != signs[1], kind, mode)


def _quotient(values, signs, kind, mode):
    a, b = values
    minus = signs[0] != signs[1]
    if isinstance(a, float):
        return None if isinstance(b, float) else _finish(INF, minus, kind, mode)
    if isinstance(b, float):
        return encode(Fraction(0), kind, mode, minus_zero=minus)
    if b == 0:
        return None if a == 0 else _finish(INF, minus, kind, mode)
    return encode(a / b, kind, mode, minus_zero=minus)


def _sum(values, signs, kind, mode):
    a, b = values
    if isinstance(a, float) or isinstance(b, float):
        infinite = {each for each in (a, b) if isinstance(each, float)}
        return None if len(infinite) == 2 else _finish(INF, infinite.pop() < 0, kind, mode)
    total = a + b
    # An exact 0 of two zeros of one sign keeps it; else it is +0, toward minus infinity -0.
    minus = signs[0] if a == 0 and b == 0 and signs[0] == signs[1] else mode == "rm"
    return encode(total, kind, mode, minus_zero=minus)


def root(bits: int, kind: Kind, mode: str = "rn") -> int | None:
    """The square root; `None` for a NaN."""
    number = value(bits, kind)
    if isinstance(number, float):
        return kind.infinity if number == INF else None
    if number == 0:
        return bits
    if number < 0:
        return None
    # Far more digits than the format has; not exact ones never end at a tie.
    scale = 2**1300
    whole = math.isqrt(number.numerator * scale**2 // number.denominator)
    exact = Fraction(whole, scale)
    if exact * exact != number:
        exact += Fraction(1, 2 * scale)
    return encode(exact, kind, mode)


def samples(kind: Kind, random) -> list[int]:
    """Bits of all that is special in a format, and random ones."""
    one = kind.bias << kind.mantissa
    least_normal = 1 << kind.mantissa
    sizes = [0, 1, 2, least_normal - 1, least_normal, least_normal + 1, one - 1, one, one + 1, one + least_normal]
    sizes += [kind.largest - 1, kind.largest, kind.infinity, kind.infinity + 1, kind.nan]
    sizes = [size for size in sizes if size <= kind.nan]
    sizes += [random.randrange(kind.nan + 1) for _ in range(12)]
    sizes += [max(0, min(kind.largest, one + random.randrange(-4 * least_normal, 4 * least_normal))) for _ in range(12)]
    return [size | sign << (kind.width - 1) for size in sizes for sign in (0, 1)]
