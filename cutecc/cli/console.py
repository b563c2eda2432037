"""The console that commands print to."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rich import console
from rich.segment import Segment

from cutecc.support.harmless import harmless

if TYPE_CHECKING:
    from rich.progress import Progress

UNBOUNDED = 1 << 16
"""Characters in a line: more than every table has."""


class Console(console.Console):
    """Prints plain strings as they are, with control characters spelled out: names in tables may come from anybody.

    Leaves to `cutecc.cli.main` what is to be done when the reader has gone, where rich would end with status 1.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(markup=False, **settings)

    def say(self, text: str, style: str = "") -> None:
        """Print text as it is, and let the terminal fold its lines."""
        self.print(text, highlight=False, soft_wrap=True, style=style)

    def _render_buffer(self, buffer: Iterable[Segment]) -> str:
        shown = (each if each.control else Segment(harmless(each.text, coloured=False), each.style) for each in buffer)
        return super()._render_buffer(shown)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console_of_whole_lines() -> Console:
    """For standard output; where that is no terminal, and `COLUMNS` says nothing, lines are as long as they are."""
    return Console(width=shutil.get_terminal_size((UNBOUNDED, 0)).columns)


def progress_bar(*, wanted: bool = True, elapsed: bool = False) -> Progress:
    """A bar on standard error, if that is a terminal and it is `wanted`; gone when all is done.

    It says how long it will take, or the time that has `elapsed`.
    """
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    time = TimeElapsedColumn() if elapsed else TimeRemainingColumn()
    return Progress(*columns, time, console=console, transient=True, disable=not (wanted and console.is_terminal))
