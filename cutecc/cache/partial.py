"""Files of the cache that are being written, and what killed processes left of such."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from cutecc.support.open_folder import OpenFolder

PARTIAL = ".partial-"
"""Begins their names."""


@contextmanager
def partial_file(folder: Path, size: int) -> Generator[tuple[Path, BinaryIO]]:
    """A new file of `folder`, of `size` bytes from the start, to be written and renamed. Raises `OSError`.

    It is removed when that fails, and is nobody else's to remove meanwhile.
    """
    path = folder / f"{PARTIAL}{os.getpid()}-{secrets.token_hex(8)}"
    with OpenFolder(folder) as opened:
        descriptor = opened.create(path.name, 0o600)
    with open(descriptor, "wb") as file:
        try:
            os.truncate(descriptor, size)
            yield path, file
        except BaseException:
            with contextlib.suppress(OSError):
                path.unlink()
            raise


def remove_abandoned(path: Path, now: float) -> None:
    """Remove the file `path`, unless somebody writes it. Raises `OSError`.

    Where the file system has no locks, somebody does if its date is near to `now`, in seconds since 1970.
    """
    with OpenFolder(path.parent) as folder:
        if path.is_file() and not path.is_symlink():
            folder.remove_abandoned(path.name, now)
        else:
            remove(path)


def remove(path: Path) -> None:
    """Remove the file `path`, or the folder that somebody has put in its place. Raises `OSError`."""
    try:
        path.unlink(missing_ok=True)
    except IsADirectoryError:
        shutil.rmtree(path)
