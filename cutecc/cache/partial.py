"""Files that are being written. Their writers hold a lock, so that one without is what a killed process left."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

PARTIAL = ".partial-"
"""Begins their names."""
CLOCKS_APART = 3600.0
"""Seconds: hosts that share a folder have clocks of their own, so a date may be so far from now, also after it."""
_ATTEMPTS = 16


@contextmanager
def partial_file(folder: Path, size: int) -> Generator[tuple[Path, BinaryIO]]:
    """A new file of `folder`, of `size` bytes from the start, to be written and renamed. Raises `OSError`.

    It is removed when that fails.
    """
    path, descriptor = _create(folder)
    with open(descriptor, "wb") as file:
        try:
            os.truncate(descriptor, size)
            yield path, file
        except BaseException:
            with contextlib.suppress(OSError):
                path.unlink()
            raise


def remove_abandoned(path: Path, now: float) -> bool:
    """Remove the file `path`, unless somebody writes it; returns whether it is gone. Raises `OSError`.

    Where the file system has no locks, somebody does if its date is near to `now`, in seconds since 1970.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    except OSError:  # a folder or a link: nothing that is written here
        remove(path)
        return True
    try:
        # Removed before the lock is free again: a writer that comes for it meanwhile sees that.
        if lock(descriptor) or abs(now - os.fstat(descriptor).st_mtime) > CLOCKS_APART:
            remove(path)
            return True
    except BlockingIOError:
        pass
    finally:
        os.close(descriptor)
    return False


def lock(descriptor: int) -> bool:
    """Lock an open file until it is closed; `False` where its file system has no locks.

    Raises `BlockingIOError` when somebody else has locked it.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return False
    return True


def remove(path: Path) -> None:
    """Remove the file `path`, or the folder that somebody has put in its place. Raises `OSError`."""
    try:
        path.unlink(missing_ok=True)
    except IsADirectoryError:
        shutil.rmtree(path)


def _create(folder: Path) -> tuple[Path, int]:
    """A new file with its lock held. Raises `OSError`."""
    for _ in range(_ATTEMPTS):
        path = folder / f"{PARTIAL}{os.getpid()}-{secrets.token_hex(8)}"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with contextlib.suppress(BlockingIOError):
            lock(descriptor)
            if os.fstat(descriptor).st_nlink:
                return path, descriptor
        os.close(descriptor)  # removed by who found it before it was locked
    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
