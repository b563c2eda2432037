"""Long text as git shows it: in colour and through a pager on a terminal, plain elsewhere."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeVar

import click

from cutecc.cli.options import apply_all
from cutecc.support.harmless import harmless

Function = TypeVar("Function", bound=Callable[..., Any])
When = Literal["auto", "always", "never"]

paging_options = apply_all(
    click.option(
        "--color",
        "colour",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        is_flag=False,
        flag_value="always",
        help="Colour: by default on a terminal, unless NO_COLOR is set.",
    ),
    click.option("--no-pager", is_flag=True, help="Print long output too without $PAGER."),
)


def in_colour(when: When) -> bool:
    """Whether to colour what goes to standard output."""
    if when != "auto":
        return when == "always"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def width() -> int:
    """Columns of the terminal."""
    return shutil.get_terminal_size((80, 24)).columns


def show(lines: Iterable[str], *, colour: bool, pager: bool) -> None:
    """Print lines, through `$PAGER` when standard output is a terminal on which they have no room.

    Control characters in them are spelled out.
    """
    lines = map(harmless, lines)
    if not pager or not (sys.stdout.isatty() and sys.stdin.isatty()):
        for line in lines:
            click.echo(line, color=colour)
        return
    text = "".join(f"{line}\n" for line in lines)
    if text.count("\n") < shutil.get_terminal_size((80, 24)).lines:
        click.echo(text, nl=False, color=colour)
        return
    # As git does: leave what is short on the screen, keep colours, and do not fold lines.
    os.environ.setdefault("LESS", "FRX")
    click.echo_via_pager(text, color=colour)
