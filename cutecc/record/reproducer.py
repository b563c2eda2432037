"""A reproducer: one MLIR file with, in its first lines, the command that fails on it and what to expect.

The command is data: a subcommand from a short list, and options of it from another. It can name no program and no
file but the one that it stands in. Passes from a file of the user's have to be loaded by the user: `--load`.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import msgspec

from cutecc.errors import RecordError
from cutecc.record.compilation import Versions

Expected = Literal["failed", "aborted"]
"""Whether an error is reported, or the process taken down."""

MARK = "// cutecc-reproducer: "
MAJOR, MINOR = 1, 4

OPTIONS: dict[str, tuple[str, ...]] = {
    "opt": ("pipeline", "target", "backend", "verify-each"),
    "compile": ("pipeline", "target", "backend", "opt-level", "verify-each"),
}
"""The options that a reproducer may have, by subcommand. None names a file, a program, or code to load."""


@dataclass(frozen=True)
class Reproducer:
    """How to make a failure happen again."""

    subcommand: Literal["opt", "compile"]
    """`opt` runs a pipeline, and `compile` all that comes of a module."""
    options: dict[str, str | bool | int]
    """Long options of the subcommand, without the dashes; `true` for a flag."""
    expected: Expected
    pass_name: str
    """What failed; empty where that is no pass."""
    message: str
    """The first line of the error."""
    versions: Versions

    def command(self, file: str, load: Sequence[str] = ()) -> list[str]:
        """The command line that runs this reproducer, stored in `file`, with the passes of the files `load`."""
        options = (f"--{name}" if value is True else f"--{name}={value}" for name, value in self.options.items())
        return ["cutecc", self.subcommand, file, *options, *(f"--load={each}" for each in load)]

    def header(self, file: str) -> str:
        """The comment lines that begin the file."""
        data = json.dumps({"version": f"{MAJOR}.{MINOR}", **msgspec.to_builtins(self)})
        # JSON escapes line breaks, so that the header stays one comment whatever the message says.
        return f"{MARK}{data}\n// {shlex.join(self.command(file)).encode('unicode_escape').decode()}\n"


def read_reproducer(text: str) -> Reproducer:
    """The reproducer that the first line of a file describes.

    Raises `RecordError` when there is none, it is newer, or its command has an option that it may not have.
    """
    first = text.partition("\n")[0]
    if not first.startswith(MARK):
        raise RecordError("this file has no reproducer header", hints=[f"its first line has to begin with '{MARK}'"])
    try:
        body: Any = json.loads(first.removeprefix(MARK))
        if not isinstance(body, dict):
            raise ValueError("it is no object")
        major = int(str(cast(dict[str, Any], body)["version"]).partition(".")[0])
        if major > MAJOR:
            raise RecordError(f"the reproducer has version {body['version']}; this cutecc reads up to {MAJOR}.x")
        found = msgspec.convert(body, Reproducer)
    except RecursionError:
        raise RecordError("the reproducer's header is damaged: it is nested too deeply") from None
    except (ValueError, KeyError, TypeError, msgspec.ValidationError) as failure:
        raise RecordError(f"the reproducer's header is damaged: {failure}") from None
    for name in found.options:
        if name not in OPTIONS[found.subcommand]:
            raise RecordError(
                f"the reproducer's header has the option '{name}', which a reproducer may not have",
                hints=[f"options of {found.subcommand} that it may have: {', '.join(OPTIONS[found.subcommand])}"],
            )
    return found
