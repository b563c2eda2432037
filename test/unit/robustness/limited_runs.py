"""Runs of the command line with inputs that nobody means well with: each has a time limit and a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from conftest import CUTECC
from warm_client import WarmProcess
from warm_processes import Templates

LIMIT = 20
"""Seconds that any input may take."""


@dataclass(frozen=True)
class Run:
    """What a command line did."""

    command: list[str]
    folder: Path
    """Where it ran; its temporary folder is `tmp` there."""
    status: int
    stdout: bytes
    stderr: bytes
    seconds: float

    @property
    def errors(self) -> str:
        """Standard error as text."""
        return self.stderr.decode(errors="replace")

    def __str__(self) -> str:
        lines = [line[:200] for line in self.errors.splitlines()[:40]]
        return "\n".join([f"{self.command} ended with {self.status}", repr(self.stdout[:1000]), *lines])


def run(arguments: Sequence[object], folder: Path, templates: Templates | None, input: bytes = b"") -> Run:
    """Run `cutecc` in `folder`, as a process whose imports are done, or without templates as any other.

    Fails when it takes longer than `LIMIT`.
    """
    command = [str(CUTECC), *(each if isinstance(each, str) else str(each) for each in arguments)]
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    environment["TMPDIR"] = str(temporary)
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        given.write(input)
        given.seek(0)
        if templates is None:
            process = subprocess.Popen(command, cwd=folder, env=environment, stdin=given, stdout=output, stderr=errors)
        else:
            emulates = "sanitize" in command or "--device=cpu" in command
            process = WarmProcess(
                templates.address("emulation" if emulates else "command"),
                "unforked_command:main",
                command,
                streams=(given.fileno(), output.fileno(), errors.fileno()),
                environment=environment,
                folder=str(folder),
                path=[*sys.path, str(Path(__file__).parent)],
            )
        begin = time.monotonic()
        try:
            status = process.wait(timeout=LIMIT)
        except (TimeoutError, subprocess.TimeoutExpired):
            process.kill()
            errors.seek(0)
            raise AssertionError(f"{command} took more than {LIMIT} s: {errors.read()[:2000]!r}") from None
        output.seek(0)
        errors.seek(0)
        return Run(command, folder, status, output.read(), errors.read(), time.monotonic() - begin)
