"""Operands: what each form is, and that printing and parsing one gives it back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutecc.ptx.operands import SPECIAL_REGISTERS, OperandError, parse_operand, split_operands
from cutecc.ptx.syntax import (
    Address,
    Immediate,
    Not,
    Operand,
    Pair,
    Register,
    Sink,
    Special,
    Symbol,
    Vector,
)

REGISTERS = {name: Register(name) for name in ("%r1", "%r2", "%rd1", "%p1", "%p2", "P1", "bits")}
NAMES = {**REGISTERS, "tile": Symbol("tile"), "$L__BB0_1": Symbol("$L__BB0_1")}


def parse(text: str) -> Operand:
    return parse_operand(text, NAMES.get)


@pytest.mark.parametrize(
    ("text", "operand"),
    [
        ("%r1", Register("%r1")),
        ("bits", Register("bits")),
        ("%tid.x", Special("%tid.x")),
        ("%clock64", Special("%clock64")),
        ("_", Sink()),
        ("tile", Symbol("tile")),
        ("tile+16", Symbol("tile", 16)),
        ("vprintf", Symbol("vprintf")),
        ("WARP_SZ", Immediate("integer", 32)),
        ("!%p1", Not(Register("%p1"))),
        ("%p1|%p2", Pair(Register("%p1"), Register("%p2"))),
        ("%r1 | P1", Pair(Register("%r1"), Register("P1"))),
        ("_|%p2", Pair(Sink(), Register("%p2"))),
        ("1|2", Immediate("integer", 3)),
        ("{%r1, 4, _}", Vector((Register("%r1"), Immediate("integer", 4), Sink()))),
        ("[%rd1]", Address(Register("%rd1"))),
        ("[ %rd1 + 16 ]", Address(Register("%rd1"), 16)),
        ("[%rd1+-32]", Address(Register("%rd1"), -32)),
        ("[%rd1-0x10]", Address(Register("%rd1"), -16)),
        ("[tile+4*8]", Address(Symbol("tile"), 32)),
        ("[1024]", Address(Immediate("integer", 1024))),
        ("[%rd1, {%r1, %r2}]", Address(Register("%rd1"), 0, Vector((Register("%r1"), Register("%r2"))))),
    ],
)
def test_forms(text: str, operand: Operand) -> None:
    assert parse(text) == operand


@pytest.mark.parametrize(
    "text",
    ["%r99", "%tid.q", "[%rd1", "[]", "[%tid.x]", "!tile", "%r1 %r2", "%r1|", "[%rd1, %r1]", "-%r1", "%r1+4"],
)
def test_what_is_no_operand(text: str) -> None:
    with pytest.raises(OperandError):
        parse(text)


@pytest.mark.parametrize(
    "name",
    [
        *("%tid.w", "%cluster_nctaid.z", "%nwarpid", "%lanemask_gt", "%clock_hi", "%globaltimer_hi"),
        *("%pm0", "%pm7", "%pm7_64", "%envreg31", "%reserved_smem_offset_1", "%dynamic_smem_size"),
    ],
)
def test_special_registers(name: str) -> None:
    assert parse(name) == Special(name)


@pytest.mark.parametrize("name", ["%pm8", "%pm8_64", "%envreg32", "%tid.v", "%lanemask_ne"])
def test_what_is_no_special_register(name: str) -> None:
    with pytest.raises(OperandError, match="is no special register"):
        parse(name)


def test_splitting_at_commas_outside_of_brackets() -> None:
    assert split_operands("{%r1, %r2}, [%rd1, {%r1}], (a, (b)), 3") == [
        "{%r1, %r2}",
        "[%rd1, {%r1}]",
        "(a, (b))",
        "3",
    ]
    for wrong in ("a, {b", "a]", "[a}, b", ",", "a,,{b}"):
        with pytest.raises(OperandError):
            [parse(piece) for piece in split_operands(wrong)]


# Print → parse.


def printed(operand: Operand) -> str:
    match operand:
        case Register(name) | Special(name):
            return name
        case Immediate("integer", bits):
            return str(bits)
        case Immediate("f32", bits):
            return f"0f{bits:08X}"
        case Immediate(_, bits):
            return f"0d{bits:016X}"
        case Symbol(name, offset):
            return f"{name}+{offset}" if offset else name
        case Vector(items):
            return "{" + ", ".join(map(printed, items)) + "}"
        case Pair(first, second):
            return f"{printed(first)}|{printed(second)}"
        case Not(register):
            return f"!{register.name}"
        case Sink():
            return "_"
        case Address(base, offset, coordinates):
            end = f", {printed(coordinates)}" if coordinates else ""
            return f"[{printed(base)}{f'+{offset}' if offset else ''}{end}]"
        case _:
            raise AssertionError(operand)


registers = st.sampled_from(list(REGISTERS.values()))
immediates = st.one_of(
    st.builds(Immediate, st.just("integer"), st.integers(-(2**63), 2**64 - 1)),
    st.builds(Immediate, st.just("f32"), st.integers(0, 2**32 - 1)),
    st.builds(Immediate, st.just("f64"), st.integers(0, 2**64 - 1)),
)
offsets = st.integers(-(2**31), 2**31)
symbols = st.builds(Symbol, st.sampled_from(["tile", "$L__BB0_1", "elsewhere"]), offsets)
specials = st.builds(Special, st.sampled_from(sorted(SPECIAL_REGISTERS)))
vectors = st.builds(
    Vector, st.lists(st.one_of(registers, immediates, st.just(Sink())), min_size=1, max_size=8).map(tuple)
)
bases = st.one_of(registers, st.just(Symbol("tile")))
operands = st.one_of(
    *(registers, immediates, symbols, specials, vectors),
    st.builds(Not, registers),
    st.builds(Pair, st.one_of(registers, st.just(Sink())), registers),
    st.builds(Address, bases, offsets, st.one_of(st.none(), vectors)),
    st.just(Sink()),
)


@given(st.lists(operands, max_size=5))
def test_printed_operands_parse_to_themselves(operands: list[Operand]) -> None:
    text = ", ".join(map(printed, operands))
    assert [parse(piece) for piece in split_operands(text)] == operands


@given(st.text(alphabet="%r1[]{}(),|!+-0x_.fP ", max_size=30))
def test_any_text_is_operands_or_an_error(text: str) -> None:
    try:
        for piece in split_operands(text.strip()):
            parse(piece)
    except OperandError as error:
        assert str(error)
