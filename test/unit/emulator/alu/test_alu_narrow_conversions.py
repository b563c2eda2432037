"""Conversions of narrow floats that round at random, have scales, or count 64ths; against fractions."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from alu.oracle import INF, KINDS, Kind, encode, samples, value
from hand import run_instruction

FLOAT = KINDS["f32"]
LANES = 32


def floats(kind: Kind, chosen: random.Random) -> list[int]:
    """Bits of `f32`s: numbers of the format and about them, and all that is special."""
    most = value(kind.largest, kind)
    near = [
        value(chosen.randrange(kind.largest), kind) * Fraction(chosen.randrange(900, 1100), 1000) for _ in range(40)
    ]
    exact = [value(chosen.randrange(kind.largest), kind) for _ in range(8)]
    numbers = [*near, *exact, most, most * 2, value(1, kind) / 4, value(1, kind) / 2**20]
    return [encode(each * chosen.choice((1, -1)), FLOAT) for each in numbers] + samples(FLOAT, chosen)[:44]


def at_random(bits: int, kind: Kind, chance: Fraction, finite: bool, relu: bool) -> int:
    """The bits of an `f32` in the format, rounded away from zero where the part cut off and the chance make one."""
    number, minus = value(bits, FLOAT), bits >> 31
    if isinstance(number, float) and math.isnan(number):
        return kind.nan
    if relu and minus:
        return 0
    if isinstance(number, float):
        return (kind.largest if finite else kind.infinity) | minus << (kind.width - 1)
    toward = encode(abs(number), kind, "rz", finite=True)
    kept = value(toward, kind)
    above = value(toward + 1, kind) if toward < kind.largest else kept + (kept - value(toward - 1, kind))
    if (abs(number) - kept) / (above - kept) + chance >= 1:
        toward += 1
    if toward > kind.largest:
        toward = kind.largest if finite else kind.infinity
    return toward | minus << (kind.width - 1)


def reverse(bits: int, count: int = 16) -> int:
    return int(f"{bits:0{count}b}"[::-1], 2)


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("to", ["e4m3", "e5m2", "e2m1", "e2m3", "e3m2"])
def test_four_at_random(to: str, relu: bool) -> None:
    """Pairs share 16 bits; the upper of a pair reads them from the other end."""
    kind, chosen, step = KINDS[to], random.Random(7), 4 if to == "e2m1" else 8
    values = [chosen.sample(floats(kind, chosen), 64) for _ in range(4)]
    bits = [chosen.getrandbits(32) for _ in range(60)] + [0, 0xFFFFFFFF, 0xFFFF0000, 0x00FF00FF]
    names = ("%a", "%b", "%c", "%e")
    inputs = {name: np.array(each, np.uint32) for name, each in zip(names, values, strict=True)}
    text = f"cvt.rs{'.relu' if relu else ''}.satfinite.{to}x4.f32 %d, {{{', '.join(names)}}}, %f;"
    register = f"b{4 * step}"
    found = run_instruction(text, inputs | {"%f": np.array(bits, np.uint32)}, {"%d": register})["%d"].reshape(-1)
    for *four, shared, got in zip(*values, bits, found, strict=True):
        if to == "e2m1":
            octets = shared.to_bytes(4, "little")
            low, high = octets[2] << 8 | octets[0], octets[3] << 8 | octets[1]
        else:
            low, high = shared & 0xFFFF, shared >> 16
        chances = [Fraction(each, 2**16) for each in (reverse(high), high, reverse(low), low)]
        codes = [at_random(each, kind, one, True, relu) for each, one in zip(four, chances, strict=True)]
        whole = 0
        for code in codes:
            whole = whole << step | code
        assert int(got) == whole, ([hex(each) for each in four], hex(shared))


@pytest.mark.parametrize(("to", "count"), [("f16", 13), ("bf16", 16)])
@pytest.mark.parametrize("suffix", ["", ".satfinite", ".relu"])
def test_two_at_random(to: str, count: int, suffix: str) -> None:
    kind, chosen = KINDS[to], random.Random(8)
    a, b = (chosen.sample(floats(kind, chosen), 64) for _ in range(2))
    bits = [chosen.getrandbits(32) for _ in range(60)] + [0, 0xFFFFFFFF, 0xFFFF0000, 0x0000FFFF]
    inputs = {name: np.array(each, np.uint32) for name, each in (("%a", a), ("%b", b), ("%c", bits))}
    form = f".relu.{to}x2" if suffix == ".relu" else f"{suffix}.{to}x2"
    found = run_instruction(f"cvt.rs{form}.f32 %d, %a, %b, %c;", inputs, {"%d": "b32"})["%d"].reshape(-1)
    for high, low, shared, got in zip(a, b, bits, found, strict=True):
        chances = [Fraction(part & (1 << count) - 1, 1 << count) for part in (shared >> 16, shared)]
        flags = suffix == ".satfinite", suffix == ".relu"
        upper, lower = (at_random(each, kind, one, *flags) for each, one in zip((high, low), chances, strict=True))
        assert int(got) == upper << 16 | lower, (hex(high), hex(low), hex(shared))


def power(code: int) -> Fraction | None:
    """What a scale means; `None` for the NaN."""
    return None if code == 0xFF else Fraction(2) ** (code - 127)


SCALES = [0, 1, 100, 126, 127, 128, 129, 254, 255, 131]


def scaled(number: Fraction | float, scale: Fraction | None, minus: bool, kind: Kind) -> int:
    """The bits of a product."""
    if scale is None or (isinstance(number, float) and math.isnan(number)):
        return kind.nan
    if isinstance(number, float):
        return kind.infinity | minus << (kind.width - 1)
    return encode(number * scale, kind, minus_zero=minus)


@pytest.mark.parametrize("source", ["e4m3", "e5m2", "e2m1", "e2m3", "e3m2"])
def test_scales_of_narrow_floats(source: str) -> None:
    """The lower scale is of the lower number."""
    kind, step = KINDS[source], 4 if source == "e2m1" else 8
    chosen = random.Random(9)
    codes = [chosen.randrange(2**kind.width) for _ in range(128)] + [kind.nan, kind.largest] * 16
    pairs = list(zip(codes, codes[::-1], strict=True))
    scales = [(chosen.choice(SCALES), chosen.choice(SCALES)) for _ in pairs]
    inputs = {
        "%a": np.array([high << step | low for high, low in pairs], np.uint8 if step == 4 else np.uint16),
        "%b": np.array([high << 8 | low for high, low in scales], np.uint16),
    }
    text = f"cvt.rn.scaled::n2::ue8m0.bf16x2.{source}x2 %d, %a, %b;"
    found = run_instruction(text, inputs, {"%d": "b32"})["%d"].reshape(-1)
    for both, of_both, got in zip(pairs, scales, found, strict=True):
        high, low = (
            scaled(value(code, kind), power(scale), bool(code >> (kind.width - 1)), KINDS["bf16"])
            for code, scale in zip(both, of_both, strict=True)
        )
        assert int(got) == high << 16 | low, (both, of_both)


def test_sixty_fourths() -> None:
    """From and to integers of 8 bits, with and without scales."""
    chosen = random.Random(10)
    numbers = [Fraction(chosen.randrange(-300, 300), 128) for _ in range(80)] + [Fraction(0), Fraction(255, 128)] * 8
    bits = (
        [encode(each, FLOAT) for each in numbers]
        + [0x7F800000, 0xFF800000, 0x7FC00000] * 4
        + samples(FLOAT, chosen)[:20]
    )
    pairs = list(zip(bits, bits[::-1], strict=True))
    scales = [(chosen.choice(SCALES), chosen.choice(SCALES)) for _ in pairs]
    inputs = {
        "%a": np.array([high for high, _ in pairs], np.uint32),
        "%b": np.array([low for _, low in pairs], np.uint32),
        "%c": np.array([high << 8 | low for high, low in scales], np.uint16),
    }

    def code(each: int, scale: Fraction | None, relu: bool) -> int:
        number = value(each, FLOAT)
        if scale is None or (isinstance(number, float) and math.isnan(number)):
            return 0x7F
        counted = number * 64 / scale if abs(number) != INF else Fraction(1000 if number > 0 else -1000)
        return max(0 if relu else -128, min(127, round(counted))) & 0xFF

    for relu in (False, True):
        flag = ".relu" if relu else ""
        plain = run_instruction(f"cvt.rn.satfinite{flag}.s2f6x2.f32 %d, %a, %b;", inputs, {"%d": "b16"})["%d"]
        text = f"cvt.rn.satfinite{flag}.scaled::n2::ue8m0.s2f6x2.f32 %d, %a, %b, %c;"
        with_scales = run_instruction(text, inputs, {"%d": "b16"})["%d"]
        for (high, low), scale, one, other in zip(
            pairs, scales, plain.reshape(-1), with_scales.reshape(-1), strict=True
        ):
            assert int(one) == code(high, Fraction(1), relu) << 8 | code(low, Fraction(1), relu), hex(high)
            expected = code(high, power(scale[0]), relu) << 8 | code(low, power(scale[1]), relu)
            assert int(other) == expected, (hex(high), hex(low), scale)

    halves = np.array(
        [0x3F80BF80, 0x7F80FF80, 0x7FC03CC0, 0x3C803E00], np.uint32
    )  # 1, -1; inf, -inf; NaN, 1.5/64; 1/64
    found = run_instruction("cvt.rn.satfinite.s2f6x2.bf16x2 %d, %a;", {"%a": np.tile(halves, 8)}, {"%d": "b16"})["%d"]
    assert [hex(each) for each in found.reshape(-1)[:4]] == ["0x40c0", "0x7f80", "0x7f02", "0x108"]

    codes = np.arange(65536, step=67, dtype=np.uint16)[: 30 * LANES]
    halved = np.full(codes.size, 0x7E80, np.uint16)  # by 1/2, and by 2
    found = run_instruction("cvt.rn.bf16x2.s2f6x2 %d, %a;", {"%a": codes}, {"%d": "b32"})["%d"].reshape(-1)
    text = "cvt.rn.relu.scaled::n2::ue8m0.bf16x2.s2f6x2 %d, %a, %b;"
    other = run_instruction(text, {"%a": codes, "%b": halved}, {"%d": "b32"})["%d"].reshape(-1)
    for pair, one, with_scale in zip(codes.tolist(), found, other, strict=True):
        high, low = (Fraction(int(np.int8(each - 256 if each > 127 else each)), 64) for each in (pair >> 8, pair & 255))
        assert int(one) == encode(high, KINDS["bf16"]) << 16 | encode(low, KINDS["bf16"]), hex(pair)
        high, low = max(high, Fraction(0)) / 2, max(low, Fraction(0)) * 2
        assert int(with_scale) == encode(high, KINDS["bf16"]) << 16 | encode(low, KINDS["bf16"]), hex(pair)
