"""Comparison, selection, moves, and how results reach registers."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest
from alu.oracle import KINDS, samples, value
from hand import run_instruction

ORDERED = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
PREDICATES = {"%p": "pred", "%q": "pred"}


def padded(bits: list[int], dtype: str) -> np.ndarray:
    return np.resize(np.array(bits, dtype), -(-len(bits) // 32) * 32)


@pytest.mark.parametrize("type_", ["f16", "bf16", "f32", "f64"])
def test_comparing_floats(type_: str) -> None:
    kind = KINDS[type_]
    some = samples(kind, random.Random(0))[:32]
    pairs = list(itertools.product(some, some))
    dtype = f"u{kind.width // 8}"
    inputs = {"%a": padded([a for a, _ in pairs], dtype), "%b": padded([b for _, b in pairs], dtype)}
    numbers = [[value(each, kind) for each in one] for one in pairs]
    nans = [any(isinstance(each, float) and math.isnan(each) for each in one) for one in numbers]
    expected = {"num": [not each for each in nans], "nan": nans}
    for name, holds in ORDERED.items():
        expected[name] = [not nan and holds(*one) for nan, one in zip(nans, numbers, strict=True)]
        expected[f"{name}u"] = [nan or holds(*one) for nan, one in zip(nans, numbers, strict=True)]
    for name, wanted in expected.items():
        found = run_instruction(f"setp.{name}.{type_} %p, %a, %b;", inputs, PREDICATES)["%p"]
        assert found.reshape(-1)[: len(pairs)].tolist() == wanted, name


@pytest.mark.parametrize("type_", ["s16", "u16", "s32", "u32", "s64", "u64"])
def test_comparing_integers(type_: str) -> None:
    bits = int(type_[1:])
    top = 1 << (bits - 1)
    some = [0, 1, 2, top - 1, top, top + 1, 2 * top - 1]
    pairs = list(itertools.product(some, some))
    inputs = {
        "%a": padded([a for a, _ in pairs], f"u{bits // 8}"),
        "%b": padded([b for _, b in pairs], f"u{bits // 8}"),
    }
    numbers = [[each - 2 * top if type_[0] == "s" and each >= top else each for each in one] for one in pairs]
    names = {name: name for name in ORDERED} | (UNSIGNED if type_[0] == "u" else {})
    for name, same in names.items():
        found = run_instruction(f"setp.{name}.{type_} %p|%q, %a, %b;", inputs, PREDICATES)
        wanted = [ORDERED[same](*one) for one in numbers]
        assert found["%p"].reshape(-1)[: len(pairs)].tolist() == wanted, name
        assert found["%q"].reshape(-1)[: len(pairs)].tolist() == [not each for each in wanted], name


def test_combined_with_a_predicate() -> None:
    a = np.array([0, 0, 9, 9] * 8, np.uint32)
    c = np.array([False, True] * 16)
    for boolean, function in {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}.items():
        found = run_instruction(f"setp.lt.{boolean}.s32 %p|%q, %a, 5, !%c;", {"%a": a, "%c": c}, PREDICATES)
        assert (found["%p"][0] == function(a < 5, ~c)).all()
        assert (found["%q"][0] == function(a >= 5, ~c)).all()


def test_comparing_halves() -> None:
    """`p` is of the low halves, `q` of the high ones."""
    inputs = {"%a": np.full(32, 0x3C00_4000, np.uint32), "%b": np.full(32, 0x3C00_3C00, np.uint32)}
    found = run_instruction("setp.gt.f16x2 %p|%q, %a, %b;", inputs, PREDICATES)
    assert found["%p"][0, 0] and not found["%q"][0, 0]
    assert run_instruction("set.gt.u32.f16x2 %d, %a, %b;", inputs)["%d"][0, 0] == 0x0000FFFF
    assert run_instruction("set.le.f16x2.f16x2 %d, %a, %b;", inputs)["%d"][0, 0] == 0x3C000000


def test_flushed_before_comparing() -> None:
    inputs = {"%a": np.full(32, 0x80000001, np.uint32)}
    assert run_instruction("setp.eq.ftz.f32 %p, %a, 0f00000000;", inputs, PREDICATES)["%p"].all()
    assert not run_instruction("setp.eq.f32 %p, %a, 0f00000000;", inputs, PREDICATES)["%p"].any()


def test_set() -> None:
    inputs = {"%a": np.array([1, 2] * 16, np.uint32).astype(np.float32), "%c": np.array([True] * 32)}
    found = run_instruction("set.gt.u32.f32 %d, %a, 0f3FC00000;", inputs)["%d"][0, :2]
    assert found.tolist() == [0, 0xFFFFFFFF]
    found = run_instruction("set.gt.xor.f32.f32 %d, %a, 0f3FC00000, %c;", inputs, {"%d": "f32"})["%d"][0, :2]
    assert found.tolist() == [1.0, 0.0]


def test_selection() -> None:
    a, b = np.arange(32, dtype=np.uint32), np.full(32, 99, np.uint32)
    p = a % 3 == 0
    assert (
        run_instruction("selp.b32 %d, %a, %b, %p;", {"%a": a, "%b": b, "%p": p})["%d"][0] == np.where(p, a, b)
    ).all()
    found = run_instruction("selp.f32 %d, 0f3F800000, 0f00000000, %p;", {"%p": p}, {"%d": "f32"})["%d"][0]
    assert (found == p).all()
    c = np.array([0, 0x80000000, 0x3F800000, 0xBF800000, 0x7FC00000, 0x80000001, 1, 2] * 4, np.uint32)
    found = run_instruction("slct.b32.f32 %d, 1, 2, %c;", {"%c": c})["%d"][0, :8]
    assert found.tolist() == [1, 1, 1, 2, 2, 2, 1, 1]
    found = run_instruction("slct.ftz.b32.f32 %d, 1, 2, %c;", {"%c": c})["%d"][0, 5]
    assert found == 1
    found = run_instruction("slct.u32.s32 %d, 1, 2, %c;", {"%c": c})["%d"][0, :4]
    assert found.tolist() == [1, 2, 1, 2]


def test_predicate_logic() -> None:
    p, q = np.array([False, False, True, True] * 8), np.array([False, True] * 16)
    inputs = {"%a": p, "%b": q}
    for name, wanted in {"and": p & q, "or": p | q, "xor": p ^ q}.items():
        assert (run_instruction(f"{name}.pred %d, %a, %b;", inputs, {"%d": "pred"})["%d"][0] == wanted).all()
    assert (run_instruction("not.pred %d, %a;", inputs, {"%d": "pred"})["%d"][0] == ~p).all()


# Moves.


def test_moves() -> None:
    a = np.arange(32, dtype=np.uint32)
    assert (run_instruction("mov.b32 %d, %a;", {"%a": a})["%d"][0] == a).all()
    assert (run_instruction("mov.u32 %d, -1;", {})["%d"] == 0xFFFFFFFF).all()
    assert (run_instruction("mov.f32 %d, 0f3F800000;", {}, {"%d": "f32"})["%d"] == 1).all()
    assert (run_instruction("mov.f32 %d, 0.5;", {}, {"%d": "f32"})["%d"] == 0.5).all()
    assert (run_instruction("mov.f64 %d, 0d3FF8000000000000;", {}, {"%d": "f64"})["%d"] == 1.5).all()
    assert run_instruction("mov.pred %d, 1;", {}, {"%d": "pred"})["%d"].all()
    found = run_instruction("mov.u64 %d, buffer+16;", {}, {"%d": "b64"}, symbols={"buffer": ("shared", 1024)})["%d"]
    assert (found == 1040).all()


def test_packing() -> None:
    low, high = np.arange(32, dtype=np.uint32), np.arange(32, dtype=np.uint32) * 7
    packed = run_instruction("mov.b64 %d, {%a, %b};", {"%a": low, "%b": high}, {"%d": "b64"})["%d"]
    assert (packed[0] == low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)).all()
    found = run_instruction("mov.b64 {%d, %e}, %a;", {"%a": packed[0]})
    assert (found["%d"][0] == low).all() and (found["%e"][0] == high).all()
    found = run_instruction("mov.b64 {_, %e}, %a;", {"%a": packed[0]})
    assert (found["%e"][0] == high).all()
    bytes_ = {f"%a{index}": np.full(32, 0x11 * (index + 1), np.uint8) for index in range(4)}
    assert run_instruction("mov.b32 %d, {%a0, %a1, %a2, %a3};", bytes_)["%d"][0, 0] == 0x44332211
    halves = run_instruction(
        "mov.b32 {%d, %e}, %a;", {"%a": np.full(32, 0x12345678, np.uint32)}, {"%d": "b16", "%e": "b16"}
    )
    assert (halves["%d"][0, 0], halves["%e"][0, 0]) == (0x5678, 0x1234)
    constant = run_instruction("mov.b64 %d, {%a, 0};", {"%a": low}, {"%d": "b64"})["%d"]
    assert (constant[0] == low).all()


# Operands and results.


def test_only_the_threads_of_the_mask() -> None:
    inputs = {"%a": np.arange(64, dtype=np.uint32), "%d": np.full(64, 7, np.uint32)}
    mask = np.arange(64).reshape(2, 32) % 2 == 0
    found = run_instruction("add.s32 %d, %a, 1;", inputs, mask=mask)["%d"]
    assert (found == np.where(mask, np.arange(64).reshape(2, 32) + 1, 7)).all()


def test_constants_only() -> None:
    assert (run_instruction("add.s32 %d, 2, 3;", {})["%d"] == 5).all()
    assert (run_instruction("mul.rn.f32 %d, 0f40000000, 0f40400000;", {}, {"%d": "f32"})["%d"] == 6).all()
    assert run_instruction("setp.lt.s32 %p, -1, 0;", {}, PREDICATES)["%p"].all()


def test_operands_stay_as_they_are() -> None:
    a = np.arange(32, dtype=np.uint32)
    found = run_instruction("add.s32 %a, %a, %a;", {"%a": a})["%a"]
    assert (found[0] == 2 * np.arange(32)).all() and (a == np.arange(32)).all()


def test_any_number_of_warps() -> None:
    for warps in (1, 3, 5):
        a = np.arange(32 * warps, dtype=np.uint32)
        found = run_instruction("mad.lo.s32 %d, %a, %a, 1;", {"%a": a})["%d"]
        assert (found.reshape(-1) == a * a + 1).all()
