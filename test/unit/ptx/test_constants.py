"""Constants and constant expressions of PTX."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutecc.ptx.constants import parse_constant
from cutecc.ptx.syntax import Immediate


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-1", -1),
        ("0x7fU", 0x7F),
        ("0XFF", 255),
        ("0b101", 5),
        ("017", 15),
        ("42U", 42),
        ("(1 << 4) | 2", 18),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("~0", -1),
        ("!5", 0),
        ("2 + 3 * 4", 14),
        ("10 - 4 - 3", 3),
        ("WARP_SZ * 4", 128),
        ("3 < 4 && 4 <= 4 && 5 != 6", 1),
        ("0xf0 ^ 0xff & 0x0f", 0xFF),
    ],
)
def test_integers(text: str, value: int) -> None:
    assert parse_constant(text) == Immediate("integer", value)


@pytest.mark.parametrize(
    ("text", "kind", "bits"),
    [
        ("0f3F800000", "f32", 0x3F800000),
        ("0F7f800000", "f32", 0x7F800000),
        ("-0f3F800000", "f32", 0xBF800000),
        ("0dBFF0000000000000", "f64", 0xBFF0000000000000),
        ("1.5", "f64", 0x3FF8000000000000),
        ("-2.5e-1", "f64", 0xBFD0000000000000),
        ("1e3", "f64", 0x408F400000000000),
        (".5", "f64", 0x3FE0000000000000),
    ],
)
def test_floats(text: str, kind: str, bits: int) -> None:
    found = parse_constant(text)
    assert found is not None
    assert (found.kind, found.bits) == (kind, bits)


@pytest.mark.parametrize("text", ["", "x", "09", "1 +", "(1", "1)", "1 / 0", "0f3F8", "--", "1 2", "(" * 5000 + "1"])
def test_what_is_no_constant(text: str) -> None:
    assert parse_constant(text) is None


@given(st.integers(-(2**63), 2**64 - 1), st.sampled_from(["d", "#x", "#b", "0o"]))
def test_integers_in_every_base(value: int, base: str) -> None:
    digits = format(abs(value), base) if base != "0o" else f"0{abs(value):o}"
    assert parse_constant("-" * (value < 0) + digits) == Immediate("integer", value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_decimals_are_the_nearest_double(value: float) -> None:
    text = repr(value)
    assert parse_constant(text) == Immediate("f64", int.from_bytes(struct.pack(">d", value)))
