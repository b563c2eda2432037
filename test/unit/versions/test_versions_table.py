"""What `cutecc versions` prints and its page shows, of comparisons made by hand: on terminals of every width."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from versions_made import cell, comparison, measures

from cutecc.cli.versions_table import show, show_breaches
from cutecc.versions.changes import Change, LineChange
from cutecc.versions.comparison import Cell, ColumnFacts, Comparison
from cutecc.versions.conditions import Breach, Checked, Unchecked
from cutecc.versions.modules import PassPlace
from cutecc.versions.words import cell_text, change_lines, norm_text

NAMES = [
    *("4.6.3", "4.7.1", "4.8.0[cu13]", "4.8.1", "4.8.1[cu13]"),
    *("open --opt-level 1 --without loop-invariant-code-motion", "git:feature/my-long-branch-name~3", "mine"),
]
WIDE, NARROW = {"global load": {"128": 12}}, {"global load": {"128": 4, "32": 8}}


def of(count: int, kernels: int = 1) -> Comparison:
    """That many columns with numbers of every kind."""
    cells = [
        cell(
            registers=100 + 13 * number * (-1) ** number,
            spill_bytes=12 * number,
            shared_bytes=232448,
            classes={"integer": 100 + number, "global load 128": 4},
            widths=NARROW if number % 2 else WIDE,
            results="same bits" if number else "reference",
            microseconds=1000.0 + 100 * number,
            compile_seconds=1.0,
        )
        for number in range(count)
    ]
    return comparison(NAMES[:count], *[cells] * kernels)


def printed(capsys: pytest.CaptureFixture[str], made: Comparison, *, verbose: bool = False) -> str:
    show(made, verbose=verbose)
    return capsys.readouterr().out


# cells


@pytest.mark.parametrize(
    "before, now, text",
    [
        (cell(), cell(), "the same numbers"),
        (cell(), cell(registers=40), "✗ registers 24 → 40"),
        (cell(), cell(registers=16), "✓ registers 24 → 16"),
        (cell(widths=WIDE), cell(widths=NARROW), "✗ global-load-width 128 → 64 bits"),
        (cell(classes={"matrix": 4}), cell(classes={"matrix": 4}), "the same numbers"),
        (cell(classes={"move": 4}), cell(classes={"integer": 4}), "● instructions some → others, as many"),
        (cell(spill_bytes=None), cell(spill_bytes=8), "the same numbers"),
        (cell(), cell(results="differs"), "✗ results differs"),
        (cell(), cell(results="in bounds"), "● results in bounds"),
        (cell(microseconds=100.0), cell(microseconds=104.0), "the same numbers"),
        (cell(microseconds=100.0), cell(microseconds=106.0), "✗ time 100.0 → 106.0 µs"),
        (cell(microseconds=100.0), cell(microseconds=90.0), "✓ time 100.0 → 90.0 µs"),
        (cell(), None, "✗ not there"),
        (None, None, "not there"),
        (cell(), cell(failure="no"), "✗ does not compile"),
        (None, cell(), "24 registers, 0 B spills, ? instructions"),
        (cell(failure="no"), cell(), "24 registers, 0 B spills, ? instructions"),
        (
            cell(),
            cell(functions={"k": measures(), "l": measures()}),
            "● l: kernel not there → there",
        ),
        (cell(functions={"k": measures(), "l": measures()}), cell(), "● l: kernel there → gone"),
    ],
)
def test_what_a_cell_says(before: Cell | None, now: Cell | None, text: str) -> None:
    assert cell_text(before, now) == text


def test_what_the_first_column_says() -> None:
    assert norm_text(None) == "not there"
    assert norm_text(cell(failure="no")) == "✗ does not compile"
    assert norm_text(cell(functions={})) == "compiles"
    assert norm_text(cell(microseconds=3.0, classes={"move": 7})) == "24 registers, 0 B spills, 7 instructions; 3.0 µs"
    two = norm_text(cell(functions={"k": measures(), "l": measures()}))
    assert two.startswith("k: 24 registers")
    assert "; l: 24 registers" in two


# tables


@pytest.mark.parametrize("width", [60, 80, 120, 200])
@pytest.mark.parametrize("columns", [2, 3, 8])
@pytest.mark.parametrize("kernels", [1, 3])
def test_tables_fit_and_nothing_is_cut(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int, columns: int, kernels: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    text = printed(capsys, of(columns, kernels))
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    for number in range(1, columns):
        registers = 100 + 13 * number * (-1) ** number
        assert re.search(rf"\b{registers}\b", text)
    assert "\x1b" not in text


def test_without_a_terminal_there_is_one_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    text = printed(capsys, of(8))
    (line,) = [line for line in text.splitlines() if line.startswith("registers")]
    assert len(re.findall(r"[✓✗]", line)) == 7


def test_on_a_narrow_terminal_each_table_has_the_first_column(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = [line for line in printed(capsys, of(8)).splitlines() if line.startswith("registers")]
    assert len(lines) > 1
    assert all(line.split()[1] == "100" for line in lines)
    assert sum(len(re.findall(r"[✓✗]", line)) for line in lines) == 7


def test_numbers_say_what_changed_and_which_way(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, of(2))
    rows = {line.split("  ")[0]: line for line in text.splitlines()}
    assert re.search(r"100 +✓ 87 \(-13\)$", rows["registers"])
    assert re.search(r"0 B +✗ 12 B \(\+12\)$", rows["spills"])
    assert re.search(r"128 ×12 +✗ 128 ×4, 32 ×8$", rows["global load, bits"])
    assert re.search(r"reference +same bits$", rows["results"])


def test_functions_have_headings_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    two = cell(functions={"first": measures(), "second": measures(registers=80)})
    lines = [line.strip() for line in printed(capsys, comparison(["a", "b"], [two, two])).splitlines()]
    assert lines.index("first") < lines.index("second")


def test_verbose_prints_every_kernels_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, of(2, 3)).count("barrier instructions") == 0
    assert printed(capsys, of(2, 3), verbose=True).count("barrier instructions") == 3


def test_failures_and_problems_stand_out(capsys: pytest.CaptureFixture[str]) -> None:
    made = comparison(["a", "b"], [cell(), cell(failure="cse: no")], [cell(), cell(problems=["M=3: y is off"])])
    made.columns[1] = ColumnFacts("b", failure="the process ended with SIGSEGV\nFatal")
    lines = printed(capsys, made).splitlines()
    assert "✗ b: the process ended with SIGSEGV" in lines
    assert "  Fatal" in lines
    assert "✗ k sm_80, b: cse: no" in lines
    assert "✗ k1 sm_80, b: M=3: y is off" in lines


def test_what_others_wrote_cannot_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    made = comparison(["a", "b"], [cell(), cell(failure="\x1b[2Jboo")])
    assert "\x1b" not in printed(capsys, made)


def outcome(breaches: Sequence[Breach] = (), unchecked: Sequence[Unchecked] = ()) -> Checked:
    return Checked([], [], breaches=[*breaches], unchecked=[*unchecked])


def test_breaches(capsys: pytest.CaptureFixture[str]) -> None:
    found = [Breach("registers>", "k sm_80", "b", "k: registers 40"), Breach("compiles", "", "b", "died\nFatal")]
    show_breaches(outcome(found), asked=True)
    assert capsys.readouterr().out == "✗ registers>: k sm_80, b: k: registers 40\n✗ compiles: b: died\n  Fatal\n"
    show_breaches(outcome(), asked=True)
    assert capsys.readouterr().out == "no condition of --fail-on holds\n"
    show_breaches(outcome(), asked=False)
    assert capsys.readouterr().out == ""


def test_what_is_not_known_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    show_breaches(outcome([], [Unchecked("results", "k sm_80", "b", "it was not run")]), asked=True)
    assert capsys.readouterr().out == (
        "? results: k sm_80, b: it was not run\nno condition of --fail-on holds, as far as is known\n"
    )


# where they part

PLACE = PassPlace("cse#2", None, "k", "arith.addi", "/deep/k.py:7")


@pytest.mark.parametrize(
    "fields, lines",
    [
        (
            {"first": PLACE, "since": PLACE, "same_code": False},
            [
                "modules first differ after cse#2: arith.addi in k at k.py:7",
                "kernels differ for good from cse#2 on: arith.addi in k at k.py:7",
            ],
        ),
        (
            {"first": PLACE, "since": None, "same_code": True},
            [
                "modules first differ after cse#2: arith.addi in k at k.py:7",
                "kernels are the same again when code is generated",
                "machine code is the same, but for registers, addresses and order",
            ],
        ),
        (
            {"same_ptx": True, "same_code": False},
            ["machine code differs: the assembler makes other code of the same PTX"],
        ),
        (
            {"first": PLACE, "since": PLACE, "same_code": True},
            [
                "modules first differ after cse#2: arith.addi in k at k.py:7",
                "machine code is the same, but for registers, addresses and order",
            ],
        ),
        ({"same_ptx": False, "same_code": False}, ["machine code differs: the code generator does it"]),
        ({"same_code": None}, ["machine code is not compared: there is none of one of them"]),
        (
            {"first": PassPlace("x", "b"), "since": None, "same_code": True},
            [
                "modules first differ after x (only in b): its attributes",
                "kernels are the same again when code is generated",
                "machine code is the same, but for registers, addresses and order",
            ],
        ),
    ],
)
def test_where_columns_part_in_words(fields: dict[str, Any], lines: list[str]) -> None:
    known: dict[str, Any] = {"first": None, "since": None, "same_ptx": None, "lines": []}
    assert [*change_lines(Change("b", **{**known, **fields}))] == lines


def with_lines(count: int) -> Comparison:
    made = of(2)
    lines = [
        LineChange(
            "/deep/k.py", line, f"y = x * {'long' * 40}", {f"LDG.{n} R": n + 1 for n in range(9)}, {"EXIT": 1}, "cse"
        )
        for line in range(1, count + 1)
    ]
    made.rows[0] = msgspec.structs.replace(made.rows[0], changes=[Change("4.7.1", PLACE, PLACE, lines, False, False)])
    return made


def test_lines_that_differ(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = printed(capsys, with_lines(8))
    assert max(map(len, text.splitlines())) <= 80
    assert "k sm_80: 4.7.1 beside 4.6.3" in text
    assert text.count("since cse") == 5
    assert "  3 lines more: --verbose" in text
    assert "  -45 +1  k.py:1 since cse  y = x * long" in text
    assert "      - LDG.0 R\n      - LDG.1 R  ×2\n" in text
    assert "      - 3 more\n      + EXIT\n" in text
    assert "✗ worse than in the first column, ✓ better, ● different" in text


def test_verbose_shows_every_line_and_instruction(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, with_lines(8), verbose=True)
    assert text.count("since cse") == 8
    assert text.count("- LDG.8 R  ×9") == 8
    assert " more" not in text
