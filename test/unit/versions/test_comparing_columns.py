"""Columns set side by side: what fails stays in its column, and baselines are found by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from versions_made import cell, comparison, measures

from cutecc.config import Settings
from cutecc.errors import UsageError
from cutecc.record import Compilation, Failure, Versions
from cutecc.versions import comparison as comparing
from cutecc.versions.changes import Change, LineChange
from cutecc.versions.columns import Column
from cutecc.versions.comparison import (
    Cell,
    ColumnFacts,
    Comparison,
    Filled,
    How,
    compare_columns,
    fill,
    read_comparison,
    with_baseline,
)
from cutecc.versions.conditions import breaches, checked, json_schema, parse_conditions
from cutecc.versions.modules import PassPlace
from cutecc.versions.recording import Asked, Recorded

HOW = How(Settings())
ASKED = Asked(("k.py",))


def record(name: str = "k", target: str = "sm_80", **fields: Any) -> Compilation:
    return Compilation(
        name, target, "cse", Versions("0", "3", "4", "own"), **{"status": "ok", "source": "k.py", **fields}
    )


def filled(*columns: dict[str, Compilation]) -> list[Filled]:
    return [Filled(ColumnFacts(f"c{number}"), Recorded(each)) for number, each in enumerate(columns)]


# filling


def refusing(monkeypatch: pytest.MonkeyPatch, *names: str) -> list[Path]:
    """Have columns of these names refuse; returns where the others are compiled."""
    folders: list[Path] = []

    def recorded(column: Column, asked: Asked, tree: object, python: Path, folder: Path, *, jobs: int) -> Recorded:
        if column.name in names:
            raise UsageError(f"{column.name} refuses", hints=["ask another"])
        folders.append(folder)
        return Recorded({"sm_80": record()})

    monkeypatch.setattr(comparing, "record", recorded)
    return folders


def test_what_one_column_refuses_others_may_take(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    refusing(monkeypatch, "b")
    found = fill([Column("a"), Column("b")], ASKED, tmp_path, HOW)
    assert [each.facts.failure for each in found] == [None, "b refuses"]
    assert [each.facts.versions for each in found] == [record().versions, None]


def test_what_all_columns_refuse_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    refusing(monkeypatch, "a", "b")
    with pytest.raises(UsageError, match="a refuses") as caught:
        fill([Column("a"), Column("b")], ASKED, tmp_path, HOW)
    assert caught.value.hints == ["ask another"]


def test_options_that_a_column_refuses_are_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    refusing(monkeypatch, "b")
    with pytest.raises(UsageError, match="b refuses"):
        fill([Column("a"), Column("b", options=("--oops",))], ASKED, tmp_path, HOW)


def test_columns_have_folders_of_their_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folders = refusing(monkeypatch)
    names = ["open --opt-level 1", "open --opt-level=1", "x" * 100 + "y", "x" * 100 + "z"]
    fill([Column(name) for name in names], ASKED, tmp_path, HOW)
    assert len({*folders}) == 4


def test_environments_are_made_when_all_else_is_right(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made: list[object] = []
    monkeypatch.setattr(comparing, "make_environment", lambda *told: made.append(told))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="is in no git repository"):
        fill([Column("4.8.1", wheel="4.8.1"), Column("git:x", revision="x")], ASKED, tmp_path / "out", HOW)
    assert made == []


@pytest.mark.parametrize(
    "wheel, failure",
    [
        ("4.8.1[cu13]", "it compiles as cu12: there is no cu13, or the driver does not support it"),
        *[("4.8.1[cu12]", None), ("4.8.1", None), ("4.8.1[cutlass]", None)],
    ],
)
def test_another_flavour_than_asked_for_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wheel: str, failure: str | None
) -> None:
    made = record()
    made.versions = msgspec.structs.replace(made.versions, flavour="cu12")
    monkeypatch.setattr(comparing, "make_environment", lambda *_: Path("python"))
    monkeypatch.setattr(comparing, "record", lambda *_, **__: Recorded({"sm_80": made}))
    (found,) = fill([Column(wheel, wheel=wheel)], ASKED, tmp_path, HOW)
    assert found.facts.failure == failure


# rows


def test_kernels_are_in_the_order_of_the_columns_and_gaps_stay() -> None:
    found = compare_columns(filled({"a": record("a"), "b": record("b")}, {"b": record("b"), "c": record("c")}), HOW)
    assert [row.kernel for row in found.rows] == ["a", "b", "c"]
    assert [[cell is not None for cell in row.cells] for row in found.rows] == [
        [True, False],
        [True, True],
        [False, True],
    ]
    assert found.device is None


def test_failures_stay_in_their_cells() -> None:
    failed = record(status="failed", failure=Failure("cse", "no", "PassError"))
    (row,) = compare_columns(filled({"": record()}, {"": failed}, {"": record(status="running")}), HOW).rows
    assert [each and each.failure for each in row.cells] == [None, "cse: no", "running"]
    assert row.changes == []


def test_records_that_cannot_be_compared_have_a_note() -> None:
    (row,) = compare_columns(filled({"": record()}, {"": record()}), HOW).rows
    assert row.changes == []
    assert any("stages" in note or "modules" in note for note in row.notes)


def test_compile_time_is_of_all_that_was_done() -> None:
    (row,) = compare_columns(filled({"": record(seconds={"trace": 1.5, "passes": 0.5})}), HOW).rows
    assert row.cells[0] is not None
    assert row.cells[0].compile_seconds == 2.0


# baselines


def test_json_comes_back_as_it_was(tmp_path: Path) -> None:
    full = cell(widths={"global load": {"128": 4}}, results="reference", checksums=[{"y": "00"}], problems=["x"])
    made = comparison(["a", "b"], [full, None], [cell(failure="no"), full])
    file = tmp_path / "baseline.json"
    file.write_bytes(msgspec.json.encode(checked(made, parse_conditions("spills>0"))))
    assert read_comparison(file) == made


def test_what_a_later_cutecc_adds_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "baseline.json"
    made = comparison(["a"], [cell()])
    file.write_bytes(msgspec.json.encode({**msgspec.to_builtins(made), "new": 1}))
    assert read_comparison(file) == made


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "is no comparison"),
        ("[]", "is no comparison"),
        ('{"columns": [{"name": 3}], "rows": []}', "is no comparison"),
        ('{"columns": [], "rows": []}', "it has no columns"),
        (
            '{"columns": [{"name": "a"}], "rows": [{"kernel": "k", "target": "t", "source": null, "cells": []}]}',
            "a kernel has not one cell for each",
        ),
        ('{"columns": [{"name": "a"}], "rows": [], "format": 2}', "its format is 2, not 1"),
    ],
)
def test_what_is_no_comparison(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "baseline.json"
    file.write_text(text)
    with pytest.raises(UsageError, match=message):
        read_comparison(file)
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_comparison(tmp_path / "none.json")


def test_the_schema_is_of_what_is_written() -> None:
    schema = json_schema()
    assert {"columns", "rows", "breaches", "format"} <= schema["$defs"]["Checked"]["properties"].keys()


@pytest.mark.parametrize("names, position", [(["a", "b"], 0), (["b", "a"], 1), (["x", "y"], 1)])
def test_a_baselines_column_is_that_of_the_same_name_else_the_last(names: list[str], position: int) -> None:
    earlier = comparison(names, [cell(registers=1), cell(registers=2)])
    found = with_baseline(comparison(["a", "c"], [cell(), cell()]), earlier)
    assert [each.name for each in found.columns] == [f"baseline ({names[position]})", "a", "c"]
    first = found.rows[0].cells[0]
    assert first is not None
    assert first.functions["k"].registers == position + 1
    assert len(found.rows[0].cells) == 3


def test_kernels_that_a_baseline_does_not_have_are_noted() -> None:
    now = comparison(["a"], [cell()], [cell()])
    found = with_baseline(now, comparison(["a"], [cell()]))
    assert [row.notes for row in found.rows] == [[], ["the baseline does not have it"]]
    assert found.rows[1].cells[0] is None
    assert breaches(found, parse_conditions("registers>"), earlier=True) == []


def test_kernels_that_a_baseline_alone_has_are_missed_in_their_files() -> None:
    earlier = comparison(["a"], [cell()], [cell()], [cell()])
    earlier.rows[2] = msgspec.structs.replace(earlier.rows[2], source="elsewhere/other.py")
    found = with_baseline(comparison(["a"], [cell()]), earlier)
    assert [(row.kernel, [each is not None for each in row.cells]) for row in found.rows] == [
        ("k", [True, True]),
        ("k1", [True, False]),
    ]
    assert [each.text for each in breaches(found, [], earlier=True)] == ["it is not there"]


def test_kernels_are_found_wherever_their_file_is() -> None:
    earlier = comparison(["a"], [cell(registers=1)])
    earlier.rows[0] = msgspec.structs.replace(earlier.rows[0], source="/elsewhere/k.py")
    first = with_baseline(comparison(["a"], [cell()]), earlier).rows[0].cells[0]
    assert first is not None
    assert first.functions == {"k": measures(registers=1)}


@pytest.mark.parametrize(
    "before, now, result, expected",
    [
        ([{"y": "0"}], [{"y": "0"}], "reference", "same bits"),
        ([{"y": "0"}], [{"y": "1"}], "reference", "other bits"),
        ([{"y": "0"}], [{"y": "1"}], "in bounds", "other bits"),
        ([{"y": "0"}], [{"y": "1"}], "differs", "differs"),
        ([{"y": "0"}], [{"y": "0"}], "differs", "same bits"),
        ([{"y": "0"}], [{"y": "0"}], "fails", "fails"),
        ([{"y": "0"}], [{"y": "0"}, {"y": "0"}], "reference", "other bits"),
        ([], [{"y": "0"}], "reference", "reference"),
        ([{"y": "0"}], [], None, None),
    ],
)
def test_results_are_held_against_the_baselines_bits(before: Any, now: Any, result: Any, expected: Any) -> None:
    made = comparison(["a"], [cell(checksums=now, results=result)])
    row = with_baseline(made, comparison(["a"], [cell(checksums=before, results="reference")])).rows[0]
    assert row.cells[1] is not None
    assert row.cells[1].results == expected


def test_results_on_other_inputs_are_not_held_against_a_baseline() -> None:
    bits = [{"y": "1"}], [{"y": "2"}]
    earlier = comparison(["a"], [cell(checksums=bits[0], results="reference", inputs=["cpu, M=5, seed 0"])])
    now = comparison(["a"], [cell(checksums=bits[1], results="same bits", inputs=["cpu, M=5, seed 1"])])
    row = with_baseline(now, earlier).rows[0]
    assert row.cells[1] and row.cells[1].results == "reference"
    assert "other inputs" in row.notes[0]


def test_device_functions_that_only_their_names_tell_apart_belong_together() -> None:
    norm, other = cell(), Cell(functions={"l": measures(registers=9)})
    assert comparing._named_as(norm, other).functions == {"k": measures(registers=9)}
    two = Cell(functions={"k": measures(), "l": measures()})
    assert comparing._named_as(norm, two) is two


def test_a_baseline_does_not_change_what_it_is_held_against() -> None:
    now = comparison(["a"], [cell()])
    before = msgspec.json.encode(now)
    assert isinstance(with_baseline(now, comparison(["a"], [cell()])), Comparison)
    assert msgspec.json.encode(now) == before


# revisions


def test_files_of_revisions_are_named_by_them(monkeypatch: pytest.MonkeyPatch) -> None:
    place = PassPlace("cse", None, "k", "arith.addi", "/tmp/x/0-git/deep/k.py:7")
    lines = [LineChange(file, 7, "", {}, {"EXIT": 1}, None) for file in ("/tmp/x/0-git/k.py", "/tmp/x/k.py", "")]
    found = Change("c1", None, place, lines, None, False)
    monkeypatch.setattr(comparing, "change", lambda *_: found)  # pyright: ignore[reportUnknownLambdaType]
    first, later = filled({"": record()}, {"": record()})
    columns = [Filled(first.facts, first.recorded, ("/tmp/x/0-git/", "git:HEAD:")), later]
    (changed,) = compare_columns(columns, HOW).rows[0].changes
    assert changed.first is None
    assert changed.since is not None
    assert changed.since.location == "git:HEAD:deep/k.py:7"
    assert [each.file for each in changed.lines] == ["git:HEAD:k.py", "/tmp/x/k.py", ""]
