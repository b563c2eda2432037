"""A reproducer: one MLIR file with, in its first lines, the command that fails on it and what to expect.

The command is data: a subcommand from a short list and its options. It names no file but the one it stands in, and
files with passes that the user has to give to `--load` himself: nothing loads a file because a header names it.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import Any, Literal, cast

import msgspec

from cutecc.errors import RecordError
from cutecc.record.compilation import Versions

MARK = "// cutecc-reproducer: "
MAJOR, MINOR = 1, 2


@dataclass(frozen=True)
class Reproducer:
    """How to make a failure happen again."""

    subcommand: Literal["opt"]
    options: dict[str, str | bool]
    """Long options of the subcommand, without the dashes; `true` for a flag."""
    expected: Literal["failed", "aborted"]
    """Whether the pass reports an error or takes the process down."""
    pass_name: str
    message: str
    """The first line of the error."""
    versions: Versions
    load: tuple[str, ...] = ()
    """Python files that register the pass."""

    def command(self, file: str) -> list[str]:
        """The command line that runs this reproducer, stored in `file`."""
        options = (f"--{name}" if value is True else f"--{name}={value}" for name, value in self.options.items())
        return ["cutecc", self.subcommand, file, *options, *(f"--load={each}" for each in self.load)]

    def header(self, file: str) -> str:
        """The comment lines that begin the file."""
        data = json.dumps({"version": f"{MAJOR}.{MINOR}", **msgspec.to_builtins(self)})
        # JSON escapes line breaks, so that the header stays one comment whatever the message says.
        return f"{MARK}{data}\n// {shlex.join(self.command(file)).encode('unicode_escape').decode()}\n"


def read_reproducer(text: str) -> Reproducer:
    """The reproducer that the first line of a file describes; `RecordError` when there is none or it is newer."""
    first = text.partition("\n")[0]
    if not first.startswith(MARK):
        raise RecordError("this file has no reproducer header", hints=[f"its first line has to begin with '{MARK}'"])
    try:
        body: Any = json.loads(first.removeprefix(MARK))
        major = int(str(cast(dict[str, Any], body)["version"]).partition(".")[0])
        if major > MAJOR:
            raise RecordError(f"the reproducer has version {body['version']}; this cutecc reads up to {MAJOR}.x")
        return msgspec.convert(body, Reproducer)
    except (ValueError, KeyError, TypeError, RecursionError, msgspec.ValidationError) as failure:
        raise RecordError(f"the reproducer's header is damaged: {failure}") from None
