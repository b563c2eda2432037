"""Checks: what has to hold of a module or its code, as bisecting and reducing ask it again and again."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from cutecc.errors import UsageError
from cutecc.workbench.commands import run

Verdict = Literal["passes", "fails", "unknown"]
"""What a check says. `unknown`: it could not tell."""

_CANNOT_TELL = 125
"""The exit status by which a command says so, as for `git bisect run`."""
_NOT_FOUND = (126, 127)
"""What shells and `env` end with when there is no such program."""
_LONGEST_TEXT = 4000
"""Characters of that which are told."""


@dataclass(frozen=True)
class Finding:
    """What a check said of one module."""

    verdict: Verdict
    text: str = ""
    """Why, in a line or more."""
    status: int | None = None
    """The exit status, where a command says so."""

    @property
    def line(self) -> str:
        """The first line of the reason."""
        return next((line.strip() for line in self.text.splitlines() if line.strip()), "")


class Check(Protocol):
    """Something that can be asked of a module, or of the code that it became."""

    def __call__(self, data: bytes, suffix: str) -> Finding:
        """What it says of `data`, the content of a file whose name would end in `suffix`."""
        ...


@dataclass(frozen=True)
class CommandCheck:
    """A command of the user's, which takes a file: status 0 passes, 125 cannot tell, every other fails.

    No shell runs it. `{}` in it stands for the file; without, the file is its last argument.
    """

    words: tuple[str, ...]
    seconds: float = 60.0
    """When it has taken longer, it cannot tell."""
    message: str | None = None
    """A regular expression that has to be found in the last 64 KiB of what it says for a failure to count; another
    cannot tell."""
    status: int | None = None
    """The one status that counts as failing; `None` for every one."""

    @classmethod
    def parse(cls, text: str, seconds: float = 60.0, message: str | None = None) -> CommandCheck:
        """The command that `text` spells, quoted as in a shell. Raises `UsageError`, also when there is no program."""
        try:
            words = shlex.split(text)
        except ValueError as failure:
            raise UsageError(f"--check '{text}': {failure}") from None
        if not words:
            raise UsageError("--check is empty", hints=["name a command that takes a file: --check './holds.sh {}'"])
        if shutil.which(words[0]) is None:
            raise UsageError(f"--check: there is no program '{words[0]}'", hints=["no shell runs the command"])
        if message is not None:
            checked_pattern("--message", message)
        # It may run in another folder's process, but files are named from here.
        program = os.path.abspath(words[0]) if "/" in words[0] else words[0]
        return cls((program, *words[1:]), seconds, message)

    def __call__(self, data: bytes, suffix: str) -> Finding:
        with tempfile.TemporaryDirectory(prefix="cutecc-") as folder:
            file = Path(folder) / f"checked{suffix}"
            file.write_bytes(data)
            words = [word.replace("{}", str(file)) for word in self.words]
            if words == list(self.words):
                words.append(str(file))
            try:
                status, said = run(words, self.seconds)
            except TimeoutError:
                return Finding("unknown", f"the check takes longer than {self.seconds:g} s")
            except OSError as failure:
                raise UsageError(f"--check: cannot run {words[0]}: {failure.strerror}") from None
        return self._finding(status, said.decode(errors="replace"))

    def _finding(self, status: int, said: str) -> Finding:
        if status == 0:
            return Finding("passes", said[-_LONGEST_TEXT:])
        if status in _NOT_FOUND:
            raise UsageError(
                f"--check: the command ends with {status}, as for a program that is not there",
                notes=[said[-_LONGEST_TEXT:]],
            )
        if status == _CANNOT_TELL:
            return Finding("unknown", f"it ends with {status}: it cannot tell")
        ending = f"ended by signal {-status}" if status < 0 else f"status {status}"
        if self.status is not None and status != self.status:
            return Finding("unknown", f"it fails otherwise: {ending}")
        if self.message is not None and not re.search(self.message, said):
            return Finding("unknown", f"it fails without saying '{self.message}'")
        return Finding("fails", said[-_LONGEST_TEXT:].strip() or ending, status)


def checked_pattern(option: str, text: str) -> re.Pattern[str]:
    """The regular expression `text`. Raises `UsageError` that names the option."""
    try:
        return re.compile(text)
    except re.error as failure:
        raise UsageError(f"{option} '{text}' is no regular expression: {failure}") from None
