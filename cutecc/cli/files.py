"""Reading the files that the user names."""

from __future__ import annotations

from pathlib import Path

from cutecc.errors import UsageError


def read_input(path: Path) -> bytes:
    """The content of the user's file; `UsageError` when it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as failure:
        raise UsageError(f"cannot read {path}: {failure.strerror}") from None
