"""Errors: their text, and their way through a pickle."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from cutecc import errors
from cutecc.errors import Error, PassError, SourceLocation, UsageError

CLASSES = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Error)]


def test_all_derive_from_one() -> None:
    assert len(CLASSES) >= 9
    assert all(issubclass(kind, Error) for kind in CLASSES)
    import cutecc

    assert cutecc.Error is Error


@pytest.mark.parametrize("kind", CLASSES)
def test_they_survive_pickling_with_notes_and_changes(kind: type[Error]) -> None:
    error = kind("what", SourceLocation("k.py", 3, 4, "text", 2), ["n"], ["h"])
    error.notes.append("added later")
    error.add_note("traceback")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind
    assert str(copy) == str(error)
    assert copy.__dict__ == error.__dict__
    assert copy.args == ("what",)


def test_text() -> None:
    error = PassError("cannot", SourceLocation("k.py", 3, 5, "    x = y\n"), ["a note"], ["try this"], pass_name="p")
    lines = ["k.py:3:5: cannot", "      x = y", "      ^", "note: a note", "hint: try this"]
    assert str(error).splitlines() == lines
    error.reproducer, error.command = "out/r.mlir", "cutecc opt out/r.mlir"
    assert str(error).splitlines() == [*lines, "reproducer: out/r.mlir", "reproduce: cutecc opt out/r.mlir"]


@pytest.mark.parametrize(
    ("location", "text"),
    [
        (SourceLocation("k.py"), "k.py"),
        (SourceLocation("k.py", 3), "k.py:3"),
        (SourceLocation("k.py", 3, 4), "k.py:3:4"),
    ],
)
def test_location(location: SourceLocation, text: str) -> None:
    assert str(location) == text


@pytest.mark.parametrize(
    ("line", "column", "length", "caret"),
    [
        ("abc", 1, 1, "  abc\n  ^"),
        ("abc", 3, 1, "  abc\n    ^"),
        ("abc", 2, 2, "  abc\n   ^^"),
        ("\tabc", 2, 1, "      abc\n      ^"),
        ("a\tb", 3, 1, "  a   b\n      ^"),
        ("abc", None, 1, "  abc"),
        ("äöü", 2, 1, "  äöü\n   ^"),
    ],
)
def test_carets_stand_below_their_column(line: str, column: int | None, length: int, caret: str) -> None:
    assert SourceLocation("k.py", 1, column, line, length).excerpt() == caret


def test_the_line_is_read_from_the_file(tmp_path: Path) -> None:
    file = tmp_path / "k.py"
    file.write_text("first\nsecond\n")
    assert SourceLocation(str(file), 2, 1).excerpt() == "  second\n  ^"
    assert SourceLocation(str(file), 9, 1).excerpt() == ""
    assert SourceLocation(str(file), 0, 1).excerpt() == ""
    assert SourceLocation(str(file), -1, 1).excerpt() == ""
    assert SourceLocation(str(tmp_path / "missing"), 1, 1).excerpt() == ""


@pytest.mark.parametrize("name", ["/dev/zero", "/proc/self", "a\0b", "fifo"])
def test_what_is_no_file_is_not_read(tmp_path: Path, name: str) -> None:
    """A location in IR can name anything; reading some of it would never end."""
    if name == "fifo":
        name = str(tmp_path / "fifo")
        os.mkfifo(name)
    assert SourceLocation(name, 1, 1).excerpt() == ""


def test_usage_errors_are_told_apart() -> None:
    told = [kind.__name__ for kind in CLASSES if issubclass(kind, UsageError)]
    assert told == [
        "UsageError",
        "SpecError",
        "NoGpuError",
        "NoTargetError",
        "NotInstalledError",
        "MissingNameError",
        "ArgumentError",
        "EpilogueError",
    ]


@pytest.mark.parametrize(("column", "cut"), [(1, "end"), (600, "both"), (1200, "start")])
def test_of_a_long_line_an_excerpt_shows_what_is_around_the_column(column: int, cut: str) -> None:
    line = "".join(chr(ord("a") + index % 26) for index in range(1200))
    shown, caret = SourceLocation("k.py", 1, column, line).excerpt().split("\n")
    assert len(shown) < 170
    assert shown[caret.index("^")] == line[column - 1]
    assert (shown.startswith("  …"), shown.endswith("…")) == (cut != "end", cut != "start")


def test_a_long_caret_ends_with_what_is_shown() -> None:
    shown, caret = SourceLocation("k.py", 1, 3, "x" * 1200, length=900).excerpt().split("\n")
    assert len(caret) == len(shown) - 1


@pytest.mark.parametrize(
    "place",
    [
        SourceLocation("/k.py", 3, 4),
        SourceLocation("/k.py", 3),
        SourceLocation("a:b.py"),
        SourceLocation("/k.py", 3, near=True),
    ],
)
def test_places_are_read_as_they_are_spelled(place: SourceLocation) -> None:
    assert SourceLocation.parse(str(place)) == place
