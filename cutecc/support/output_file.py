"""Writing the files that the user names."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from cutecc.errors import UsageError
from cutecc.support.open_folder import replace_file


def write_output(path: Path, fill: Callable[[BinaryIO], object]) -> None:
    """Have what `fill` writes be the content of the user's file, whole or not at all; `UsageError` when it cannot be.

    A link stays, and what it leads to is written. A device or a pipe gets it as it comes.
    """
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as file:
                fill(file)
        else:
            replace_file(Path(os.path.realpath(path)), fill)
    except (OSError, ValueError) as failure:
        hints = [remedy(failure, "file")] if isinstance(failure, OSError) else []
        raise UsageError(f"cannot write {path}: {reason(failure)}", hints=hints) from None


def reason(failure: OSError | ValueError) -> str:
    """Why a file cannot be read or written. A name with a null byte, or too many bytes, is a `ValueError`."""
    return (failure.strerror if isinstance(failure, OSError) else None) or str(failure)


def remedy(failure: OSError, kind: str) -> str:
    """The hint of an error about a `kind`, file or folder, of the user's that cannot be written."""
    is_full = failure.errno in (errno.ENOSPC, errno.EDQUOT)
    return f"{'free some space, or ' if is_full else ''}name another {kind}"
