"""What is wrong with a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cutecc.errors import SourceLocation

Kind = Literal["deadlock", "race", "phase", "arrivals", "barrier", "drain", "initialisation"]


@dataclass(frozen=True, slots=True)
class Problem:
    """A condition that does not hold: of this run, or of others that it is to stand for."""

    kind: Kind
    text: str
    location: SourceLocation | None
    other: SourceLocation | None = None
    """The place that it collides with, or that says what was expected."""

    @property
    def key(self) -> tuple[str, str, str]:
        """The same for what is told once."""
        return self.kind, str(self.location), str(self.other)
