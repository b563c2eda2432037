"""What reaches the terminal of a text that may come from anybody."""

from __future__ import annotations

import click
import pytest

from cutecc.cli.paging import show


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("back\x08\rhome", "back\\x08\\x0dhome"),
        ("\x9b31m\x7f", "\\x9b31m\\x7f"),
        ("tab\tand ü → 𝕏", "tab\tand ü → 𝕏"),
    ],
)
@pytest.mark.parametrize("colour", [False, True])
def test_control_characters_are_spelled_out(
    text: str, shown: str, colour: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    show([text], colour=colour, pager=False)
    assert capsys.readouterr().out == f"{shown}\n"


def test_colours_stay(capsys: pytest.CaptureFixture[str]) -> None:
    show([click.style("red\x07", fg="red")], colour=True, pager=False)
    assert capsys.readouterr().out == "\x1b[31mred\\x07\x1b[0m\n"
