"""Floating-point arithmetic against fractions, in all rounding modes."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest
from alu.oracle import KINDS, Kind, arithmetic, encode, negative, root, samples, value
from hand import run_instruction
from hypothesis import given, settings
from hypothesis import strategies as st

MODES = ["rn", "rz", "rm", "rp"]
DTYPES = {
    "f16": np.uint16,
    "bf16": np.uint16,
    "f32": np.uint32,
    "f64": np.uint64,
    "f16x2": np.uint32,
    "bf16x2": np.uint32,
}


def run(text: str, type_: str, *operands: list[int]) -> list[int]:
    """The result bits of an instruction for each element."""
    arrays = [np.array(each, DTYPES[type_]) for each in operands]
    count = arrays[0].size
    padded = [np.resize(each, -(-count // 32) * 32) for each in arrays]
    names = [f"%a{index}" for index in range(len(padded))]
    found = run_instruction(
        f"{text} %d, {', '.join(names)};", dict(zip(names, padded, strict=True)), {"%d": f"b{8 * padded[0].itemsize}"}
    )
    return [int(each) for each in found["%d"].reshape(-1)[:count]]


def check(text: str, type_: str, results: list[int], expected: list[int | None], *operands: list[int]) -> None:
    kind = KINDS[type_]
    for index, (got, wanted) in enumerate(zip(results, expected, strict=True)):
        shown = [hex(each[index]) for each in operands]
        if wanted is None and type_ == "f64":
            assert got & kind.nan > kind.infinity, (text, shown, hex(got))
        else:
            assert got == (kind.nan if wanted is None else wanted), (text, shown, hex(got), wanted and hex(wanted))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("type_", ["f32", "f64"])
@pytest.mark.parametrize("opcode", ["add", "sub", "mul", "div"])
def test_two_operands(opcode: str, type_: str, mode: str) -> None:
    some = samples(KINDS[type_], random.Random(1))[:44]
    pairs = list(itertools.product(some, some))[::2]
    a, b = [list(each) for each in zip(*pairs, strict=True)]
    text = f"{opcode}.{mode}.{type_}"
    expected = [arithmetic(opcode, [x, y], KINDS[type_], mode) for x, y in pairs]
    check(text, type_, run(text, type_, a, b), expected, a, b)


@pytest.mark.parametrize("opcode", ["add", "sub", "mul"])
@pytest.mark.parametrize("type_", ["f16", "bf16"])
def test_halves(opcode: str, type_: str) -> None:
    some = samples(KINDS[type_], random.Random(2))
    pairs = list(itertools.product(some, some))[::2]
    a, b = [list(each) for each in zip(*pairs, strict=True)]
    expected = [arithmetic(opcode, [x, y], KINDS[type_]) for x, y in pairs]
    check(opcode, type_, run(f"{opcode}.{type_}", type_, a, b), expected, a, b)


@pytest.mark.parametrize(("type_", "mode"), [*itertools.product(["f32", "f64"], MODES), ("f16", "rn"), ("bf16", "rn")])
def test_fma(type_: str, mode: str) -> None:
    kind, chosen = KINDS[type_], random.Random(3)
    some = samples(kind, chosen)
    triples = [[chosen.choice(some) for _ in range(3)] for _ in range(1200)]
    # Products that nearly cancel.
    for _ in range(300):
        x, y = (chosen.choice(some) for _ in range(2))
        product = arithmetic("mul", [x, y], kind)
        if product is not None:
            triples.append(
                [x, y, (product ^ (1 << (kind.width - 1))) + chosen.choice([0, 0, 1, -1]) & (2**kind.width - 1)]
            )
    columns = [list(each) for each in zip(*triples, strict=True)]
    text = f"fma.{mode}.{type_}"
    expected = [arithmetic("fma", each, kind, mode) for each in triples]
    check(text, type_, run(text, type_, *columns), expected, *columns)


@given(st.lists(st.tuples(*[st.integers(0, 2**16 - 1)] * 3), min_size=32, max_size=32))
@settings(max_examples=30, deadline=None)
@pytest.mark.parametrize("type_", ["f16", "bf16"])
def test_fma_of_any_halves(type_: str, triples: list[tuple[int, int, int]]) -> None:
    columns = [list(each) for each in zip(*triples, strict=True)]
    expected = [arithmetic("fma", list(each), KINDS[type_]) for each in triples]
    check("fma", type_, run(f"fma.rn.{type_}", type_, *columns), expected, *columns)


def test_fma_of_bf16_rounds_once() -> None:
    """A product at the middle of two results, and an addend that only tells on which side: below what f64 holds."""
    # 1.0078125 * 1.5 = 1.51171875, a tie of bf16; the addend is 2**-100.
    assert run("fma.rn.bf16", "bf16", [0x3F81], [0x3FC0], [0x0D80]) == [0x3FC2]
    assert run("fma.rn.bf16", "bf16", [0x3F81], [0x3FC0], [0x8D80]) == [0x3FC1]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_roots_and_reciprocals(type_: str, mode: str) -> None:
    kind = KINDS[type_]
    some = samples(kind, random.Random(4))
    one = kind.bias << kind.mantissa
    found = run(f"sqrt.{mode}.{type_}", type_, some)
    check("sqrt", type_, found, [root(each, kind, mode) for each in some], some)
    found = run(f"rcp.{mode}.{type_}", type_, some)
    check("rcp", type_, found, [arithmetic("div", [one, each], kind, mode) for each in some], some)


def flush(bits: int) -> int:
    return bits & 0x80000000 if bits & 0x7F800000 == 0 else bits


@pytest.mark.parametrize("opcode", ["add", "sub", "mul", "div"])
def test_subnormals_are_flushed(opcode: str) -> None:
    kind = KINDS["f32"]
    some = samples(kind, random.Random(5))[:44]
    pairs = list(itertools.product(some, some))[::3]
    a, b = [list(each) for each in zip(*pairs, strict=True)]
    text = f"{opcode}.rn.ftz.f32"
    # What is below the least normal number before its exponent limits its bits becomes a zero.
    wide = Kind(11, 23)
    expected: list[int | None] = []
    for pair in pairs:
        small = [flush(each) for each in pair]
        exact = arithmetic(opcode, small, kind)
        rounded = arithmetic(opcode, [as_kind(each, kind, wide) for each in small], wide)
        tiny = rounded is not None and rounded & wide.nan < 897 << 23
        expected.append(exact and exact & 1 << 31 if tiny else exact)
    check(text, "f32", run(text, "f32", a, b), expected, a, b)


def as_kind(bits: int, kind: Kind, other: Kind) -> int:
    number, sign = value(bits, kind), negative(bits, kind)
    if isinstance(number, float):
        return (other.nan if math.isnan(number) else other.infinity) | sign << (other.width - 1)
    return encode(number, other, minus_zero=sign)


@pytest.mark.parametrize("type_", ["f32", "f16"])
def test_saturation(type_: str) -> None:
    kind = KINDS[type_]
    one = kind.bias << kind.mantissa
    some = samples(kind, random.Random(6))
    exact = [arithmetic("add", [x, y], kind) for x, y in zip(some, some[::-1], strict=True)]
    expected = [0 if each is None or each >> (kind.width - 1) else min(each, one) for each in exact]
    assert run(f"add.sat.{type_}", type_, some, some[::-1]) == expected


def test_pairs() -> None:
    """Both values of a register get the same, independent of one another."""
    low, high = [0x3C00, 0x7BFF, 0x0001], [0x4000, 0x7BFF, 0x7E01]
    packed = np.resize(np.array(low, np.uint32) | np.array(high, np.uint32) << 16, 32)
    found = run_instruction("add.f16x2 %d, %a, %a;", {"%a": packed})["%d"][0, :3]
    assert [hex(each) for each in found] == ["0x44004000", "0x7c007c00", "0x7fff0002"]
    wide = np.array([0x3F800000_40000000] * 32, np.uint64)
    found = run_instruction("fma.rn.f32x2 %d, %a, %a, %a;", {"%a": wide}, {"%d": "b64"})["%d"]
    assert hex(found[0, 0]) == "0x4000000040c00000"
    half = np.array([0x3F80_4000] * 32, np.uint32)
    assert hex(run_instruction("mul.bf16x2 %d, %a, %a;", {"%a": half})["%d"][0, 0]) == "0x3f804080"


@pytest.mark.parametrize("text", ["add.rm", "sub.rp", "mul.rz", "fma.rn", "mul"])
def test_pairs_of_f32(text: str) -> None:
    """Of Blackwell: each is rounded as one alone is."""
    opcode, _, mode = text.partition(".")
    kind, count = KINDS["f32"], 3 if opcode == "fma" else 2
    chosen = random.Random(7)
    columns = [[chosen.choice(samples(kind, chosen)) for _ in range(128)] for _ in range(count)]
    names = [f"%a{number}" for number in range(count)]
    inputs = {name: np.array(each, np.uint32).view(np.uint64) for name, each in zip(names, columns, strict=True)}
    found = run_instruction(f"{text}.f32x2 %d, {', '.join(names)};", inputs, {"%d": "b64"}, target="sm_100a")["%d"]
    for *operands, got in zip(*columns, found.reshape(-1).view(np.uint32), strict=True):
        expected = arithmetic(opcode, operands, kind, mode or "rn")
        assert int(got) == (0x7FFFFFFF if expected is None else expected), [hex(each) for each in operands]


def test_pairs_of_f32_that_are_flushed() -> None:
    wide = np.array([0x00800000_80000001] * 32, np.uint64)
    half = np.array([0x3F000000_3F800000] * 32, np.uint64)
    found = run_instruction("mul.rn.ftz.f32x2 %d, %a, %b;", {"%a": wide, "%b": half}, {"%d": "b64"})["%d"]
    assert hex(found[0, 0]) == hex(0x80000000)


def test_relu_and_out_of_bounds() -> None:
    one, minus_two, nan = 0x3C00, 0xC000, 0x7E01
    assert run("fma.rn.relu.f16", "f16", [one, one, nan], [one, minus_two, one], [one, one, one]) == [0x4000, 0, 0x7FFF]
    # One NaN says "out of bounds", as a factor.
    outside, a, b = 0x7FF7, [0xFFFF, 0x7FF7, 0xFFF7, one, one, one], [one, one, 0x7FFF, 0x7FF7, 0x7FFF, one]
    expected = [0x7FFF, 0, 0, 0, 0x7FFF, 0x4000]
    assert run("fma.rn.oob.f16", "f16", a, b, [one] * 6) == expected
    assert run("fma.rn.oob.relu.f16", "f16", a, b, [one] * 6) == expected
    assert run("fma.rn.oob.f16", "f16", [one], [one], [outside]) == [0x7FFF]
    assert run("fma.rn.f16", "f16", [outside, one], [one, outside], [one] * 2) == [0x7FFF, 0x7FFF]


@pytest.mark.parametrize(("type_", "one", "two"), [("f16x2", 0x3C00, 0x4000), ("bf16x2", 0x3F80, 0x4000)])
def test_each_half_is_out_of_bounds_by_itself(type_: str, one: int, two: int) -> None:
    ones, outside = one << 16 | one, 0x7FF7
    a, b = (
        [outside << 16 | one, one << 16 | outside, ones, outside << 16 | outside],
        [ones, ones, outside << 16 | one, ones],
    )
    found = run(f"fma.rn.oob.{type_}", type_, a, b, [ones] * 4)
    assert [hex(each) for each in found] == [hex(each) for each in (two, two << 16, two, 0)]


def test_mixed_precision() -> None:
    half = np.full(32, 0x3C01, np.uint16)
    single = np.full(32, 0x33800000, np.uint32)
    found = run_instruction("add.f32.f16 %d, %a, %b;", {"%a": half, "%b": single})["%d"]
    assert found.view(np.float32)[0, 0] == np.float32(1 + 2**-10 + 2**-24)
    found = run_instruction("fma.rn.f32.bf16 %d, %a, %a, %b;", {"%a": np.full(32, 0x4000, np.uint16), "%b": single})
    assert found["%d"].view(np.float32)[0, 0] == np.float32(4)


MINUS_ZERO, NAN = 0x80000000, 0x7FC00001


@pytest.mark.parametrize(
    ("text", "a", "b", "expected"),
    [
        ("min.f32", 0, MINUS_ZERO, MINUS_ZERO),
        ("max.f32", MINUS_ZERO, 0, 0),
        ("min.f32", NAN, 0x3F800000, 0x3F800000),
        ("max.f32", 0x3F800000, NAN, 0x3F800000),
        ("max.f32", NAN, NAN, 0x7FFFFFFF),
        ("max.NaN.f32", 0x3F800000, NAN, 0x7FFFFFFF),
        ("min.f32", 0xBF800000, 0xC0000000, 0xC0000000),
        ("max.xorsign.abs.f32", 0xBF800000, 0x40000000, 0xC0000000),
        ("min.xorsign.abs.f32", 0xBF800000, 0xC0000000, 0x3F800000),
        ("min.ftz.f32", 0x00000001, 0x80000001, MINUS_ZERO),
        ("max.ftz.f32", 0x00000001, 0x00000002, 0),
        ("copysign.f32", 0x80000001, 0x3F800000, 0xBF800000),
    ],
)
def test_choices(text: str, a: int, b: int, expected: int) -> None:
    assert hex(run(text, "f32", [a], [b])[0]) == hex(expected)


def test_the_largest_of_three() -> None:
    assert run("max.f32", "f32", [0x3F800000], [0x40000000], [NAN]) == [0x40000000]
    assert run("max.abs.f32", "f32", [0x3F800000], [0xC0000000], [0]) == [0x40000000]


def test_signs() -> None:
    assert run("abs.f32", "f32", [0xBF800000, 0xFFC00001]) == [0x3F800000, 0x7FFFFFFF]
    assert run("neg.f32", "f32", [0x3F800000, 0, 0x00000001]) == [0xBF800000, 0x80000000, 0x80000001]
    assert run("neg.ftz.f32", "f32", [0x00000001]) == [0x80000000]
    assert run("abs.bf16", "bf16", [0xBF80]) == [0x3F80]
    assert run("neg.f64", "f64", [1 << 63]) == [0]


def test_what_a_number_is() -> None:
    values = np.array([0, 1, 0x00800000, 0x7F800000, 0x7F800001, 0xFF800000, 0x80000001, 0xBF800000] * 4, np.uint32)
    expected = {
        "finite": "11100011",
        "infinite": "00010100",
        "number": "11110111",
        "notanumber": "00001000",
        "normal": "10100001",
        "subnormal": "01000010",
    }
    for name, wanted in expected.items():
        found = run_instruction(f"testp.{name}.f32 %d, %a;", {"%a": values}, {"%d": "pred"})["%d"][0, :8]
        assert "".join(str(int(each)) for each in found) == wanted, name


@pytest.mark.parametrize(
    ("text", "function", "low", "high", "bound"),
    [
        ("ex2.approx.f32", np.exp2, -126, 127, 2**-22.5),
        ("ex2.approx.ftz.f32", np.exp2, -126, 127, 2**-22.5),
        ("tanh.approx.f32", np.tanh, 2**-8 + 2**-20, 7.99, 2**-11),
        ("rcp.approx.f32", lambda x: 1 / x, 1, 2, 2**-23),
        ("rsqrt.approx.f32", lambda x: 1 / np.sqrt(x), 1, 4, 2**-22.9),
        ("sqrt.approx.f32", np.sqrt, 1, 4, 2**-23),
        ("sin.approx.f32", np.sin, 0.5, 2.5, 2**-20.5),
        ("cos.approx.f32", np.cos, -1, 1, 2**-20.5),
        ("lg2.approx.f32", np.log2, 2, 1000, 2**-22),
    ],
)
def test_approximations(text: str, function, low: float, high: float, bound: float) -> None:
    x = np.linspace(low, high, 4096).astype(np.float32)
    found = run_instruction(f"{text} %d, %a;", {"%a": x}, {"%d": "f32"})["%d"].reshape(-1)
    exact = function(x.astype(np.float64))
    assert np.abs(found / exact - 1).max() <= bound
    # Rounded to nearest: at most half a unit in the last place.
    assert (np.abs(found - exact) <= np.spacing(np.abs(exact).astype(np.float32)) * 0.5001).all()


def test_special_values_of_approximations() -> None:
    inf, minus_inf, nan, minus_zero = 0x7F800000, 0xFF800000, 0x7FFFFFFF, 0x80000000
    values = [0, minus_zero, inf, minus_inf, 0x7FC00001, 0x3F800000]
    one, small = 0x3F800000, 0x80000001
    assert run("ex2.approx.f32", "f32", values) == [one, one, inf, 0, nan, 0x40000000]
    assert run("lg2.approx.f32", "f32", values) == [minus_inf, minus_inf, inf, nan, nan, 0]
    assert run("tanh.approx.f32", "f32", [*values[:5], small]) == [0, minus_zero, one, 0xBF800000, nan, small]
    assert run("rsqrt.approx.f32", "f32", values) == [inf, minus_inf, 0, nan, nan, one]
    assert run("sin.approx.f32", "f32", values[:5]) == [0, minus_zero, nan, nan, nan]
    assert run("rcp.approx.ftz.f32", "f32", [*values, small]) == [inf, minus_inf, 0, minus_zero, nan, one, minus_inf]
    assert run("ex2.approx.ftz.f32", "f32", [0xC3000000]) == [0]
    # A divisor beyond 2**126: its reciprocal would be subnormal, and is 0.
    assert run("div.approx.f32", "f32", [one, inf], [0x7E800001, 0x7E800001]) == [0, nan]
    assert run("div.approx.f32", "f32", [one, one], [0x7F800000, 0x7FC00000]) == [0, nan]
    # A small argument, and from 8 on 1.
    assert run("tanh.approx.f32", "f32", [0x3B7FFFFF, 0xC1000000]) == [0x3B7FFFFF, 0xBF800000]
    assert run("div.full.f32", "f32", [0x7F000000], [0x7F000000]) == [one]


def test_halves_of_functions() -> None:
    """Cut off, not rounded: the largest `f16` that is not above the result's magnitude."""
    x = np.linspace(-4, 4, 64).astype(np.float16)
    for text, function in (("ex2.approx.f16", np.exp2), ("tanh.approx.f16", np.tanh)):
        found = run_instruction(f"{text} %d, %a;", {"%a": x}, {"%d": "f16"})["%d"].reshape(-1)
        exact = np.abs(function(x.astype(np.float64)))
        size = np.abs(found)
        assert (size <= exact).all() and (np.nextafter(size, np.float16(np.inf)) > exact).all(), text
    # 2^-2^-24 is 1; 2^16 is infinity; subnormal results are flushed, or not.
    assert run("ex2.approx.f16", "f16", [0x8001, 0x8002, 0x4C00, 0xCE00]) == [0x3C00, 0x3BFF, 0x7C00, 0x0001]
    assert run("ex2.approx.ftz.bf16", "bf16", [0xC2FC, 0xC300, 0x4300]) == [0x0080, 0, 0x7F80]
    assert run("ex2.approx.ftz.bf16", "bf16", [0xB34D, 0xBB37, 0xBFE4]) == [0x3F80, 0x3F7F, 0x3E94]
    assert run("ex2.approx.ftz.bf16", "bf16", [0xB381, 0xB3FF, 0xB400]) == [0x3F80, 0x3F80, 0x3F7F]
    assert run("tanh.approx.bf16", "bf16", [0x3B7E, 0x3FC0, 0x4100]) == [0x3B7E, 0x3F67, 0x3F80]
    assert run("tanh.approx.bf16", "bf16", [0x3B80, 0xBB80, 0x3B81]) == [0x3B80, 0xBB80, 0x3B80]
    assert run("tanh.approx.f16", "f16", [0x1C07, 0x9C01, 0x1C08]) == [0x1C07, 0x9C01, 0x1C07]


