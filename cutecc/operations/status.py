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

    @classmethod
    def of(cls, error: Error) -> Status:
        head = f"{error.location}: {error.message}" if error.location else error.message
        return cls(False, head, tuple(error.hints))

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        return "yes" if self.ok else "\n".join([f"no: {self.reason}", *(f"hint: {hint}" for hint in self.hints)])


YES = Status(True)
