"""Tables of names: whole where there is room, folded between their parts where there is none."""

from __future__ import annotations

import io
import os

import pytest
from rich.text import Text

from cutecc.cli.console import UNBOUNDED, Console, console_of_whole_lines
from cutecc.cli.tables import NameTable, folded, folded_items, print_table

NAMES = ("cute_nvgpu.atom.make_non_exec_tiled_tma_load", "ldsm mode=8×8 sz_pattern=u16 num_matrices=4")
PASSES = "unfold-layouts, unfold-tensors, lower-cute-types"


def printed(width: int, *dispensable: str) -> str:
    rows: list[list[Text] | str] = ["operations", *([Text(name), Text("12"), Text(PASSES)] for name in NAMES)]
    table = NameTable(("needed", "uses", "lowered by"), rows, numbers=("uses",))
    file = io.StringIO()
    console = Console(file=file, width=width)
    print_table(table.fitting(width, dispensable), console)
    return file.getvalue()


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("a b", 3, ["a b"]),
        ("one two", 6, ["one", "two"]),
        ("cute.make_layout", 12, ["cute.make_", "layout"]),
        ("x cute.make_layout", 12, ["x", "cute.make_", "layout"]),
        ("test/kernels/a.py", 13, ["test/kernels/", "a.py"]),
        ("unbreakable", 4, ["unbreakable"]),
        ("", 4, [""]),
    ],
)
def test_names_are_folded_between_words_and_parts(text: str, width: int, lines: list[str]) -> None:
    assert folded(text, width).split("\n") == lines


def test_items_stay_whole() -> None:
    assert folded_items(["cute 1→2", "arith 272→278", "cf 0→15"], 23) == "cute 1→2  arith 272→278\ncf 0→15"
    assert folded_items(["arith 272→278"], 5) == "arith 272→278"
    assert folded_items([], 5) == ""


def test_a_wide_table_has_everything_in_a_line() -> None:
    for name in NAMES:
        assert any(line.startswith(name) and line.endswith(PASSES) for line in printed(UNBOUNDED).splitlines())


def test_the_last_column_gives_way_first() -> None:
    text = printed(72)
    assert max(map(len, text.splitlines())) <= 72
    assert all(name in text for name in (*NAMES, *PASSES.split(", ")))
    assert PASSES not in text


def test_then_a_column_goes_that_can_be_done_without() -> None:
    assert "uses" in printed(72, "uses")
    text = printed(64, "uses")
    assert "uses" not in text
    assert max(map(len, text.splitlines())) <= 64
    assert all(name in text for name in (*NAMES, *PASSES.split(", ")))


def test_then_names_are_folded() -> None:
    lines = printed(50, "uses").splitlines()
    assert max(map(len, lines)) <= 50
    starts = [line.partition("  ")[0] for line in lines]
    assert starts[starts.index("cute_nvgpu.atom.make_non_exec_") + 1] == "tiled_tma_load"


def test_into_a_pipe_lines_are_whole_unless_columns_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_terminal(*_: object) -> os.terminal_size:
        raise OSError

    monkeypatch.setattr(os, "get_terminal_size", no_terminal)
    monkeypatch.delenv("COLUMNS", raising=False)
    assert console_of_whole_lines().width == UNBOUNDED
    monkeypatch.setenv("COLUMNS", "70")
    assert console_of_whole_lines().width == 70
