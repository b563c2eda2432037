"""Compiled element-wise functions as ufuncs: shapes, strides, scalars, types, rounding."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from cutecc.emulator.numbers.code import Value
from cutecc.emulator.numbers.compiled import compile_ufunc
from cutecc.emulator.numbers.formats import add_to_odd
from cutecc.emulator.numbers.functions import exp2, tanh
from cutecc.emulator.numbers.merge import merger


@pytest.fixture(scope="module")
def add():
    return compile_ufunc("add", lambda a, b: a + b, ["i32", "i32"], ["i32"])


def test_any_length(add) -> None:
    for length in range(35):
        a = np.arange(length, dtype=np.uint32)
        found = add(a, a)
        assert found.dtype == np.uint32 and (found == 2 * a).all()


def test_strides_and_shapes(add) -> None:
    a = np.arange(96, dtype=np.uint32).reshape(3, 32)
    column = np.array([[1], [2], [3]], np.uint32)
    assert (add(a, column) == a + column).all()
    assert (add(a[:, ::-1], a[:, ::3][:, :1]) == a[:, ::-1] + a[:, :1]).all()
    assert (add(a.T, a.T) == 2 * a.T).all()
    out = np.zeros((3, 64), np.uint32)
    add(a, a, out=out[:, ::2])
    assert (out[:, ::2] == 2 * a).all() and not out[:, 1::2].any()


def test_scalars(add) -> None:
    a = np.arange(40, dtype=np.uint32)
    assert (add(a, np.uint32(2**32 - 1)) == a - np.uint32(1)).all()
    assert (add(np.uint32(7), a) == a + 7).all()
    found = add(np.uint32(2), np.uint32(3))
    assert found == 5 and found.dtype == np.uint32


def test_several_results_and_bools() -> None:
    both = compile_ufunc("both", lambda a, p: (a.below(9) & p, a.resize("i64")), ["i16", "i1"], ["i1", "i64"])
    a, p = np.arange(33, dtype=np.uint16), np.arange(33) % 2 == 0
    first, second = both(a, p)
    assert first.dtype == np.bool_ and (first == ((a < 9) & p)).all()
    assert second.dtype == np.uint64 and (second == a).all()


def test_a_rounding_mode_ends_with_its_function() -> None:
    third = {}
    for mode in ("rz", "rp", "rm", "rn"):
        divide = compile_ufunc("divide", lambda a, b: a.float().fdiv(b.float()).bits(), ["i64"] * 2, ["i64"], mode)
        one, three = (np.full(9, each, np.float64).view(np.uint64) for each in (1.0, 3.0))
        third[mode] = Fraction(float(divide(one, three).view(np.float64)[0]))
        assert np.float64(1.0) / np.float64(3.0) == 1 / 3
    exact = Fraction(1, 3)
    assert third["rz"] == third["rm"] < exact < third["rp"] == third["rz"] + Fraction(1, 2**54)
    assert third["rn"] == Fraction(1 / 3)


def test_rounded_to_odd() -> None:
    """A sum that a `double` cannot hold ends in a one; others are exact."""
    odd = compile_ufunc("odd", lambda a, b: add_to_odd(a.float(), b.float()).bits(), ["i64"] * 2, ["i64"])
    a = np.array([1.0, 1.0, 1.0, -1.0, 2.0**60, 1.5, np.inf, 2.0])
    b = np.array([2.0**-60, -(2.0**-60), 2.0**-53, 2.0**-70, 3.0, 0.25, 1.0, -(2.0**-53)])
    with np.errstate(all="ignore"):
        found = odd(a.view(np.uint64), b.view(np.uint64))
    for x, y, bits in zip(a, b, found, strict=True):
        value = float(bits.view(np.float64))
        if math.isinf(x):
            assert value == x
            continue
        exact = Fraction(x) + Fraction(y)
        if Fraction(value) != exact:
            assert int(bits) & 1 and abs(Fraction(value) - exact) < Fraction(math.ulp(value))


def in_double(function):
    def body(a: Value) -> Value:
        return function(a.float()).bits()

    return compile_ufunc("function", body, ["i64"], ["i64"])


def test_functions_in_double() -> None:
    x = np.concatenate([np.linspace(-40, 40, 4001), np.linspace(-1e-3, 1e-3, 1001), np.geomspace(1e-30, 1, 999)])
    found = in_double(exp2)(x.view(np.uint64)).view(np.float64)
    assert np.abs(found / np.exp2(x) - 1).max() < 2**-44
    whole = np.arange(-1000.0, 1001.0)
    assert (in_double(exp2)(whole.view(np.uint64)).view(np.float64) == np.exp2(whole)).all()
    found = in_double(tanh)(x.view(np.uint64)).view(np.float64)
    at = np.flatnonzero(np.abs(x) >= 2**-8)
    assert np.abs(found[at] / np.tanh(x[at]) - 1).max() < 2**-21
    at = np.flatnonzero((np.abs(x) >= 2**-8) & (np.abs(x) < 8))
    assert np.abs(found[at] / np.tanh(x[at]) - 1).max() < 2**-36
    assert (found[np.abs(x) < 2**-8] == x[np.abs(x) < 2**-8]).all()


def test_merging() -> None:
    mask = np.arange(64).reshape(2, 32) % 3 == 0
    for dtype in (np.uint8, np.uint16, np.uint32, np.uint64, np.bool_):
        new, old = np.ones((2, 32), dtype), np.zeros((2, 32), dtype)
        found = merger(np.dtype(dtype))(mask, new, old)
        assert found.dtype == dtype and (found == mask).all()
        assert (merger(np.dtype(dtype))(mask, new[0, 0], old) == mask).all()
