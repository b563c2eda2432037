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


def hints_for(path: str) -> list[str]:
    """What to do instead with a file that a command cannot use, as far as the file says."""
    from cutecc.record.bundle import OPERATION_HINT, is_operation

    return [OPERATION_HINT] if is_operation(path) else []


def check_output(path: Path | None) -> None:
    """Raise `UsageError` when a file cannot be written for want of its folder, before there is much to lose."""
    if path is not None and not path.absolute().parent.is_dir():
        raise UsageError(f"cannot write {path}: there is no folder {path.parent}")
