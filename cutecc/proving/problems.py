"""What is wrong with a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cutecc.errors import SourceLocation
from cutecc.proving.kernel import Operation

Kind = Literal["deadlock", "race", "phase", "arrivals", "barrier", "drain", "initialisation"]


@dataclass(frozen=True, slots=True)
class Problem:
    """A condition that does not hold: of this run, or of others that it is to stand for."""

    kind: Kind
    text: str
    operation: Operation
    other: Operation | None = None

    @property
    def location(self) -> SourceLocation | None:
        return self.operation.location

    @property
    def key(self) -> tuple[str, str, str]:
        """The same for what is told once."""
        return self.kind, str(self.location), str(self.other.location if self.other else "")
