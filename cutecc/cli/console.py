"""The console that commands print to."""

from __future__ import annotations

from rich import console


class Console(console.Console):
    """Leaves to `cutecc.cli.main` what is to be done when the reader has gone, where rich would end with status 1."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError
