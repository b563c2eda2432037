"""Compiled element-wise functions as ufuncs: shapes, strides, scalars, types, rounding."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from hand import run_instruction

from cutecc.emulator.numbers import compiled
from cutecc.emulator.numbers.code import Value
from cutecc.emulator.numbers.compiled import compile_ufunc, merger, together
from cutecc.emulator.numbers.formats import add_to_odd
from cutecc.emulator.numbers.functions import exp2, tanh
from cutecc.errors import EmulatorError


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


@pytest.mark.parametrize("length", [5, 8, 21, 64])
def test_operands_of_several_sizes_and_distances(length: int) -> None:
    types = ["i64", "i1", "i16", "i32"]
    several = compile_ufunc(
        "several",
        lambda a, p, b, c: (p.then(a, b.resize("i64")), (b + c.resize("i16")), p & b.below(c.resize("i16"))),
        types,
        ["i64", "i16", "i1"],
    )
    chosen = np.random.default_rng(length)
    a, p, b, c = (chosen.integers(0, 2**16 if size > 1 else 2, 3 * length).astype(f"u{size}") for size in (8, 1, 2, 4))
    for step in (1, 2, 3, -1):
        x, y, z, w = a[::step][:length], p[::step][:length].astype(bool), b[: 3 * length : 3], c[::step][:length]
        found = several(x, y, z, w)
        assert (found[0] == np.where(y, x, z)).all()
        assert (found[1] == (z + w.astype(np.uint16))).all()
        assert (found[2] == (y & (z < w.astype(np.uint16)))).all()
        assert (several(np.uint64(7), y, z, np.uint32(9))[1] == z + np.uint16(9)).all()


def test_compiled_together() -> None:
    with together():
        functions = [
            compile_ufunc("f", lambda a, step=step: a + step, ["i32"], ["i32"], later=True) for step in range(5)
        ]
        with together():
            functions.append(compile_ufunc("n", lambda a: a.ones(), ["i32"], ["i32"], later=True))
        now = compile_ufunc("now", lambda a: a.ones(), ["i32"], ["i32"])
        a = np.arange(40, dtype=np.uint32)
        assert now(a)[7] == 3
    for step, function in enumerate(functions[:5]):
        assert (function(a) == a + step).all()
    assert functions[5](a)[7] == 3


def test_what_cannot_be_compiled_fails_each_time() -> None:
    """No function stays behind that others find and that has no machine code."""
    with pytest.raises(EmulatorError, match="llvmlite cannot compile"), together():
        function = compile_ufunc("f", lambda a: a.code.emit("nonsense", "i32"), ["i32"], ["i32"], later=True)
    with pytest.raises(EmulatorError, match="llvmlite cannot compile"), together():
        pass
    compiled._waiting[0].text = compiled._waiting[0].text.replace("nonsense", "add <8 x i32> %v0, %v0")
    with together():
        pass
    assert function(np.uint32(4)) == 8


def test_without_llvmlite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled.importlib, "import_module", lambda name: raising(ImportError(f"no {name}")))
    compiled._llvm.cache_clear()
    try:
        with pytest.raises(EmulatorError, match=r"needs llvmlite.*no llvmlite\.binding"):
            compile_ufunc("f", lambda a: a + 1, ["i32"], ["i32"])
    finally:
        monkeypatch.undo()
        compiled._llvm.cache_clear()


def raising(failure: Exception) -> None:
    raise failure


def test_threads_compile_at_once() -> None:
    """Kernels with the same forms, decoded and run in several threads: each finds functions that can be called."""
    a = np.arange(64, dtype=np.uint32)
    forms = [f"lop3.b32 %d, %a, %a, %a, {table};" for table in range(200, 216)]
    expected = [run_instruction(text, {"%a": a})["%d"] for text in forms[:2]]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda text: run_instruction(text, {"%a": a})["%d"], forms * 8))
    for index, result in enumerate(found):
        assert (result == found[index % len(forms)]).all()
    assert (found[0] == expected[0]).all() and (found[1] == expected[1]).all()


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
