"""How compiling a module fails, such that two failures of the same cause can be told to be."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from cutecc.errors import Error, ParseError, PassError, UsageError
from cutecc.support import isolation
from cutecc.support.isolation import ProcessDied
from cutecc.workbench.subjects import Subject

RUNS = "cutecc runs: "
"""Begins the line by which a process says in which pass it is."""
NOTHING = "-"
"""Stands there for no pass."""
_QUOTED_TYPE = re.compile(r"<(?:[^<>]|<[^<>]*>)*>")
_OPERATION = re.compile(r""": (?:%[\w#:, %]+ = )?"[\w.]+"\(.*""")
"""In its generic form, at the end."""
_SHORTENED = re.compile(r" … \(\d+ more characters\)")


@dataclass(frozen=True)
class Failure:
    """How compiling ended."""

    kind: Literal["error", "abort"]
    pass_name: str
    """The pass that failed; empty for another stage."""
    message: str
    """The first line of the error, as it is; empty for an abort."""
    is_of_input: bool = False
    """Whether it says that the request or the module itself is wrong."""

    @classmethod
    def of(cls, error: Error) -> Failure:
        """What `error` says."""
        name = error.pass_name if isinstance(error, PassError) else ""
        return cls("error", name, error.message.partition("\n")[0], isinstance(error, UsageError | ParseError))

    @classmethod
    def of_abort(cls, log: str) -> Failure:
        """That of a process that ended, by what it printed."""
        found = re.findall(rf"^{RUNS}(.*)$", log, re.MULTILINE)
        return cls("abort", found[-1] if found and found[-1] != NOTHING else "", "")

    def is_like(self, other: Failure, message: str | None = None) -> bool:
        """Whether both have the same cause, as far as can be told: kind, pass and message, but for numbers and types.

        With `message`, a regular expression, the message of `other` counts only by that.
        """
        if (self.kind, self.pass_name) != (other.kind, other.pass_name):
            return False
        if message is not None:
            return re.search(message, other.message) is not None
        return plain_message(self.message) == plain_message(other.message)

    def __str__(self) -> str:
        if self.kind == "error":
            return self.message
        return f"pass {self.pass_name} aborted" if self.pass_name else "the compiler aborted"


def plain_message(message: str) -> str:
    """An error's message without what changes as a module shrinks: numbers, what types are of, an operation in full."""
    line = _OPERATION.sub("", _SHORTENED.sub("", message))
    while (shorter := _QUOTED_TYPE.sub("", line)) != line:
        line = shorter
    return re.sub(r"%[\w#]+|\b0x[0-9a-fA-F]+|\d+", "N", line)


def failure_apart(subject: Subject) -> Failure | None:
    """How compiling a subject ends, in a process of its own; `None` when nothing fails."""
    try:
        return isolation.call("cutecc.workbench.compiling:failure_of", subject)
    except ProcessDied as death:
        return Failure.of_abort("\n".join(death.notes))
