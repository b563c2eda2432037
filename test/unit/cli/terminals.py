"""The command line on a pseudo terminal."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path


def on_a_terminal(
    command: Path, arguments: Sequence[object], cwd: Path | None = None, *, errors: bool = True, **environment: str
) -> tuple[int, str]:
    """The exit status of `cutecc`, and all that appears of standard output, and of standard error if `errors`."""
    master, slave = os.openpty()
    settings = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    process = subprocess.Popen(
        [command, *map(str, arguments)],
        stdout=slave,
        stderr=slave if errors else None,
        cwd=cwd,
        env={**settings, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "50", **environment},
    )
    os.close(slave)
    shown = b""
    with contextlib.suppress(OSError), open(master, "rb", buffering=0) as output:  # the end of a terminal is an error
        while piece := output.read(65536):
            shown += piece
    return process.wait(), shown.decode(errors="replace")
