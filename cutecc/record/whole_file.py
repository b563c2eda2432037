"""Writing a file whole or not at all: who reads it sees the old content or the new one, also after a loss of power."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from cutecc.errors import RecordError

if TYPE_CHECKING:
    from pathlib import Path


def write_whole(path: Path, data: bytes, what: str) -> None:
    """Have `data` be the content of the file `path`. Raises `RecordError`, which calls the file `what`."""
    partial = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}.partial")
    try:
        try:
            with partial.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)
    except OSError as failure:
        raise RecordError(
            f"cannot write {what} {path}: {failure.strerror}", hints=["free some space, or name another file"]
        ) from None


def _sync_folder(path: Path) -> None:
    """Have the new name of a file in the folder `path` survive a loss of power, where the file system can."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as failure:
        if failure.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)
