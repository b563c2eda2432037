"""The model of narrow formats and conversions, and of responses of `clusterlaunchcontrol`, agrees with itself."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from blackwell_model.conversions import (
    as_float,
    pack,
    random_bits_of_four,
    random_fields,
    to_f16,
    to_half_stochastic,
    to_narrow,
    to_narrow_stochastic,
    to_ue8m0,
    ue8m0_to_bf16,
)
from blackwell_model.formats import FORMATS, from_a_byte, in_a_byte, magnitudes, read_tf32, values
from blackwell_model.launch_control import Response, may_request_again

SIGNED = ["e4m3", "e5m2", "e3m2", "e2m3", "e2m1"]


def f32(value: float | np.float32) -> int:
    return int(np.float32(value).view(np.uint32))


@pytest.mark.parametrize(
    ("name", "bits", "least", "largest"),
    [
        ("e4m3", 8, 2.0**-9, 448.0),
        ("e5m2", 8, 2.0**-16, 57344.0),
        ("e3m2", 6, 2.0**-4, 28.0),
        ("e2m3", 6, 0.125, 7.5),
        ("e2m1", 4, 0.5, 6.0),
        ("ue4m3", 7, 2.0**-9, 448.0),
        ("ue8m0", 8, 2.0**-127, 2.0**127),
    ],
)
def test_ranges(name: str, bits: int, least: float, largest: float) -> None:
    form = FORMATS[name]
    positive = [each for each in magnitudes(name) if each]
    assert (form.bits, positive[0], positive[-1]) == (bits, least, largest)
    assert positive == sorted(set(positive))


def test_values_of_4_bits() -> None:
    assert values("e2m1") == (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0)


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("e4m3", {0x7F, 0xFF}),
        ("e5m2", {*range(0x7D, 0x80), *range(0xFD, 0x100)}),
        ("ue4m3", {0x7F}),
        ("ue8m0", {0xFF}),
        ("e3m2", set[int]()),
        ("e2m3", set[int]()),
        ("e2m1", set[int]()),
    ],
)
def test_codes_of_nan(name: str, codes: set[int]) -> None:
    assert {code for code, value in enumerate(values(name)) if math.isnan(value)} == codes


def test_e5m2_alone_has_infinities() -> None:
    assert [name for name in FORMATS if any(map(math.isinf, values(name)))] == ["e5m2"]


@pytest.mark.parametrize("name", SIGNED)
def test_values_of_a_format_convert_to_themselves(name: str) -> None:
    for code, value in enumerate(values(name)):
        if math.isfinite(value):
            assert to_narrow(f32(value), name) == code
            assert to_narrow_stochastic(f32(value), name, 0xFFFF) == code
            assert np.uint16(to_f16(code, name)).view(np.float16) == value


@pytest.mark.parametrize("name", SIGNED)
def test_conversions_round_to_even(name: str) -> None:
    """A number halfway between two becomes the even one, and one beside it the nearer."""
    known = magnitudes(name)
    for lower, (low, high) in enumerate(itertools.pairwise(known)):
        middle = np.float32((low + high) / 2)
        assert to_narrow(f32(middle), name) == lower + lower % 2
        assert to_narrow(f32(np.nextafter(middle, np.float32(0))), name) == lower
        assert to_narrow(f32(np.nextafter(middle, np.float32(np.inf))), name) == lower + 1


@pytest.mark.parametrize("name", SIGNED)
def test_conversions_saturate(name: str) -> None:
    form = FORMATS[name]
    assert to_narrow(f32(math.inf), name) == to_narrow(f32(1e30), name) == form.largest
    assert to_narrow(f32(-math.inf), name) == form.largest | form.sign_bit
    assert to_narrow_stochastic(f32(values(name)[form.largest] * 1.01), name, 0xFFFF) == form.largest


@pytest.mark.parametrize(
    ("name", "code"), [("e4m3", 0x7F), ("e5m2", 0x7F), ("e3m2", 0x1F), ("e2m3", 0x1F), ("e2m1", 0x7)]
)
def test_conversions_of_nan(name: str, code: int) -> None:
    for sign in (0, 1):
        assert to_narrow(0x7FC00000 | sign << 31, name) == to_narrow(0x7FC00000 | sign << 31, name, relu=True) == code


def test_conversions_clamp_what_is_negative() -> None:
    assert [to_narrow(f32(value), "e4m3", relu=True) for value in (-1.0, -0.0, -math.inf)] == [0, 0, 0]
    assert to_narrow(f32(-0.0), "e4m3") == 0x80
    assert to_f16(0xC, "e2m1", relu=True) == 0


@pytest.mark.parametrize("name", SIGNED)
def test_stochastic_rounding_is_fair(name: str) -> None:
    """Of all random numbers as many round up as the number is on its way to the next one."""
    known = magnitudes(name)
    for lower in (0, 1, len(known) - 2):
        value = f32(known[lower] + (known[lower + 1] - known[lower]) * 0.375)
        ups = sum(to_narrow_stochastic(value, name, random) - lower for random in range(0, 1 << 16, 1 << 8))
        assert ups == 0.375 * (1 << 8)


def test_stochastic_rounding_of_halves() -> None:
    assert to_half_stochastic(f32(1.0 + 2**-8), "bf16", 0x7FFF) == 0x3F80
    assert to_half_stochastic(f32(1.0 + 2**-8), "bf16", 0x8000) == 0x3F81
    assert to_half_stochastic(f32(-1.0), "f16", 0x1FFF) == 0xBC00
    assert to_half_stochastic(f32(1.0 + 2**-11), "f16", 0x1000) == 0x3C01


def test_random_bits() -> None:
    assert random_fields(0x12345678, "bf16") == (0x1234, 0x5678)
    assert random_fields(0xFFFFFFFF, "f16") == (0x1FFF, 0x1FFF)
    assert random_fields(0x12345678, "e2m1") == (0x1256, 0x3478)
    assert random_bits_of_four(0x00010003, "e4m3") == (0x8000, 0x0001, 0xC000, 0x0003)
    assert random_bits_of_four(0x00010003, "e4m3", reverses_first=False) == (1, 1, 3, 3)


@pytest.mark.parametrize(
    ("value", "down", "up"),
    [(1.0, 127, 127), (1.5, 127, 128), (-3.0, 128, 129), (0.0, 0, 0), (2.0**-140, 0, 0), (1.5 * 2**-127, 0, 1)],
)
def test_powers_of_two(value: float, down: int, up: int) -> None:
    assert (to_ue8m0(f32(value), "rz"), to_ue8m0(f32(value), "rp")) == (down, up)


def test_powers_of_two_at_the_end() -> None:
    beyond = f32(1.5 * 2.0**127)
    assert [to_ue8m0(beyond, "rz"), to_ue8m0(beyond, "rp", satfinite=True), to_ue8m0(beyond, "rp")] == [254, 254, 255]
    assert to_ue8m0(0x7FC00000, "rz", satfinite=True) == 255


def test_powers_of_two_as_bf16() -> None:
    for code, value in enumerate(values("ue8m0")[:255]):
        assert as_float(ue8m0_to_bf16(code) << 16) == value
    assert math.isnan(as_float(ue8m0_to_bf16(255) << 16))


def test_packing() -> None:
    assert pack((0x1, 0x2, 0x3, 0x4), "e2m1") == 0x1234
    assert pack((0x1, 0x2), "e3m2") == 0x0102
    assert [from_a_byte("e2m1", in_a_byte("e2m1", code)) for code in range(16)] == list(range(16))
    assert in_a_byte("e2m1", 0xF) == 0b00111100 and from_a_byte("e3m2", 0xFF) == 0x3F
    assert read_tf32(0x3F801FFF) == 0x3F800000


@pytest.mark.parametrize("block", [(0, 0, 0), (0x7FFFFFFF, 65535, 65535), (1, 2, 3), None])
def test_responses_are_read_as_written(block: tuple[int, int, int] | None) -> None:
    response = Response(block)
    assert Response.decode(response.encode()) == response
    assert may_request_again(response) is (block is not None) and may_request_again(None)


def test_fields_of_a_response() -> None:
    assert list(np.frombuffer(Response((1, 2, 3)).encode(), np.uint32)) == [1, 0x0003_0002, 1, 0]
