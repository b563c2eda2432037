"""Reading plain files alone: a pipe or a device that somebody put in a file's place could go on for ever."""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

from cutecc.errors import RecordError

if TYPE_CHECKING:
    from pathlib import Path


@contextmanager
def opened(path: str | Path) -> Generator[BinaryIO]:
    """The file at `path` for reading. Raises `OSError`, `ValueError`, and `RecordError` for what is no plain file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise RecordError(f"{path} is not a plain file")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            yield file
    finally:
        os.close(descriptor)


def read_plain(path: Path, longest: int) -> bytes:
    """The content of the file at `path`. Raises as `opened` does, and `RecordError` for more than `longest` bytes."""
    with opened(path) as file:
        if (size := os.fstat(file.fileno()).st_size) > longest:
            raise RecordError(f"{path} has {size} bytes; at most {longest} are read")
        return file.read(longest)