def test_flushed_halves() -> None:
    assert run("mul.rn.ftz.f16", "f16", [0xBBFF, 0xBC00, 0x3C01], [0x0400] * 3) == [0x8000, 0x8400, 0x0401]
    assert run("mul.rn.f16", "f16", [0xBBFF], [0x0400]) == [0x8400]


def test_double_nans() -> None:
    """`f64` keeps the payload of a NaN; an invalid operation gives one with its sign set."""
    nan, inf = 0x7FF0000000000123, 0x7FF0000000000000
    quiet = nan | 1 << 51
    assert run("add.f64", "f64", [nan, inf], [0, inf | 1 << 63]) == [quiet, 0xFFF8000000000000]
    assert run("fma.rn.f64", "f64", [0], [0], [nan]) == [quiet]
    # Of several: of a product and a sum the second factor's, the addend's, the first's; of a quotient the first.
    other = 0xFFF8000000000000
    assert run("mul.f64", "f64", [nan], [other]) == [other]
    assert run("fma.rz.f64", "f64", [nan, 0], [0, other], [other, nan]) == [other, other]
    assert run("div.rn.f64", "f64", [nan], [other]) == [quiet]
    # A NaN keeps its sign.
    assert run("abs.f64", "f64", [other, nan]) == [other, quiet]
    assert run("neg.f64", "f64", [other, nan, 0]) == [other, quiet, 1 << 63]
