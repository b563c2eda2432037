"""What came of trying all orders of a call's launches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from cutecc.emulator.checks.finding import Finding
from cutecc.emulator.orders.kept_schedule import KeptSchedule

End = Literal["budget", "interrupt"]
ORDER = "order "
"""What `Finding.schedule` begins with where an order has found it; its number among `Orders.witnesses` follows, from 1
on."""


@dataclass(frozen=True)
class Witness:
    """An order that found something which none before had."""

    schedule: KeptSchedule
    findings: Sequence[Finding]


@dataclass
class Orders:
    """How many orders there are, and what they found."""

    executed: int = 0
    """Orders that were executed, no two of them equivalent."""
    parts: int = 0
    """Clusters or blocks that have nothing to do with each other, of which all orders were executed, each by itself."""
    total: int = 0
    """How many there are; all blocks of a launch are one where they may tell each other something."""
    ended_by: End | None = None
    """What ended it before all orders were executed."""
    budget: str = ""
    seconds: float = 0.0
    witnesses: list[Witness] = field(default_factory=list[Witness])

    @property
    def complete(self) -> bool:
        """Whether all orders were executed."""
        return self.ended_by is None and self.parts == self.total

    def add(self, other: Orders) -> None:
        """Those of another launch of the call."""
        self.executed += other.executed
        self.parts += other.parts
        self.total += other.total
        self.ended_by = self.ended_by or other.ended_by
        self.budget = other.budget
        self.seconds += other.seconds
        self.witnesses += other.witnesses

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "executed": self.executed,
            "complete": self.complete,
            "ended_by": self.ended_by,
            "parts": self.parts,
            "total_parts": self.total,
            "seconds": round(self.seconds, 3),
        }
