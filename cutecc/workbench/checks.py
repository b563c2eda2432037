"""Checks: what has to hold of a module or its code, as bisecting and reducing ask it again and again."""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from cutecc.errors import UsageError

if TYPE_CHECKING:
    pass

Verdict = Literal["passes", "fails", "unknown"]
"""What a check says. `unknown`: it could not tell."""

_CANNOT_TELL = 125
"""The exit status by which a command says so, as for `git bisect run`."""
_NOT_FOUND = (126, 127)
"""What shells and `env` end with when there is no such program."""
_LONGEST_OUTPUT = 4000
"""Characters of what a command says, its end."""


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
    """A regular expression that has to be found in what it says for a failure to count; another cannot tell."""
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
                done = subprocess.run(
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    timeout=self.seconds,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                return Finding("unknown", f"the check takes longer than {self.seconds:g} s")
            except OSError as failure:
                raise UsageError(f"--check: cannot run {words[0]}: {failure.strerror}") from None
        return self._finding(done.returncode, done.stdout.decode(errors="replace")[-_LONGEST_OUTPUT:])

    def _finding(self, status: int, said: str) -> Finding:
        if status == 0:
            return Finding("passes", said)
        if status in _NOT_FOUND:
            raise UsageError(
                f"--check: the command ends with {status}, as for a program that is not there", notes=[said]
            )
        if status == _CANNOT_TELL:
            return Finding("unknown", f"it ends with {status}: it cannot tell")
        ending = f"ended by signal {-status}" if status < 0 else f"status {status}"
        if self.status is not None and status != self.status:
            return Finding("unknown", f"it fails otherwise: {ending}")
        if self.message is not None and not re.search(self.message, said):
            return Finding("unknown", f"it fails without saying '{self.message}'")
        return Finding("fails", said.strip() or ending, status)


@dataclass(frozen=True)
class FileCheck:
    """The checks of a FileCheck file, on the text of a module or of code."""

    file: str
    checks: str
    """The content of the file."""
    prefixes: tuple[str, ...] = ("CHECK",)

    @classmethod
    def read(cls, path: Path, prefixes: Sequence[str] = ()) -> FileCheck:
        """The checks in a file. Raises `UsageError` for a file without any, or with one that is malformed."""
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as failure:
            raise UsageError(f"cannot read {path}: {failure}") from None
        check = cls(str(path), text, tuple(prefixes) or ("CHECK",))
        check._operations()
        return check

    def __call__(self, data: bytes, suffix: str) -> Finding:
        from filecheck.finput import FInput
        from filecheck.matcher import Matcher

        text = data.decode(errors="replace")
        options, operations = self._parsed()
        matcher = Matcher(options, FInput("-", FInput.canonicalize_line_ends(text)), operations)
        matcher.stderr = log = io.StringIO()
        passes = matcher.run() == 0
        # Behind the first line comes how the tool got there.
        return Finding("passes" if passes else "fails", _plain(log.getvalue()).partition("\n")[0])

    def _parsed(self):
        try:
            from filecheck.options import DumpInputKind, Options
            from filecheck.parser import Parser, pattern_for_opts
        except ImportError:
            raise UsageError("the package filecheck is missing", hints=["pip install filecheck"]) from None
        options = Options(
            self.file, check_prefixes=list(self.prefixes), allow_empty=True, dump_input=DumpInputKind.FAIL
        )
        return options, Parser(options, io.StringIO(self.checks), *pattern_for_opts(options))

    def _operations(self) -> None:
        from filecheck.error import ParseError

        _, operations = self._parsed()
        try:
            found = list(operations)
        except ParseError as failure:
            raise UsageError(f"{self.file}:{failure.line_no}: {failure.message}") from None
        if not found:
            names = ", ".join(f"{each}:" for each in self.prefixes)
            raise UsageError(f"{self.file} has no lines with {names}", hints=["--check-prefix names another prefix"])


def _plain(text: str) -> str:
    """Without what colours it on a terminal."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text).strip()


def checked_pattern(option: str, text: str) -> re.Pattern[str]:
    """The regular expression `text`. Raises `UsageError` that names the option."""
    try:
        return re.compile(text)
    except re.error as failure:
        raise UsageError(f"{option} '{text}' is no regular expression: {failure}") from None
