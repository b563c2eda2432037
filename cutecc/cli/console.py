"""The console that commands print to."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from typing import Any

from rich import console
from rich.segment import Segment

from cutecc.support.harmless import harmless

UNBOUNDED = 1 << 16
"""Characters in a line: more than every table has."""


class Console(console.Console):
    """Prints plain strings as they are, with control characters spelled out: names in tables may come from anybody.

    Leaves to `cutecc.cli.main` what is to be done when the reader has gone, where rich would end with status 1.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(markup=False, **settings)

    def _render_buffer(self, buffer: Iterable[Segment]) -> str:
        shown = (each if each.control else Segment(harmless(each.text, coloured=False), each.style) for each in buffer)
        return super()._render_buffer(shown)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console_of_whole_lines() -> Console:
    """For standard output; where that is no terminal, and `COLUMNS` says nothing, lines are as long as they are."""
    return Console(width=shutil.get_terminal_size((UNBOUNDED, 0)).columns)
