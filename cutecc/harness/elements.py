"""Elements of CuTe's numeric types in numpy: how they lie in memory, and what a reference sees of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cutecc.arguments.dtypes import NumericType
from cutecc.errors import UsageError

Array = NDArray[Any]

_PLAIN = {"f64": "<f8", "f32": "<f4", "tf32": "<f4", "f16": "<f2"}
_INTEGER_POISON = 0xCD
_TF32_BITS_IN_F32 = 13
"""The low bits of an f32 that tf32 does not have."""
_CHUNK = 1 << 22
"""Random elements made at a time: an interrupt waits for one chunk, and wider ones on the way need little memory. The
values are those of a single call, since whole words of the generator go into a chunk."""


@dataclass(frozen=True)
class _Format:
    """A floating-point format of at most 8 bits: sign, exponent, mantissa, from the highest bit on."""

    exponent: int
    mantissa: int
    bias: int
    specials: str = ""
    """`ieee`: the highest exponent holds infinity and NaN. `fn`: NaN is all ones below the sign, nothing is infinite.
    `fnuz`: NaN is the sign alone. Empty: every code is a number."""


# OCP 8-bit Floating Point Specification (E4M3, E5M2), OCP Microscaling Formats (E2M1); the rest as in LLVM's APFloat.
_FORMATS = {
    "f8E5M2": _Format(5, 2, 15, "ieee"),
    "f8E4M3": _Format(4, 3, 7, "ieee"),
    "f8E4M3FN": _Format(4, 3, 7, "fn"),
    "f8E4M3B11FNUZ": _Format(4, 3, 11, "fnuz"),
    "f4E2M1FN": _Format(2, 1, 1),
}


@dataclass(frozen=True)
class Elements:
    """The elements of one numeric type.

    A *code* is what memory holds for one element. Codes have a numpy type of their own, one byte also where two of them
    share a byte on the device. *Values* are what references see: numpy's own type where there is one, else `float32`.
    """

    dtype: NumericType
    code: np.dtype[Any]
    value: np.dtype[Any]
    per_byte: int = 1
    """Elements that share a byte in memory, the first in the low bits."""

    @property
    def is_float(self) -> bool:
        """Whether the values are floating-point numbers."""
        return self.dtype.kind == "float"

    @property
    def largest_step(self) -> float:
        """The most that two neighbouring numbers of a floating-point type are apart, relative to the smaller one."""
        if self.dtype.name == "f8E8M0FNU":
            return 1.0
        mantissa = {"f64": 52, "f32": 23, "tf32": 10, "f16": 10, "bf16": 7}.get(self.dtype.name)
        return 2.0 ** -(_FORMATS[self.dtype.name].mantissa if mantissa is None else mantissa)

    @property
    def poison(self) -> int:
        """The byte that fills memory which the kernel has to write: all ones is NaN in nearly every format."""
        byte = 0xFF if self.is_float else _INTEGER_POISON
        return byte & 0xF if self.per_byte == 2 else byte

    def decode(self, codes: Array) -> Array:
        """The values of `codes`, in an array of their own."""
        if self.dtype.name == "bf16":
            return (codes.astype("<u4") << 16).view("<f4")
        if self.is_float and self.code != self.value:
            return _table(self.dtype.name)[codes]
        if self.dtype.kind == "bool":
            return codes != 0
        if self.dtype.name == "i4":
            return ((codes.astype("i1") ^ 8) - 8).astype("i1")
        return codes.astype(self.value)

    def encode(self, values: Array) -> Array:
        """The codes of `values`, floating-point ones rounded to the nearest that the type has."""
        if self.dtype.name == "bf16":
            bits = np.ascontiguousarray(values, "<f4").view("<u4")
            return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2")
        if self.is_float and self.code != self.value:
            return _nearest(self.dtype.name, values)
        if self.dtype.name == "i4":
            return (values & 0xF).astype("u1")
        return values.astype(self.code)

    def ulps(self, codes: Array, others: Array) -> Array:
        """How many steps of the type lie between two arrays of codes of floating-point numbers, as `uint64`.

        Neighbours are one step apart, the two zeros none, and infinity follows the largest number. What NaN is
        apart from a number means nothing.
        """
        low, high = np.sort([self._order(codes), self._order(others)], axis=0)
        steps = high.view("u8") - low.view("u8")
        return steps >> _TF32_BITS_IN_F32 if self.dtype.name == "tf32" else steps

    def _order(self, codes: Array) -> Array:
        """Numbers that compare as the values of the codes do, each one more than the one before."""
        if self.dtype.name == "f8E8M0FNU":  # without a sign
            return codes.astype("i8")
        bits = 4 if self.per_byte == 2 else 8 * self.code.itemsize
        raw = np.ascontiguousarray(codes).view(f"<u{self.code.itemsize}")
        sign = 1 << (bits - 1)
        magnitude = (raw & (sign - 1)).astype("i8")
        return np.where(raw & sign != 0, -magnitude, magnitude)

    def random(self, count: int, generator: np.random.Generator) -> Array:
        """Codes of `count` random elements: normal, -128 to 127 for signed integers, 0 to 255 for unsigned ones."""
        codes = np.empty(count, self.code)
        for start in range(0, count, _CHUNK):
            part = codes[start : start + _CHUNK]
            part[...] = self._random(part.size, generator)
        return codes

    def _random(self, count: int, generator: np.random.Generator) -> Array:
        if self.is_float:
            kind = np.float64 if self.dtype.name == "f64" else np.float32
            return self.encode(generator.standard_normal(count, dtype=kind))
        if self.dtype.kind == "bool":
            return generator.integers(0, 2, count, dtype="u1")
        half = 1 << (min(self.dtype.width, 8) - 1)
        low = -half if self.dtype.kind == "signed" else 0
        return self.encode(generator.integers(low, low + 2 * half, count, dtype="i8"))

    def pack(self, codes: Array) -> Array:
        """The bytes that memory holds for a one-dimensional array of codes."""
        if self.per_byte == 1:
            return codes.view("u1")
        return (codes[0::2] | (codes[1::2] << 4)).astype("u1")

    def unpack(self, data: Array) -> Array:
        """The codes in bytes of memory; the reverse of `pack`."""
        if self.per_byte == 1:
            return data.view(self.code)
        return np.stack([data & 0xF, data >> 4], axis=1).reshape(-1)


@cache
def elements_of(dtype: NumericType) -> Elements:
    """How numpy holds `dtype`. Raises `UsageError` for types that it cannot hold: 128 bits, 6 bits, packed ones."""
    name = dtype.name
    if name in _PLAIN:
        return Elements(dtype, np.dtype(_PLAIN[name]), np.dtype(_PLAIN[name]))
    if name == "bf16":
        return Elements(dtype, np.dtype("<u2"), np.dtype("<f4"))
    if name in _FORMATS or name == "f8E8M0FNU":
        return Elements(dtype, np.dtype("u1"), np.dtype("<f4"), per_byte=8 // dtype.width)
    if dtype.kind == "bool":
        return Elements(dtype, np.dtype("u1"), np.dtype("?"))
    if name == "i4":
        return Elements(dtype, np.dtype("u1"), np.dtype("i1"), per_byte=2)
    if dtype.is_integer and dtype.width in (8, 16, 32, 64):
        kind = np.dtype(f"<{'i' if dtype.kind == 'signed' else 'u'}{dtype.width // 8}")
        return Elements(dtype, kind, kind)
    raise UsageError(f"arguments of type {name} cannot be made here", hints=["call the kernel from Python"])


@cache
def _table(name: str) -> Array:
    """The value of every code of a narrow type."""
    if name == "f8E8M0FNU":
        return np.array([2.0 ** (code - 127) for code in range(255)] + [np.nan], "<f4")
    entry = _FORMATS[name]
    return np.array([_value(code, entry) for code in range(1 << (1 + entry.exponent + entry.mantissa))], "<f4")


def _value(code: int, entry: _Format) -> float:
    magnitude = code & ((1 << (entry.exponent + entry.mantissa)) - 1)
    negative = code != magnitude
    exponent, mantissa = magnitude >> entry.mantissa, magnitude & ((1 << entry.mantissa) - 1)
    highest = exponent == (1 << entry.exponent) - 1
    if entry.specials == "ieee" and highest:
        value = float("nan") if mantissa else float("inf")
    elif (entry.specials == "fn" and highest and mantissa == (1 << entry.mantissa) - 1) or (
        entry.specials == "fnuz" and negative and not magnitude
    ):
        value = float("nan")
    elif exponent:
        value = (1 + mantissa / (1 << entry.mantissa)) * 2.0 ** (exponent - entry.bias)
    else:
        value = mantissa / (1 << entry.mantissa) * 2.0 ** (1 - entry.bias)
    return -value if negative else value


@cache
def _steps(name: str) -> tuple[Array, Array]:
    """The codes of a narrow type in the order of their finite values, and the middles between neighbours."""
    table = _table(name)
    finite = np.flatnonzero(np.isfinite(table))
    # Of the two zeros, the positive one.
    values, first = np.unique(table[finite], return_index=True)
    return finite[first].astype("u1"), (values[1:] + values[:-1]) / 2


def _nearest(name: str, values: Array) -> Array:
    """Of two that are as near the one whose code is even, as the GPU's conversions have it (PTX ISA, "cvt", `.rn`)."""
    codes, middles = _steps(name)
    places = np.searchsorted(middles, values)
    in_middle = middles[np.minimum(places, len(middles) - 1)] == values
    return codes[places + (in_middle & (codes[places] & 1 == 1))]
