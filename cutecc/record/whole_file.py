"""Writing a file whole or not at all: who reads it sees the old content or the new one, also after a loss of power."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from cutecc.errors import RecordError
from cutecc.support.open_folder import replace_file
from cutecc.support.output_file import remedy

if TYPE_CHECKING:
    from pathlib import Path


def write_whole(path: Path, pieces: Iterable[bytes], what: str) -> int:
    """Have `pieces` be the content of the file `path`; returns its size in bytes.

    Raises `RecordError`, which calls the file `what`.
    """
    try:
        return replace_file(path, lambda file: file.writelines(pieces))
    except OSError as failure:
        raise RecordError(f"cannot write {what} {path}: {failure.strerror}", hints=[remedy(failure, "file")]) from None
