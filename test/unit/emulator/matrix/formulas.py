"""Where elements of matrices are, one at a time, in the words of the PTX ISA; and numbers for all types.

Written on its own, to be compared with `cutecc.emulator.numbers.fragments`, and with `matrix_sums`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

BITS = {"f64": 64, "tf32": 32, "f32": 32, "s32": 32, "f16": 16, "bf16": 16, "e4m3": 8, "e5m2": 8} | {
    **{"s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1}
}


def packed(type_: str) -> int:
    return max(1, 32 // BITS[type_])


def a_place(type_: str, m: int, lane: int, i: int) -> tuple[int, int]:
    """Row and column of element `i` of a fragment of A."""
    group, quad, p = lane >> 2, lane % 4, packed(type_)
    register, element = i // p, i % p
    row = group if m == 8 or register % 2 == 0 else group + 8
    column = quad * p + element
    blocks = register if m == 8 else register // 2
    return row, column + blocks * 4 * p


def b_place(type_: str, lane: int, i: int) -> tuple[int, int]:
    group, quad, p = lane >> 2, lane % 4, packed(type_)
    return quad * p + i % p + (i // p) * 4 * p, group


def c_place(m: int, lane: int, i: int) -> tuple[int, int]:
    """Of C and D, also of wgmma: `i` over 8 columns, then the rows 8 below, then the next 8 columns."""
    group, quad = lane >> 2, lane % 4
    if m == 8:
        return group, quad * 2 + i % 2
    return group + (8 if i // 2 % 2 else 0), quad * 2 + i % 2 + 8 * (i // 4)


def decode(bits: int, type_: str) -> float:
    """The number that an element's bits stand for."""
    match type_:
        case "f64":
            return float(np.array(bits, np.uint64).view(np.float64))
        case "f32":
            return float(np.array(bits, np.uint32).view(np.float32))
        case "tf32":
            return float(np.array(bits >> 13 << 13, np.uint32).view(np.float32))
        case "f16":
            return float(np.array(bits, np.uint16).view(np.float16))
        case "bf16":
            return float(np.array(bits << 16, np.uint32).view(np.float32))
        case "e4m3" | "e5m2":
            exponent_bits, fraction_bits, bias = (4, 3, 7) if type_ == "e4m3" else (5, 2, 15)
            exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1)
            fraction = (bits & ((1 << fraction_bits) - 1)) / (1 << fraction_bits)
            sign = -1 if bits >> 7 else 1
            return sign * (fraction * 2 ** (1 - bias) if exponent == 0 else (1 + fraction) * 2 ** (exponent - bias))
        case "s32" | "s8" | "s4":
            width = BITS[type_]
            return bits - (1 << width) if bits >> (width - 1) else bits
        case _:
            return bits


def random_bits(random: np.random.Generator, type_: str, *shape: int) -> Any:
    """Elements whose numbers are finite, and of like size where they are floats: an array of their bits."""
    match type_:
        case "f64":
            return random.standard_normal(shape).view(np.uint64)
        case "f32" | "tf32":
            return random.standard_normal(shape).astype(np.float32).view(np.uint32)
        case "bf16":
            return (random.standard_normal(shape).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        case "f16":
            return random.standard_normal(shape).astype(np.float16).view(np.uint16)
        case "e4m3" | "e5m2":
            # Without infinities and NaN.
            top = 0x7E if type_ == "e4m3" else 0x7B
            return (random.integers(0, top + 1, shape) | random.integers(0, 2, shape) << 7).astype(np.uint8)
        case "s32":
            return random.integers(-(2**31), 2**31, shape).astype(np.int32).view(np.uint32)
        case _:
            return random.integers(0, 1 << BITS[type_], shape).astype(np.uint8)


def decoded(bits: Any, type_: str) -> Any:
    return np.vectorize(lambda each: decode(int(each), type_), otypes=[np.float64])(bits)


def pack(elements: list[int], type_: str) -> int:
    """Elements of one register."""
    return sum(int(each) << (BITS[type_] * number) for number, each in enumerate(elements))


LOWEST = {"f32": -126, "tf32": -126, "bf16": -126, "f16": -14, "e5m2": -14, "e4m3": -6}


def exponent(values: Any, type_: str) -> Any:
    """Of subnormal numbers that of the least normal one; of 0 far below all."""
    return np.where(values == 0, -10000, np.maximum(np.frexp(values)[1] - 1, LOWEST[type_]))


def unit_sum(left: Any, right: Any, added: Any, types: tuple[str, str, str, str], fraction: int) -> Any:
    """`(…, M, K)`, `(…, K, N)` and `(…, M, N)` as one step of a matrix unit; `types` of D, A, B and C."""
    d, a, b, c = types
    columns = np.swapaxes(right, -1, -2)
    terms = np.concatenate([left[..., None, :] * columns[..., None, :, :], added[..., None]], axis=-1)
    products = exponent(left, a)[..., None, :] + exponent(columns, b)[..., None, :, :]
    largest = np.maximum(np.maximum(products.max(axis=-1), exponent(added, c)), -126)
    total = np.ldexp(np.trunc(np.ldexp(terms, fraction - largest[..., None])).sum(axis=-1), largest - fraction)
    if d == "f16":
        return round_to(total, d)
    significand, power = np.frexp(total)
    bits = min(fraction, 23) + 1
    return np.ldexp(np.trunc(np.ldexp(significand, bits)), power - bits)


def round_to(exact: Any, d: str) -> Any:
    if d == "s32":
        return (exact.astype(np.int64) + 2**31) % 2**32 - 2**31
    with np.errstate(over="ignore"):
        return exact.astype({"f16": np.float16, "f32": np.float32, "f64": np.float64}[d]).astype(np.float64)
