"""Sums of products as the matrix units of sm_90 make them: bit for bit those of an H200.

A matrix unit multiplies exactly, and adds all products of an instruction and C in one go. It aligns them to the largest
exponent: of a product, the sum of its factors' exponents, subnormal factors having the lowest of their type. What is
more than `fraction` bits below that is cut off each of them, then their sum is exact. An `f32` result is cut to
`fraction` bits, and no more than 23, behind the leading one; an `f16` result is rounded to nearest. `fraction` is 25;
of 8-bit floats in wgmma it is 13.

Some forms of `mma` have no unit of their own on sm_90, and are made of others:

- 8-bit floats become `f16`. Two multiplications, of one half of K each (the first and the second two of every four
  stored elements), are chained, the first without C; they round as those of `f16` do. C is added at the end, to
  nearest, in the type of D.
- `m8n8k4` with D of `f32` is a sequence of additions in `f32`, to nearest, in ascending K, and of C at the end.
  With D of `f16` it is `(C + (p0 + p1)) + (p2 + p3)` of the products, also in `f32`; only there a 0 may be negative.

Other generations differ, in `fraction` and in how many products go together. Whatever they do is within
`(K + 2) * u * (|c| + sum |a * b|)` of this, with `u = 2**-23`, or `2**-13` for 8-bit floats; for D of `f16` add a unit
in its last place for each rounding. All of this is measured, not documented by NVIDIA. Earlier measurements are Fasi
et al., PeerJ CS 7:e330, 2021; Xie et al., arXiv:2511.10909, 2025, where what is said of subnormal factors is from; and
Khattak and Mikaitis, arXiv:2512.07004, 2025.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final, Literal

import numpy as np

from cutecc.emulator.machine.lanes import Array
from cutecc.emulator.numbers.code import Rounding, Value
from cutecc.emulator.numbers.compiled import Ufunc, compile_ufunc
from cutecc.emulator.numbers.formats import FORMATS
from cutecc.emulator.numbers.matrix_unit import unit

Sum = Callable[[Array, Array, Array], Array]
"""A `(…, M, K)`, B `(…, K, N)` and C `(…, M, N)`, all `float64`, give `A * B + C`, not yet rounded to `f16`."""
Result = Literal["f16", "f32"]
WIDE: Final = 25
"""Bits behind the leading one that the sums of 16- and 19-bit floats keep."""
NARROW: Final = 13
"""Those that sums of 8-bit floats keep in wgmma."""
_BIAS: Final = 1023


def whole(left: Array, right: Array, added: Array) -> Array:
    """Of integers: exact."""
    return np.matmul(left, right) + added


def differing(left: Array, right: Array, added: Array) -> Array:
    """Of bits: how many differ. Ones of `a ^ b` are those of `a`, and of `b`, without those of both twice."""
    ones = left.sum(axis=-1, keepdims=True) + right.sum(axis=-2, keepdims=True)
    return ones - 2 * np.matmul(left, right) + added


def chained(rounding: Rounding) -> Sum:
    """Of `f64`: fused multiply-adds in ascending K, starting from C."""
    fma = _fma(rounding)

    def total(left: Array, right: Array, added: Array) -> Array:
        found = added.view(np.uint64)
        for step in range(left.shape[-1]):
            row, column = _pair(left, right, step)
            found = fma(row.view(np.uint64), column.view(np.uint64), found)
        return found.view(np.float64)

    return total


@cache
def aligned_to_largest(fraction: int, types: tuple[Result, str, str, str]) -> Sum:
    """What a matrix unit makes of one instruction; `types` of D, A, B and C. N is a multiple of 8."""
    result, *others = types
    add = unit(fraction, min(fraction, 23) if result == "f32" else None)
    exponents = [_exponent(FORMATS[each].lowest) for each in others]

    def total(left: Array, right: Array, added: Array) -> Array:
        operands = [np.ascontiguousarray(each) for each in (left, right, added)]
        powers: list[Array] = [
            exponent(each.view(np.uint64)) for exponent, each in zip(exponents, operands, strict=True)
        ]
        found = np.empty(added.shape)
        rows, columns = added.shape[-2:]
        arrays = (*operands, *powers, found)
        add(*(each.ctypes.data for each in arrays), added.size // columns, rows, left.shape[-1], columns)
        return found

    return total


@cache
def in_halves(result: Result, stored_by_element: int) -> Sum:
    """Of 8-bit floats in `mma`; 1 stored element is 1 of K, of a sparse A it is 2."""
    multiply, dtype = aligned_to_largest(WIDE, (result, "f16", "f16", result)), np.dtype(result.replace("f", "float"))
    quarter = 2 * stored_by_element

    def total(left: Array, right: Array, added: Array) -> Array:
        depth: int = left.shape[-1]
        place = np.arange(depth) % (2 * quarter)
        halves: list[Array] = [place < quarter, place >= quarter]
        found = np.zeros_like(added)
        for half in halves:
            found = multiply(left[..., half], right[..., half, :], found).astype(dtype).astype(np.float64)
        return (found.astype(dtype) + added.astype(dtype)).astype(np.float64)

    return total


def in_steps(add: Sum, depth: int) -> Sum:
    """Several instructions one after the other, of so much of K each, in ascending K."""

    def total(left: Array, right: Array, added: Array) -> Array:
        for start in range(0, left.shape[-1], depth):
            part = slice(start, start + depth)
            added = add(left[..., part], right[..., part, :], added)
        return added

    return total


def one_by_one(left: Array, right: Array, added: Array) -> Array:
    """Of `m8n8k4` with D of `f32`. Each product of two `f16` is an `f32`."""
    found = np.zeros(added.shape, np.float32)
    for step in range(left.shape[-1]):
        row, column = _pair(left, right, step)
        found = found + (row * column).astype(np.float32)
    return (found + added.astype(np.float32)).astype(np.float64)


def in_pairs(left: Array, right: Array, added: Array) -> Array:
    """Of `m8n8k4` with D of `f16`."""
    found = added.astype(np.float32)
    for step in range(0, left.shape[-1], 2):
        (row, column), (next_row, next_column) = (_pair(left, right, each) for each in (step, step + 1))
        found = found + ((row * column).astype(np.float32) + (next_row * next_column).astype(np.float32))
    return found.astype(np.float64)


def _pair(left: Array, right: Array, step: int) -> tuple[Array, Array]:
    """A column of A and a row of B, to be multiplied with each other."""
    return left[..., step, None], right[..., step, None, :]


@cache
def _fma(rounding: Rounding) -> Ufunc:
    def body(a: Value, b: Value, c: Value) -> Value:
        return a.float().fma(b.float(), c.float()).bits()

    return compile_ufunc("matrix_fma", body, ["i64"] * 3, ["i64"], rounding)


@cache
def _exponent(lowest: int) -> Ufunc:
    """Those of `float64`, 16 bits: of 0 and infinities below and above all others, so that of their products too."""

    def body(value: Value) -> Value:
        found = ((value << 1 >> 53) - _BIAS).resize("i16")
        return (value << 1).same(0).then(found, found.most(lowest, signed=True))

    return compile_ufunc(f"matrix_exponent_{-lowest}", body, ["i64"], ["i16"])
