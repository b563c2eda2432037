"""What is said of inputs does on a terminal what text does, and has a size that people read."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from cutecc.cli.console import Console
from cutecc.errors import Error, SourceLocation, foreign_failures, message_of
from cutecc.record.plain_file import read_plain
from cutecc.support.harmless import harmless, message_text, one_line, readable

TITLE = "\x1b]0;owned\x07"


def test_control_characters_are_spelled_out() -> None:
    assert harmless(f"a{TITLE}b\tc\n\x9b31m\x7f") == "a\\x1b]0;owned\\x07b\tc\n\\x9b31m\\x7f"


def test_colours_stay_where_they_are_ours() -> None:
    assert harmless("\x1b[31mred\x1b[0m") == "\x1b[31mred\x1b[0m"
    assert harmless("\x1b[31mred\x1b[0m", coloured=False) == "\\x1b[31mred\\x1b[0m"


def test_a_name_is_in_one_line() -> None:
    assert one_line(f"a\nb{TITLE}") == "a\\nb\\x1b]0;owned\\x07"
    assert len(one_line("x" * 100_000)) < 2000


@pytest.mark.parametrize("label", ["error: ", "hint: ", "k.py:3:4: error: ", "reproduce: ", "Error: "])
def test_a_line_does_not_pose_as_a_message(label: str) -> None:
    assert message_text(f"no function 'f\n{label}x'") == f"no function 'f\n  {label}x'"


def test_other_lines_are_left_alone() -> None:
    text = "two types differ:\nerrors: 3\n  at f.py:3\nValueError: no"
    assert message_text(text) == text


def test_a_message_is_as_long_as_anybody_reads() -> None:
    shown = message_text("x" * 1_000_000)
    assert len(shown) < 5000
    assert shown.endswith("… and 995,904 more characters")


def test_so_are_its_notes_which_hints_follow() -> None:
    error = Error("no", notes=[f"note {number}" for number in range(100_000)], hints=["do this"])
    details = [*readable(error.details())]
    assert len(str(details)) < 40_000
    assert details[-1] == ("hint", "do this")
    label, last = details[-2]
    assert label == "note"
    assert last == f"{100_000 - len(details) + 2:,} more notes are left out"


def test_an_error_says_the_same_with_its_details() -> None:
    error = Error("no", SourceLocation("f.py", 3, 1, "x = 1"), ["because"], ["do this"])
    assert str(error) == "f.py:3:1: no\n  x = 1\n  ^\nnote: because\nhint: do this"
    assert error.details() == [("", "  x = 1\n  ^"), ("note", "because"), ("hint", "do this")]


def test_tables_print_names_as_they_are() -> None:
    console = Console(width=80)
    console.file = io.StringIO()
    console.print("[bold]a[/red] \x1b]0;owned\x9c", highlight=False)
    assert console.file.getvalue() == "[bold]a[/red] \\x1b]0;owned\\x9c\n"


def test_an_exception_without_a_text_has_one() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise self

    assert message_of(Mute()) == "an exception that has no text"
    assert KeyboardInterrupt not in foreign_failures()


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_only_plain_files_are_read(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    {"pipe": os.mkfifo, "device": lambda path: path.symlink_to("/dev/zero"), "folder": Path.mkdir}[kind](path)
    with pytest.raises(Error, match="is not a plain file"):
        read_plain(path, 10)
    (tmp_path / "long").write_bytes(bytes(11))
    with pytest.raises(Error, match="has 11 bytes; at most 10 are read"):
        read_plain(tmp_path / "long", 10)
