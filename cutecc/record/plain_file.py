"""Reading plain files alone: a pipe or a device that somebody put in a file's place could go on for ever."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

from cutecc.errors import RecordError

if TYPE_CHECKING:
    from pathlib import Path


@contextmanager
def opened(path: str | Path, *, follow: bool = True) -> Generator[BinaryIO]:
    """The file at `path` for reading. Raises `OSError`, `ValueError`, and `RecordError` for what is no plain file.

    Nor is a link, unless one may `follow` it: a user's own path leads where they want, a name in a record does not.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
    except OSError as failure:
        if failure.errno == errno.ELOOP and not follow:
            raise RecordError(f"{path} is a link, which a record does not have") from None
        raise
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise RecordError(f"{path} is not a plain file")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            yield file
    finally:
        os.close(descriptor)


def read_plain(path: Path, longest: int, *, follow: bool = True) -> bytes:
    """The content of the file at `path`. Raises as `opened` does, and `RecordError` for more than `longest` bytes."""
    with opened(path, follow=follow) as file:
        if (size := os.fstat(file.fileno()).st_size) > longest:
            raise RecordError(f"{path} has {size} bytes; at most {longest} are read")
        return file.read(longest)
