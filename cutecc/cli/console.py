"""The console that commands print to."""

from __future__ import annotations

import shutil

from rich import console

UNBOUNDED = 1 << 16
"""Characters in a line: more than every table has."""


class Console(console.Console):
    """Leaves to `cutecc.cli.main` what is to be done when the reader has gone, where rich would end with status 1."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console_of_whole_lines() -> Console:
    """For standard output; where that is no terminal, and `COLUMNS` says nothing, lines are as long as they are."""
    return Console(width=shutil.get_terminal_size((UNBOUNDED, 0)).columns)
