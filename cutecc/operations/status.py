"""Whether an operation takes what it is given, and why not."""

from __future__ import annotations

from dataclasses import dataclass

from cutecc.errors import Error


@dataclass(frozen=True)
class Status:
    """An answer that is true or false, with its reason."""

    ok: bool
    reason: str = ""
    """Why not; empty when `ok`."""
    hints: tuple[str, ...] = ()
    """What to change."""
    notes: tuple[str, ...] = ()
    """What is worth knowing beside the reason."""

    @classmethod
    def of(cls, error: Error) -> Status:
        head = f"{error.location}: {error.message}" if error.location else error.message
        return cls(False, head, tuple(error.hints), tuple(error.notes))

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        if self.ok:
            return "yes"
        notes, hints = (f"note: {note}" for note in self.notes), (f"hint: {hint}" for hint in self.hints)
        return "\n".join([f"no: {self.reason}", *notes, *hints])


YES = Status(True)
