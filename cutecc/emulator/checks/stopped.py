"""What the checks did not see, because something ended before the kernel did."""

from __future__ import annotations

import traceback
from dataclasses import dataclass

from cutecc.errors import Error, SourceLocation, describe


@dataclass(frozen=True)
class Stopped:
    """Checks that ended by a mistake of cutecc's own, or a run that ended by an error, with all of its checks."""

    checks: frozenset[str]
    """Which did not see the rest: names of `CheckName`."""
    reason: str
    location: SourceLocation | None = None
    """The line of Python that was executed."""
    trace: str = ""
    """Python's traceback, where it is a mistake of cutecc's own."""
    schedule: str = "round-robin"
    seed: int = 0
    """With `schedule`, what reproduces it."""

    @classmethod
    def of(
        cls, failure: Exception, checks: frozenset[str], location: SourceLocation | None, schedule: str, seed: int
    ) -> Stopped:
        """By an exception."""
        if isinstance(failure, Error):
            return cls(checks, failure.message, failure.location or location, "", schedule, seed)
        trace = "".join(traceback.format_exception(failure))
        return cls(checks, describe(failure), location, trace, schedule, seed)
