"""What a call of a product was given, before anything is known about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class Given:
    """What a call was given."""

    arguments: Mapping[str, Any]
    """A, B and the epilogue's operands by name: arrays and numbers, `None` for one that was left out."""
    stream: Any = None
    workspace: Any = None
    slices: int | None = None
