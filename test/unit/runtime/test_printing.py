"""Formats of host programs against the C library's."""

from __future__ import annotations

import ctypes
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutecc.runtime.program.printing import WIDEST, formatter, parse_format

C_TYPES = {"i8": ctypes.c_int, "i32": ctypes.c_int, "i64": ctypes.c_int64, "f64": ctypes.c_double}


def c_prints(text: str, type_: str, value: int | float) -> str:
    library = ctypes.CDLL(None)
    buffer = ctypes.create_string_buffer(4096)
    library.snprintf(buffer, len(buffer), text.encode(), C_TYPES[type_](value))
    return buffer.value.decode("latin-1")


flags = st.lists(st.sampled_from("-+ #0"), max_size=3, unique=True).map("".join)
width = st.sampled_from(["", "1", "7", "20"])
precision = st.sampled_from(["", ".", ".0", ".3", ".12"])


@given(flags, width, precision, st.sampled_from("diuxXo"), st.integers(0, 2**64 - 1), st.data())
@settings(max_examples=150, deadline=None)
def test_integers(flags: str, width: str, precision: str, letter: str, value: int, data: st.DataObject) -> None:
    type_, lengths = data.draw(st.sampled_from([("i32", ["", "h", "hh"]), ("i64", ["l", "ll", "z", "j"])]))
    value = data.draw(st.sampled_from([value, 0, 1, 2**31, 2**32 - 1])) % 2 ** int(type_[1:])
    text = f"<%{flags}{width}{precision}{data.draw(st.sampled_from(lengths))}{letter}>"
    assert formatter(text, [type_])(value) == c_prints(text, type_, value)


@given(flags, width, precision, st.sampled_from("eEfFgG"), st.floats())
@settings(max_examples=150, deadline=None)
def test_floats(flags: str, width: str, precision: str, letter: str, value: float) -> None:
    if math.isnan(value):
        value = math.nan
    text = f"<%{flags}{width}{precision}{letter}>"
    assert formatter(text, ["f64"])(value) == c_prints(text, "f64", value)


@pytest.mark.parametrize(("text", "value"), [("%p", 0), ("%p", 0x7F00_0000_1000), ("%20p", 255), ("%-20p|", 0)])
def test_pointers(text: str, value: int) -> None:
    assert formatter(text, ["i64"])(value) == c_prints(text, "i64", value)


def test_characters_and_percent_signs() -> None:
    assert formatter("%c%3c%-3c|100%%", ["i32", "i8", "i32"])(65, 66, 67 + 256) == "A  BC  |100%"


def test_operands_are_read_as_their_own_type_first() -> None:
    assert formatter("%d", ["i8"])(0xFF) == "-1"
    assert formatter("%u", ["i8"])(0xFF) == "255"
    assert formatter("%d", ["i1"])(1) == "1"
    assert formatter("%d", ["i64"])(2**32 + 5) == "5"
    assert formatter("%lld", ["i32"])(2**32 - 5) == "-5"


@pytest.mark.parametrize("text", ["%s", "%n", "%*d", "%.*f", "%", "%ls", "%5", "%a", f"%{WIDEST + 1}d", "%.99999f"])
def test_formats_that_host_programs_do_not_have(text: str) -> None:
    with pytest.raises(ValueError, match=r"conversion|width"):
        parse_format(f"before {text}")
