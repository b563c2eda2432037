"""Elements of matrices in registers and shared memory: their bits as numbers, and results as bits.

Numbers are `float64`, which holds each element, and the product of any two (but `f64`), exactly; also where both are
multiplied by their scales.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np

from cutecc.emulator.machine.lanes import Array
from cutecc.emulator.numbers.formats import FORMATS, Format

_KINDS: Final = {
    **{"e4m3": "fp8", "e5m2": "fp8", "s8": "int8", "u8": "int8", "s4": "int4", "u4": "int4"},
}
SUMS: Final = {
    **{"f64": ("f64",), "f16": ("f16", "f32"), "bf16": ("f32",), "tf32": ("f32",), "fp8": ("f16", "f32")},
    **{"int8": ("s32",), "int4": ("s32",), "b1": ("s32",)},
}
"""By the kind of A and B: what C and D may be."""
TF32_BITS: Final = np.uint32(0xFFFFE000)
"""What multiplication looks at: sign, 8 bits of exponent, 10 of the significand; the lower 13 are ignored."""


def kind_of(type_: str) -> str:
    """What elements of A and B share that can be multiplied with each other."""
    return _KINDS.get(type_, type_)


def numbers(words: Array, type_: str, in_bytes: bool = False) -> Array:
    """The elements in 32-bit words (64-bit ones of `f64`): the last axis grows by the elements in a word.

    `in_bytes`: each is in a byte of its own, as narrow floats are that are multiplied with others of 4 to 8 bits. Of 6
    bits it is the lower ones, of 4 bits the ones in the middle (PTX ISA, "mma", `.kind::f8f6f4`).
    """
    match type_:
        case "f64":
            return words.view(np.float64)
        case "tf32":
            return (words & TF32_BITS).view(np.float32).astype(np.float64)
        case "f32":
            return words.view(np.float32).astype(np.float64)
        case "s32":
            return words.view(np.int32).astype(np.float64)
        case "f16":
            return words.view(np.float16).astype(np.float64)
        case "bf16":
            return (words.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        case "s8":
            return words.view(np.int8).astype(np.float64)
        case "u8":
            return words.view(np.uint8).astype(np.float64)
        case _:
            found = _table(type_, in_bytes).take(words.view(np.uint8), axis=0)
            return found.reshape(*words.shape[:-1], -1)


def bits(values: Array, type_: str, saturate: bool = False) -> Array:
    """Results as 32-bit words (64-bit ones of `f64`), each rounded once to nearest.

    Neighbours in the last axis share a word where a word holds several. Integers wrap around unless they
    `saturate`, which has floats stay finite, and 0 for a NaN. A NaN is the one that the hardware makes, 0x7fffffff and
    0x7fff.
    """
    if saturate and type_ in ("f16", "f32"):
        most = float(np.finfo(np.dtype(type_.replace("f", "float"))).max)
        values = np.where(np.isnan(values), 0.0, np.clip(values, -most, most))
    match type_:
        case "f64":
            return values.view(np.uint64)
        case "s32":
            if saturate:
                return np.clip(values, -(2.0**31), 2.0**31 - 1).astype(np.int32).view(np.uint32)
            return values.astype(np.int64).astype(np.uint32)
        case "f32":
            found = values.astype(np.float32).view(np.uint32)
            return _canonical(values, found, 0x7FFFFFFF)
        case _:
            found = values.astype(np.float16).view(np.uint16)
            return np.ascontiguousarray(_canonical(values, found, 0x7FFF)).view(np.uint32)


def _canonical(values: Array, found: Array, nan: int) -> Array:
    unordered = np.isnan(values)
    if unordered.any():
        found[unordered] = nan
    return found


@cache
def _table(type_: str, in_bytes: bool) -> Array:
    """The numbers in each byte, shape `(256, numbers)`; the lowest bits are the first."""
    byte = np.arange(256)
    match type_:
        case "b1":
            return (byte[:, None] >> np.arange(8) & 1).astype(np.float64)
        case "u4" | "s4":
            found = byte[:, None] >> np.array([0, 4]) & 15
            return (found if type_ == "u4" else (found ^ 8) - 8).astype(np.float64)
        case "ue8m0":
            return np.where(byte == 255, np.nan, np.ldexp(1.0, byte - 127))[:, None]
        case "ue4m3":
            return decoded(byte & 127, FORMATS["e4m3"])[:, None]
        case "e2m1":
            return decoded(byte[:, None] >> (np.array([2]) if in_bytes else np.array([0, 4])), FORMATS[type_])
        case _:
            return decoded(byte, FORMATS[type_])[:, None]


def decoded(codes: Array, format_: Format) -> Array:
    """The numbers that these codes mean, of which the bits beyond the format's width do not count."""
    magnitude = codes & ((1 << (format_.width - 1)) - 1)
    field, fraction = magnitude >> format_.mantissa, magnitude & ((1 << format_.mantissa) - 1)
    significand = fraction + ((field > 0) << format_.mantissa)
    value = np.ldexp(significand.astype(np.float64), np.maximum(field, 1) - (format_.bias + format_.mantissa))
    if format_.special == "ieee":
        value = np.where(magnitude > format_.infinity, np.nan, np.where(magnitude == format_.infinity, np.inf, value))
    elif format_.special == "nan":
        value = np.where(magnitude == format_.nan, np.nan, value)
    return np.where(codes >> (format_.width - 1) & 1, -value, value)
