"""Who has done what at an mbarrier, phase by phase: what a deadlock says about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.lanes import Mask

Deed = Literal["arrives", "announces", "brings"]
"""Arrivals are counted; bytes are announced, and brought by copies."""
_KEPT = 8
"""Phases before the present one that are remembered."""


@dataclass(slots=True, eq=False)
class Entry:
    """What one instruction has done."""

    deed: Deed
    operation: Operation
    times: int = 0
    """How often threads have executed it."""
    amount: int = 0
    """Arrivals or bytes of all these times."""
    threads: list[tuple[Gang, Mask]] = field(default_factory=list["tuple[Gang, Mask]"])
    """Who, each time."""

    @property
    def agents(self) -> set[int]:
        """Who, as in `Gang.agents`."""
        return {agent for gang, mask in self.threads for agent in gang.agents[mask].tolist()}

    def add(self, other: Entry) -> None:
        self.times += other.times
        self.amount += other.amount
        self.threads += other.threads


@dataclass(slots=True, eq=False)
class Ledger:
    """Entries of the phase that an mbarrier is in, and of some phases before it."""

    initialised_by: Entry | None = None
    phases: list[dict[tuple[Deed, Operation], Entry]] = field(default_factory=lambda: [{}])
    """The present one is the last."""
    passed: dict[tuple[Gang, Operation], tuple[int, Mask]] = field(
        default_factory=dict["tuple[Gang, Operation]", "tuple[int, Mask]"]
    )
    """By instruction that threads of a gang waited with, and went on: how many phases were complete when they last did,
    and which threads."""
    seen: set[int] = field(default_factory=set[int])
    """How many phases were complete, each time that a wait passed."""

    def note(self, deed: Deed, operation: Operation, gang: Gang, mask: Mask, times: int, amount: int) -> None:
        """Threads do something in the present phase."""
        entry = self.phases[-1].get((deed, operation))
        if entry is None:
            entry = self.phases[-1][deed, operation] = Entry(deed, operation)
        entry.times += times
        entry.amount += amount
        entry.threads.append((gang, mask))

    def passes(self, operation: Operation, gang: Gang, mask: Mask, phase: int) -> None:
        """Threads find that this phase has begun, and go on."""
        self.seen.add(phase)
        before = self.passed.get((gang, operation))
        self.passed[gang, operation] = phase, mask if before is None or before[0] < phase else before[1] | mask

    def last_wait(self, gang: Gang, row: int) -> tuple[int, Operation | None]:
        """How many phases were complete when a warp last went on, and by which instruction."""
        found = [
            (phase, operation)
            for (other, operation), (phase, mask) in self.passed.items()
            if other is gang and mask[row].any()
        ]
        return max(found, key=lambda each: each[0], default=(0, None))

    def end_phase(self) -> None:
        self.phases.append({})
        if len(self.phases) > _KEPT + 1:
            del self.phases[0]

    def present(self, deed: Deed) -> list[Entry]:
        """Of the present phase."""
        return [entry for entry in self.phases[-1].values() if entry.deed == deed]

    def before(self, deed: Deed) -> list[Entry]:
        """Of the phase before it."""
        return [entry for entry in self.phases[-2].values() if entry.deed == deed] if len(self.phases) > 1 else []

    def altogether(self, deed: Deed) -> list[Entry]:
        """Of all phases that are remembered, one for each instruction."""
        found: dict[Operation, Entry] = {}
        for entry in self._all():
            if entry.deed == deed:
                found.setdefault(entry.operation, Entry(deed, entry.operation)).add(entry)
        return list(found.values())

    def _all(self) -> Iterator[Entry]:
        return (entry for phase in self.phases for entry in phase.values())
