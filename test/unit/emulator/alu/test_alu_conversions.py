"""Conversions against fractions."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from alu.oracle import KINDS, encode, negative, samples, value
from hand import run_instruction

MODES = ["rn", "rz", "rm", "rp"]
FLOATS = ["f16", "bf16", "f32", "f64"]
INTEGERS = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"]
WHOLE = {"rni": lambda x: round(x), "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}


def size(type_: str) -> int:
    return KINDS[type_].width if type_ in KINDS else int(type_[1:])


def register(type_: str) -> str:
    return f"b{max(16, size(type_))}"


def run(text: str, to: str, source: str, bits: list[int]) -> list[int]:
    """The result's bits, those of its register."""
    dtype = f"u{max(16, size(source)) // 8}"
    padded = np.resize(np.array(bits, dtype), -(-len(bits) // 32) * 32)
    found = run_instruction(f"{text} %d, %a;", {"%a": padded}, {"%d": register(to)})["%d"]
    return [int(each) for each in found.reshape(-1)[: len(bits)]]


def limits(type_: str) -> tuple[int, int]:
    bits = size(type_)
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if type_[0] == "s" else (0, (1 << bits) - 1)


def converted(bits: int, source: str, to: str, mode: str, finite: bool = False) -> int:
    """The bits of a float as another."""
    number, minus = value(bits, KINDS[source]), negative(bits, KINDS[source])
    kind = KINDS[to]
    if not isinstance(number, float):
        return encode(number, kind, mode, finite, minus_zero=minus)
    if math.isnan(number):
        return kind.nan
    return (kind.largest if finite or kind.top != "ieee" else kind.infinity) | minus << (kind.width - 1)


def corners(source: str, to: str) -> list[int]:
    """Values of one format at and about the limits of another, and halfway between its values."""
    kind, target = KINDS[source], KINDS[to]
    numbers = [value(each, target) for each in samples(target, random.Random(1)) if each & target.nan <= target.largest]
    steps = [value(each, target) for each in (1, 2, 3, target.largest, target.largest - 1)]
    numbers += [(a + b) / 2 for a, b in itertools.pairwise(numbers) if not isinstance(a + b, float)]
    numbers += [number * Fraction(1, 2) for number in steps] + [2 * steps[3] - (steps[3] + steps[4]) / 2]
    bits = [encode(number, kind) for number in numbers if not isinstance(number, float)]
    near = [each + step for each in bits for step in (-1, 0, 1)]
    return [each & (2**kind.width - 1) for each in near] + samples(kind, random.Random(2))


@pytest.mark.parametrize(("source", "to"), [p for p in itertools.product(FLOATS, FLOATS) if p[0] != p[1]])
def test_between_floats(source: str, to: str) -> None:
    bits = corners(source, to)
    widens = {("f16", "f32"), ("f16", "f64"), ("bf16", "f32"), ("bf16", "f64"), ("f32", "f64")}
    is_nan = lambda each: isinstance(value(each, KINDS[source]), float) and math.isnan(value(each, KINDS[source]))  # noqa: E731
    for mode in [""] if (source, to) in widens else MODES:
        found = run(f"cvt.{mode + '.' if mode else ''}{to}.{source}", to, source, bits)
        for each, got in zip(bits, found, strict=True):
            if is_nan(each) and ("f64" in (source, to) or (source, to) == ("bf16", "f32")):
                # Its sign and payload stay; `f64` makes it quiet.
                quiet = 0 if (source, to) == ("bf16", "f32") else 1 << (KINDS[to].mantissa - 1)
                shift = KINDS[to].mantissa - KINDS[source].mantissa
                payload = each & (1 << KINDS[source].mantissa) - 1
                payload = payload << shift if shift > 0 else payload >> -shift
                sign = negative(each, KINDS[source]) << (KINDS[to].width - 1)
                assert got == sign | KINDS[to].infinity | payload | quiet, hex(each)
            else:
                assert got == converted(each, source, to, mode or "rn"), (mode, hex(each))


@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("to", FLOATS)
def test_floats_of_integers(source: str, to: str) -> None:
    chosen, (least, largest) = random.Random(3), limits(source)
    numbers = [0, 1, 2, 3, 100, least, largest, largest - 1, largest // 3]
    numbers += [(1 << 24) + 1, (1 << 24) + 3, (1 << 53) + 1, (1 << 63) - 513, 2049, 2051, 65519, 65520, 257, 259]
    numbers += [chosen.getrandbits(chosen.randrange(1, size(source) + 1)) for _ in range(60)]
    numbers += [-each for each in numbers]
    numbers = [each for each in numbers if least <= each <= largest]
    bits = [each & ((1 << size(source)) - 1) for each in numbers]
    for mode in MODES:
        found = run(f"cvt.{mode}.{to}.{source}", to, source, bits)
        for number, got in zip(numbers, found, strict=True):
            assert got == encode(Fraction(number), KINDS[to], mode), (mode, number)


@pytest.mark.parametrize("to", INTEGERS)
@pytest.mark.parametrize("source", FLOATS)
def test_integers_of_floats(source: str, to: str) -> None:
    kind, (least, largest) = KINDS[source], limits(to)
    numbers = [Fraction(n, 4) for n in range(-40, 41)]
    numbers += [Fraction(limit) + Fraction(n, 2) for limit in limits(to) for n in (-3, -2, -1, 0, 1, 2, 3)]
    bits = [encode(number, kind) for number in numbers] + samples(kind, random.Random(4))
    mask = (1 << size(register(to))) - 1
    for mode, whole in WHOLE.items():
        found = run(f"cvt.{mode}.{to}.{source}", to, source, bits)
        for each, got in zip(bits, found, strict=True):
            number = value(each, kind)
            if isinstance(number, float) and math.isnan(number):
                # The manual: the highest bit where one of the two has 64 bits, else 0.
                expected = 1 << (size(to) - 1) if source == "f64" or size(to) == 64 else 0
                expected = expected - (1 << size(to)) if to[0] == "s" and expected else expected
            elif isinstance(number, float):
                expected = largest if number > 0 else least
            else:
                expected = max(least, min(largest, whole(number)))
            assert got == expected & mask, (mode, hex(each))


@pytest.mark.parametrize("to", INTEGERS)
@pytest.mark.parametrize("source", INTEGERS)
def test_between_integers(source: str, to: str) -> None:
    chosen, (least, largest) = random.Random(5), limits(source)
    numbers = [0, 1, least, largest, *(chosen.randint(least, largest) for _ in range(28))]
    bits = [each & ((1 << size(source)) - 1) for each in numbers]
    mask = (1 << size(register(to))) - 1
    wrapped = [each & ((1 << size(to)) - 1) for each in numbers]
    # A register wider than the type gets the sign.
    signed = [each - (1 << size(to)) if to[0] == "s" and each >> (size(to) - 1) else each for each in wrapped]
    assert run(f"cvt.{to}.{source}", to, source, bits) == [each & mask for each in signed]
    clamped = [max(limits(to)[0], min(limits(to)[1], each)) for each in numbers]
    assert run(f"cvt.sat.{to}.{source}", to, source, bits) == [each & mask for each in clamped]


@pytest.mark.parametrize("type_", ["f16", "f32", "f64"])
def test_whole_numbers(type_: str) -> None:
    kind = KINDS[type_]
    bits = [encode(Fraction(n, 4), kind) for n in range(-20, 21)] + samples(kind, random.Random(6))
    for mode, whole in WHOLE.items():
        found = run(f"cvt.{mode}.{type_}.{type_}", type_, type_, bits)
        for each, got in zip(bits, found, strict=True):
            number = value(each, kind)
            if isinstance(number, float):
                assert got == each or math.isnan(number)
            else:
                assert got == encode(Fraction(whole(number)), kind, minus_zero=negative(each, kind)), (mode, hex(each))


def test_saturation_and_flushing() -> None:
    bits = [0x3F000000, 0x40000000, 0xBF800000, 0x7F800000, 0x7FC00000, 0x80000000, 0x00000001]
    assert run("cvt.sat.f32.f32", "f32", "f32", bits) == [0x3F000000, 0x3F800000, 0, 0x3F800000, 0, 0, 1]
    assert run("cvt.rn.sat.f16.f32", "f16", "f32", bits[:5]) == [0x3800, 0x3C00, 0, 0x3C00, 0]
    assert run("cvt.ftz.f64.f32", "f64", "f32", [0x80000001]) == [1 << 63]
    assert run("cvt.rn.ftz.f32.f64", "f32", "f64", [0x3800000000000000]) == [0]
    assert run("cvt.rpi.ftz.s32.f32", "s32", "f32", [1]) == [0]
    assert run("cvt.rpi.s32.f32", "s32", "f32", [1]) == [1]
    # Below the least normal number, as one bit more than a subnormal has; rounded up to it.
    assert run("cvt.rp.ftz.f32.f64", "f32", "f64", [0x380FFFFFE0000000, 0x380FFFFFF0000000]) == [0, 0x00800000]
    assert run("cvt.rn.ftz.f32.f64", "f32", "f64", [0x380FFFFFE0000000, 0xB80FFFFFF0000000]) == [0, 0x80800000]
    # To f16 it does nothing.
    assert run("cvt.rm.ftz.f16.f32", "f16", "f32", [0x80000001, 0x00000001]) == [0x8001, 0]
    # Where f32 is flushed, its NaN is the one.
    assert run("cvt.ftz.f32.bf16", "f32", "bf16", [0x7F81, 0xFFFF, 0x007F]) == [0x7FFFFFFF, 0x7FFFFFFF, 0]
    assert run("cvt.ftz.f64.f32", "f64", "f32", [0xFFC00000]) == [0x7FFFFFFFE0000000]
    # A subnormal f16 is a normal f32.
    assert run("cvt.ftz.f32.f16", "f32", "f16", [1]) == [0x33800000]


def pair(text: str, a: list[int], b: list[int], to: str) -> list[int]:
    count = len(a)
    inputs = {name: np.resize(np.array(each, np.uint32), -(-count // 32) * 32) for name, each in (("%a", a), ("%b", b))}
    return [int(each) for each in run_instruction(f"{text} %d, %a, %b;", inputs, {"%d": to})["%d"].reshape(-1)[:count]]


@pytest.mark.parametrize("to", ["f16", "bf16", "e4m3", "e5m2", "e2m1", "e2m3", "e3m2"])
def test_two_floats_in_one_register(to: str) -> None:
    """`a` is the upper one."""
    bits = corners("f32", to)
    other = bits[::-1]
    kind = KINDS[to]
    half = to in ("f16", "bf16")
    step = 4 if to == "e2m1" else 8 * (1 + half)
    for relu, mode in itertools.product((False, True), ("rn", "rz") if half else ("rn",)):
        finite = not half
        found = pair(
            f"cvt.{mode}{'' if half else '.satfinite'}{'.relu' if relu else ''}.{to}x2.f32",
            bits,
            other,
            "b32" if half else "b8" if to == "e2m1" else "b16",
        )

        def one(each: int, mode: str = mode, relu: bool = relu, finite: bool = finite) -> int:
            result = converted(each, "f32", to, mode, finite)
            nan = math.isnan(number) if isinstance(number := value(each, KINDS["f32"]), float) else False
            return 0 if relu and result >> (kind.width - 1) and not nan else result

        for high, low, got in zip(bits, other, found, strict=True):
            assert got == one(high) << step | one(low), (mode, relu, hex(high), hex(low))


@pytest.mark.parametrize("source", ["e4m3", "e5m2", "e2m1", "e2m3", "e3m2"])
def test_every_small_float(source: str) -> None:
    kind = KINDS[source]
    step = 4 if source == "e2m1" else 8
    codes = list(range(2**kind.width))
    packed = [code << step | codes[-1 - index] for index, code in enumerate(codes)]
    dtype = np.uint8 if step == 4 else np.uint16
    inputs = {"%a": np.resize(np.array(packed, dtype), -(-len(packed) // 32) * 32)}
    found = run_instruction(f"cvt.rn.f16x2.{source}x2 %d, %a;", inputs)["%d"].reshape(-1)
    for index, code in enumerate(codes):
        high, low = converted(code, source, "f16", "rn"), converted(codes[-1 - index], source, "f16", "rn")
        assert int(found[index]) == high << 16 | low


def test_every_half_as_a_small_float() -> None:
    halves = np.arange(65536, dtype=np.uint32)
    found = run_instruction("cvt.rn.satfinite.e4m3x2.f16x2 %d, %a;", {"%a": halves}, {"%d": "b16"})["%d"].reshape(-1)
    for code in [*range(0, 65536, 97), 0x5F00, 0x5F40, 0x5F3F, 0x5F41, 0x7C00, 0xFC00, 0x7E00]:
        assert int(found[code]) == converted(code, "f16", "e4m3", "rn", finite=True), hex(code)


def test_largest_instead_of_infinity() -> None:
    assert run("cvt.rn.satfinite.f16.f32", "f16", "f32", [0x7F800000, 0xFF800000, 0x47800000]) == [
        0x7BFF,
        0xFBFF,
        0x7BFF,
    ]
    assert run("cvt.rn.satfinite.bf16.f32", "bf16", "f32", [0x7F7FFFFF, 0x7FC00000]) == [0x7F7F, 0x7FFF]
    assert run("cvt.rn.relu.f16.f32", "f16", "f32", [0xBF800000, 0x80000000, 0xFFC00000]) == [0, 0, 0x7FFF]


def test_tf32() -> None:
    one = 0x3F800000
    bits = [one | 0x0FFF, one | 0x1000, one | 0x1001, one | 0x3000, 0x80000000 | one | 0x1000]
    assert run("cvt.rna.tf32.f32", "f32", "f32", bits) == [one, one | 0x2000, one | 0x2000, one | 0x4000, 0xBF802000]
    assert run("cvt.rn.tf32.f32", "f32", "f32", bits) == [one, one, one | 0x2000, one | 0x4000, 0xBF800000]
    assert run("cvt.rz.relu.tf32.f32", "f32", "f32", bits) == [one, one, one, one | 0x2000, 0]
    assert run("cvt.rna.tf32.f32", "f32", "f32", [0x7F7FFFFF, 0x7FFFFFFF]) == [0x7F800000, 0x7FFFE000]
    assert run("cvt.rn.satfinite.tf32.f32", "f32", "f32", [0x7F7FFFFF, 0x7FC00001]) == [0x7F7FE000, 0x7FFFE000]


def test_powers_of_two() -> None:
    values = [
        0x3F800000,
        0x3F800001,
        0x00000000,
        0x00400000,
        0x00400001,
        0x7F800000,
        0x7FC00000,
        0x7F7FFFFF,
        0xC0000000,
    ]
    zeros = [0] * len(values)
    down = pair("cvt.rz.satfinite.ue8m0x2.f32", zeros, values, "b16")
    up = pair("cvt.rp.satfinite.ue8m0x2.f32", zeros, values, "b16")
    assert [hex(each) for each in down] == ["0x7f", "0x7f", "0x0", "0x0", "0x0", "0xfe", "0xff", "0xfe", "0x80"]
    assert [hex(each) for each in up] == ["0x7f", "0x80", "0x0", "0x0", "0x1", "0xfe", "0xff", "0xfe", "0x80"]
    codes = np.array([0x7F00, 0xFF80] * 16, np.uint16)
    found = run_instruction("cvt.rn.bf16x2.ue8m0x2 %d, %a;", {"%a": codes})["%d"][0, :2]
    assert [hex(each) for each in found] == ["0x3f800040", "0x7fff4000"]


def test_packing_with_saturation() -> None:
    def one(text: str, a: int, b: int, *c: int) -> int:
        names = ["%a", "%b", "%c"]
        inputs = {
            name: np.full(32, each & 0xFFFFFFFF, np.uint32) for name, each in zip(names, (a, b, *c), strict=False)
        }
        return int(run_instruction(f"{text} %d, {', '.join(inputs)};", inputs)["%d"][0, 0])

    assert one("cvt.pack.sat.s16.s32", 70000, -70000) == 0x7FFF8000
    assert one("cvt.pack.sat.u16.s32", 70000, -5) == 0xFFFF0000
    assert one("cvt.pack.sat.u8.s32.b32", 300, 7, 0xABCD1234) == 0x1234FF07
    assert one("cvt.pack.sat.s4.s32.b32", -100, 3, 0xABCD1234) == 0xCD123483
