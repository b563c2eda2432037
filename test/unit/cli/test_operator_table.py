"""The table of operators: whole without a width, and readable in the width of a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import CUTECC
from hypothesis import given
from hypothesis import strategies as st
from terminals import on_a_terminal

from cutecc.cli.operator_table import HEADINGS, Row, row_of, shortened, table_lines


def row(stages: int, layouts: str = "ttt", tail: str = "") -> Row:
    name = f"cutecc.gemm_sm80_f16_f16_f16_f32_{layouts}_128x256x64_s{stages}_tensor_op_16x8x16_w2x4x1{tail}_nosource"
    return "f16,f16,f16,f32", layouts, "128x256x64", "1x1x1", "16", name


ROWS = [row(4), row(3), row(4, "ttn"), row(3, "ttn")]


@pytest.mark.parametrize("columns", [None, 200])
def test_where_there_is_room_all_of_it_is_there(columns: int | None) -> None:
    lines = table_lines(ROWS, columns)
    assert [tuple(line.split()) for line in lines] == [HEADINGS, *ROWS]
    names = ["operator", *(each[-1] for each in ROWS)]
    assert len({line.index(name) for line, name in zip(lines, names, strict=True)}) == 1


def test_a_narrow_terminal() -> None:
    """Columns go until names that are cut leave rows different."""
    assert table_lines(ROWS[:2], 80) == [
        "layouts  tile        align  operator",
        "ttt      128x256x64  16     cutecc.…_s4_tensor_op_16x8x16_w2x4x1_nosource",
        "ttt      128x256x64  16     cutecc.…_s3_tensor_op_16x8x16_w2x4x1_nosource",
    ]
    assert table_lines(ROWS, 80) == [
        "layouts  tile        align  operator",
        "ttt      128x256x64  16     cutecc.…_s4_tensor_op_16x8x16_w2x4x1_nosource",
        "ttt      128x256x64  16     cutecc.…_s3_tensor_op_16x8x16_w2x4x1_nosource",
        "ttn      128x256x64  16     cutecc.…_s4_tensor_op_16x8x16_w2x4x1_nosource",
        "ttn      128x256x64  16     cutecc.…_s3_tensor_op_16x8x16_w2x4x1_nosource",
    ]
    assert table_lines(ROWS, 50)[:2] == ["operator", "cutecc.…_s4_tensor_op_16x8x16_w2x4x1_nosource"]


@given(st.lists(st.builds(row, st.integers(2, 9), st.sampled_from(["ttt", "tnt"])), unique=True), st.integers(60, 250))
def test_any_width_has_every_row_and_tells_them_apart(rows: list[Row], columns: int) -> None:
    lines = table_lines(rows, columns)
    assert len({*lines}) == len(rows) + 1
    assert all(len(line) <= columns for line in lines)


def test_short_names_stay_whole() -> None:
    assert shortened("example.F64_tnt", 15) == "example.F64_tnt"
    assert shortened("example.F64Gemm_tnt_tile8x32", 20) == "example.…_tile8x32"
    assert shortened("example.F64Gemm_tnt", 3) == "example.…t"


def test_what_an_operator_does_not_say() -> None:
    facts = {
        "a.dtype": "f64",
        "a.layout": "column",
        "b.layout": "row",
        "a.alignment": 8,
        "out.alignment": 16,
        "name": "x",
    }
    assert row_of(facts) == ("f64,-,-,-", "nt-", "-", "-", "8,-,16", "x")


@pytest.mark.torch
def test_a_terminal_has_lines_that_fit(tmp_path: Path) -> None:
    arguments = ["operators", "--target", "sm_80", "--gemm", "100x104x96:f16", "--where", "provider=cutedsl"]
    status, text = on_a_terminal(CUTECC, arguments, tmp_path, errors=False, COLUMNS="80")
    assert status == 0
    lines = text.splitlines()
    assert all(len(line) <= 80 for line in lines)
    rows = [line for line in lines if "cutedsl.…" in line]
    assert len({*rows}) == len(rows) > 10
    assert "… stands for the rest of a name: --json has it, and so does a pipe" in lines
    reason = next(number for number, line in enumerate(lines) if "is unsupported" in line)
    assert lines[reason + 1].startswith(" " * 9)
