"""What a check of the installation finds: one line of `cutecc doctor`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "note", "fix"]
"""In order; worth knowing; to be mended."""


@dataclass(frozen=True)
class Finding:
    """What stands in one line."""

    subject: str
    """What was looked at, in a word."""
    state: State
    found: str
    """How it is."""
    do: str | None = None
    """What mends it, or what a note is good for: a command, or a sentence."""


def ok(subject: str, found: str) -> Finding:
    """That it is in order."""
    return Finding(subject, "ok", found)


def note(subject: str, found: str, do: str | None = None) -> Finding:
    """Something worth knowing, with which everything that it does not speak of works."""
    return Finding(subject, "note", found, do)


def fix(subject: str, found: str, do: str) -> Finding:
    """Something to be mended."""
    return Finding(subject, "fix", found, do)
