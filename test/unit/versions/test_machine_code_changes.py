"""SASS without what numbers it, and the lines whose code differs."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutecc.record import Compilation, Versions
from cutecc.report.frames import Line
from cutecc.sass import SassFunction, SassInstruction
from cutecc.support.locations import Frame
from cutecc.versions import machine_code
from cutecc.versions.machine_code import code_changes, plain_instruction
from cutecc.versions.sources import Sources


@pytest.mark.parametrize(
    "text, plain",
    [
        ("IMAD.WIDE R2, R7, 0x4, R14", "IMAD.WIDE R, R, 0x4, R"),
        ("@!P0 BRA `(.L_x_5)", "@!P BRA `()"),
        ("FFMA.FTZ R4, R4.reuse, R5, -R6", "FFMA.FTZ R, R, R, -R"),
        ("LDG.E.128 R4, desc[UR4][R2.64+0x10]", "LDG.E.128 R, desc[][R.64]"),
        ("LDG.E R4, desc[UR4][R2.64+-0x10]", "LDG.E R, desc[][R.64]"),
        ("STS [R3+UR4+0x40], R5", "STS [R+UR], R"),
        ("ULDC.64 UR4, c[0x0][0x208]", "ULDC.64 UR, c[][]"),
        ("ISETP.GE.AND P0, PT, R0, UR4, PT", "ISETP.GE.AND P, PT, R, UR, PT"),
        ("BSSY B0, `(.L_x_1)", "BSSY B, `()"),
        ("S2R R0, SR_TID.X", "S2R R, SR_TID.X"),
        ("S2UR UR5, SR_CTAID.X", "S2UR UR, SR_CTAID.X"),
        ("CS2R R4, SRZ", "CS2R R, SRZ"),
        ("HGMMA.64x64x16.F32 R24, gdesc[UR8], R24, gsb0", "HGMMA.64x64x16.F32 R, gdesc[UR], R, gsb0"),
        ("UIADD3.X UR5, UR5, UR7, URZ, UP0, !UPT", "UIADD3.X UR, UR, UR, URZ, UP, !UPT"),
        ("MOV R1, 0xff800000", "MOV R, 0xff800000"),
        ("LEA.HI.X R3, R7, UR5, R8, 0x2, P0", "LEA.HI.X R, R, UR, R, 0x2, P"),
        ("HADD2.F32 R3, -RZ, R3.H0_H0", "HADD2.F32 R, -RZ, R.H0_H0"),
    ],
)
def test_plain_instructions(text: str, plain: str) -> None:
    assert plain_instruction(text) == plain


registers = st.builds("{}{}".format, st.sampled_from(["R", "UR", "P", "UP", "B"]), st.integers(0, 255))
operands = st.one_of(
    registers,
    st.builds(
        "{}{}{}".format, st.sampled_from(["-", "|", "!", "~"]), registers, st.sampled_from(["", ".reuse", ".64", ".H1"])
    ),
    st.builds("c[0x{:x}][0x{:x}]".format, st.integers(0, 4), st.integers(0, 4096)),
    st.builds(
        "desc[{}][{}.64+{}0x{:x}]".format, registers, registers, st.sampled_from(["", "-"]), st.integers(1, 4096)
    ),
    st.builds("[{}+{}+0x{:x}]".format, registers, registers, st.integers(1, 4096)),
    st.builds("`(.L_x_{})".format, st.integers(0, 99)),
    st.builds("0x{:x}".format, st.integers(0, 1 << 32)),
    st.sampled_from(["RZ", "URZ", "PT", "UPT", "SR_TID.X", "SRZ", "gsb0", "1", "-INF"]),
)
instructions = st.builds(
    "{}{} {}".format,
    st.sampled_from(["", "@P3 ", "@!UP0 "]),
    st.sampled_from(["IMAD.WIDE.U32", "R2UR", "LDG.E.128", "P2R", "I2F.U16", "B2R", "HMMA.16816.F32"]),
    st.lists(operands, max_size=5).map(", ".join),
)


@given(instructions)
def test_what_is_plain_stays_as_it_is(text: str) -> None:
    assert plain_instruction(plain_instruction(text)) == plain_instruction(text)


@given(instructions, st.integers(1, 200))
def test_which_registers_and_addresses_never_matters(text: str, shift: int) -> None:
    other = re.sub(r"\b(U?[RPB])(\d+)\b", lambda match: f"{match[1]}{int(match[2]) + shift}", text)
    other = re.sub(r"\.L_x_\d+", f".L_x_{shift}", other).replace(".reuse", "")
    other = re.sub(r"\+(-?)0x[0-9a-f]+", f"+\\g<1>0x{shift:x}", other)
    assert plain_instruction(other) == plain_instruction(text)


@given(instructions)
def test_opcodes_and_numbers_of_registers_always_matter(text: str) -> None:
    plain = plain_instruction(text)
    assert plain.split(" ")[plain.startswith("@")] == text.split(" ")[text.startswith("@")]
    assert plain.count(", ") == text.count(", ")


# by line


def listing(*lines: tuple[str, int]) -> list[SassFunction]:
    """A function of instructions, each with its line of `/k.py`, 0 for none."""
    made = [
        SassInstruction(number, 16 * number, text, (Frame("/k.py", line, 1),) if line else None)
        for number, (text, line) in enumerate(lines)
    ]
    return [SassFunction("k", 0, 0, made)]


def changes(
    monkeypatch: pytest.MonkeyPatch, before: list[SassFunction], after: list[SassFunction], *texts: str
) -> list[tuple[Line, dict[str, int], dict[str, int]]] | None:
    a, b = (Compilation(name, "sm_80", "", Versions("0", "3", "4", "own")) for name in "ab")
    monkeypatch.setattr(machine_code, "functions_of", lambda record: before if record is a else after)  # pyright: ignore[reportUnknownLambdaType]
    sources = Sources(*({"/k.py": text} for text in texts or ("a\nb\nc\n", "a\nb\nc\n")))
    return code_changes(a, b, sources)


def test_other_registers_and_another_order_are_no_change(monkeypatch: pytest.MonkeyPatch) -> None:
    before = listing(("FADD R1, R2, R3", 1), ("EXIT", 2), ("NOP", 0))
    after = listing(("NOP", 0), ("EXIT", 2), ("FADD R9, R8, R7", 1))
    assert changes(monkeypatch, before, after) == []


def test_only_what_is_more_or_less_is_told_most_first(monkeypatch: pytest.MonkeyPatch) -> None:
    before = listing(("LDG.E.128 R0, [R2]", 1), ("FADD R1, R2, R3", 2), ("NOP", 0))
    after = listing(*[("LDG.E R0, [R2]", 1)] * 4, ("FADD R1, R2, R3", 2), ("FADD R1, R2, R3", 2))
    assert changes(monkeypatch, before, after) == [
        (("/k.py", 1), {"LDG.E.128 R, [R]": 1}, {"LDG.E R, [R]": 4}),
        (("", 0), {"NOP": 1}, {}),
        (("/k.py", 2), {}, {"FADD R, R, R": 1}),
    ]


def test_lines_that_an_edit_moved_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = listing(("NOP", 2), ("EXIT", 3)), listing(("NOP", 3), ("EXIT", 4), ("BRA `(x)", 2))
    assert changes(monkeypatch, before, after, "a\nb\nc\n", "a\nnew\nb\nc\n") == [(("/k.py", 2), {}, {"BRA `()": 1})]


@pytest.mark.parametrize("move", ["MOV R4, ", "IMAD.MOV.U32 R4, RZ, RZ, ", "@P0 MOV R4, "])
def test_where_a_call_returns_to_is_an_address(monkeypatch: pytest.MonkeyPatch, move: str) -> None:
    call = ("CALL.REL.NOINC `($__internal_0_$div)", 1)
    before = listing((f"{move}0x20", 1), call, ("EXIT", 1))
    after = listing(("NOP", 2), (f"{move}0x30", 1), call, ("EXIT", 1))
    assert changes(monkeypatch, before, after) == [(("/k.py", 2), {}, {"NOP": 1})]
    elsewhere = listing(("NOP", 2), (f"{move}0x40", 1), call, ("EXIT", 1))
    found = changes(monkeypatch, before, elsewhere)
    assert found is not None
    assert [line for line, _, _ in found] == [("/k.py", 1), ("/k.py", 2)]
