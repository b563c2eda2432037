"""Long text as git shows it: in colour and through a pager on a terminal, plain elsewhere."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeVar

import click

from cutecc.cli.options import apply_all

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


_CONTROL = re.compile(r"(\x1b\[[0-9;]*m)|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def harmless(line: str) -> str:
    """The line with control characters spelled out, but for those that colour it.

    What a record holds may come from anybody, and a terminal does what such characters say.
    """
    return _CONTROL.sub(lambda match: match[1] or f"\\x{ord(match[0]):02x}", line)


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
