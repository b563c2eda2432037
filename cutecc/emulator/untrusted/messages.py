"""What a confined call says: one JSON object a line."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from cutecc import errors
from cutecc.emulator.call import Outcome
from cutecc.emulator.checks.finding import Finding, Place, Stopped
from cutecc.emulator.counters.counters import Counters, InstructionCounts
from cutecc.emulator.host import LaunchSummary
from cutecc.errors import EmulatorError, Error, InternalError, SourceLocation, describe
from cutecc.support.malformed import MALFORMED


class Confined(msgspec.Struct, tag="confined"):
    """What keeps the call from all else: the first thing that is said."""

    by: list[str]


class Printed(msgspec.Struct, tag="printed"):
    """Text of the kernel, as it comes."""

    text: str


class Ran(msgspec.Struct, tag="ran"):
    """How many blocks of a launch have run."""

    kernel: str
    done: int
    total: int


class Failure(msgspec.Struct):
    """An error, by the name of its class."""

    kind: str
    message: str
    location: SourceLocation | None
    notes: list[str]
    hints: list[str]

    @classmethod
    def of(cls, failure: Exception) -> Failure:
        """By an exception."""
        if not isinstance(failure, Error):
            failure = InternalError(
                f"internal error: {describe(failure)}",
                hints=["this is a bug in cutecc; run a kernel that you trust without untrusted=True to see where"],
            )
        return cls(type(failure).__name__, failure.message, failure.location, failure.notes, failure.hints)

    def error(self) -> Error:
        """The exception."""
        kind = getattr(errors, self.kind, None)
        known = kind if isinstance(kind, type) and issubclass(kind, Error) else EmulatorError
        return known(self.message, _unread(self.location), self.notes, self.hints)


class Ended(msgspec.Struct, tag="ended"):
    """What came of the call, `Outcome`: the last thing that is said."""

    findings: list[Finding]
    stopped: list[Stopped]
    counters: list[InstructionCounts] | None
    launches: list[LaunchSummary]
    failure: Failure | None

    @classmethod
    def of(cls, outcome: Outcome) -> Ended:
        """By what it stands for."""
        return cls(
            outcome.findings,
            outcome.stopped,
            None if outcome.counters is None else outcome.counters.instructions,
            outcome.launches,
            None if outcome.failure is None else Failure.of(outcome.failure),
        )

    def outcome(self, printed: str, confined_by: list[str]) -> Outcome:
        """What it stands for, with what was said before. No line of a file is shown for the places that it names."""
        return Outcome(
            [
                replace(each, place=_placed(each.place), other=each.other and _placed(each.other))
                for each in self.findings
            ],
            [replace(each, location=_unread(each.location)) for each in self.stopped],
            None if self.counters is None else Counters.of(self.counters),
            self.launches,
            printed,
            self.failure and self.failure.error(),
            confined_by=confined_by,
        )


def _placed(place: Place) -> Place:
    return replace(place, location=_unread(place.location))


def _unread(location: SourceLocation | None) -> SourceLocation | None:
    """A place whose file is not read: the kernel says which one, and what is in it would be shown."""
    return location and replace(location, text=None, length=0)


Message = Confined | Printed | Ran | Ended


def encode(message: Message) -> bytes:
    """One line."""
    return msgspec.json.encode(message, enc_hook=_listed) + b"\n"


def decode(line: bytes) -> Message:
    """What a line says. Raises `EmulatorError` for one that says nothing of this."""
    try:
        return msgspec.json.decode(line, type=Message)
    except MALFORMED as failure:
        raise EmulatorError(f"what the untrusted kernel's process says is not understood: {failure}") from None


def _listed(value: Any) -> Any:
    """What JSON has no form for: the numbers of blocks, which may be a range."""
    return [*value]
