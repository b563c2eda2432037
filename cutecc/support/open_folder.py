"""A folder that is held open, and its files by their names in it.

Whoever puts a link in the place of the folder, or of a file in it, leads nobody anywhere: the folder is the one that
was opened, and a link in it is an error (`ELOOP`). Needs nothing beside Python: it runs in watched programs too.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import stat
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

CLOCKS_APART = 3600.0
"""Seconds: hosts that share a folder have clocks of their own, so a date may be so far from now, also after it."""
_ATTEMPTS = 64
_A_MOMENT = 0.001
"""Seconds."""
_BETWEEN_TRIES = 0.05
"""Seconds."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class OpenFolder:
    """A folder, until it is closed. Its methods raise `OSError`."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the folder `path`, which may be a link to one: whoever names it means where that leads."""
        self.descriptor = os.open(path, _FOLDER)

    def __enter__(self) -> OpenFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give it up; a second time does nothing."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    @property
    def handle(self) -> str:
        """A path of this very folder, whatever takes the place of its name: for other processes too, while it is open.

        As Linux has it, where `/proc` is.
        """
        return f"/proc/{os.getpid()}/fd/{self.descriptor}"

    def inner(self, name: str, *, make: bool = False) -> OpenFolder:
        """The folder `name` in this one, no link to one; with `make` it is made when it is not there."""
        if make:
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, dir_fd=self.descriptor)
        found = OpenFolder.__new__(OpenFolder)
        found.descriptor = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=self.descriptor)
        return found

    def open(self, name: str, flags: int, mode: int = 0o666) -> int:
        """A descriptor of the file `name`; one that is made has `mode`, less the umask."""
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=self.descriptor)

    def create(self, name: str, mode: int = 0o666) -> int:
        """A descriptor of a new file, locked until it is closed: `remove_abandoned` leaves it alone."""
        for left in reversed(range(_ATTEMPTS)):
            try:
                descriptor = self.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
            except FileExistsError:
                if not left or left == _ATTEMPTS - 1:
                    raise
                time.sleep(_A_MOMENT)
                continue
            with contextlib.suppress(BlockingIOError):
                lock(descriptor)
                if os.fstat(descriptor).st_nlink:
                    return descriptor
            # Somebody takes it for abandoned, as it was not locked at once, and is about to remove it.
            os.close(descriptor)
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    def locked(self, name: str, seconds: float = 0.0) -> int:
        """A descriptor of the plain file `name`, made if it is not there, which is locked until `unlock`.

        Raises `BlockingIOError` when somebody else has had it locked for so long.
        """
        end = time.monotonic() + seconds
        descriptor = self.open(name, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(errno.EINVAL, f"{name} is not a plain file")
            while True:
                try:
                    lock(descriptor)
                    return descriptor
                except BlockingIOError:
                    if time.monotonic() >= end:
                        raise
                time.sleep(_BETWEEN_TRIES)
        except BaseException:
            os.close(descriptor)
            raise

    def names(self) -> list[str]:
        """What is in it."""
        return os.listdir(self.descriptor)

    def is_file(self, name: str) -> bool:
        """Whether `name` is a plain file, and no link to one."""
        return self.permissions(name) is not None

    def permissions(self, name: str) -> int | None:
        """Who may read and write the plain file `name`; `None` where there is none."""
        try:
            mode = os.stat(name, dir_fd=self.descriptor, follow_symlinks=False).st_mode
        except FileNotFoundError:
            return None
        return mode & 0o777 if stat.S_ISREG(mode) else None

    def remove(self, name: str) -> None:
        """Remove the file `name`, if it is there."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.descriptor)

    def remove_abandoned(self, name: str, now: float) -> bool:
        """Remove a file that `create` made, unless its writer still has it; returns whether it is gone.

        Where the file system has no locks, one whose date is far from `now`, in seconds since 1970, is abandoned.
        """
        try:
            descriptor = self.open(name, os.O_RDWR | os.O_NONBLOCK)
        except FileNotFoundError:
            return True
        try:
            has_lock = lock(descriptor)
            status = os.fstat(descriptor)
            if not status.st_nlink:
                return True  # what has its name now is another's
            # Removed before the lock is free again: a writer that comes for it meanwhile sees that.
            if has_lock or abs(now - status.st_mtime) > CLOCKS_APART:
                self.remove(name)
                return True
        except BlockingIOError:
            pass
        finally:
            os.close(descriptor)
        return False

    def append(self, name: str, data: bytes) -> None:
        """Write `data` behind what the file `name` holds, which is made when it is not there."""
        with open(self.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "wb") as file:
            file.write(data)

    def replace(self, name: str, fill: Callable[[BinaryIO], object], partial: str, *, lasting: bool = False) -> int:
        """Have what `fill` writes be the content of the file `name`, whole or not at all; returns its size in bytes.

        It is written as `partial`, in the place of what is there, and renamed. `lasting`: also after a loss of power,
        the file holds this content or the one before.
        """
        self.remove(partial)
        try:
            with open(self.create(partial), "wb") as file:
                fill(file)
                size = file.tell()
                file.flush()
                if lasting:
                    os.fsync(file.fileno())
                os.replace(partial, name, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)
        except BaseException:
            with contextlib.suppress(OSError):
                self.remove(partial)
            raise
        if lasting:
            self.sync()
        return size

    def sync(self, name: str | None = None) -> None:
        """Have the names in it survive a loss of power, or the content of the file `name`, where the system can."""
        descriptor = self.descriptor if name is None else self.open(name, os.O_RDONLY | os.O_NONBLOCK)
        try:
            os.fsync(descriptor)
        except OSError as failure:
            if failure.errno not in (errno.EINVAL, errno.ENOTSUP):
                raise
        finally:
            if name is not None:
                os.close(descriptor)


def replace_file(path: Path, fill: Callable[[BinaryIO], object]) -> int:
    """Have what `fill` writes be the content of the file `path`; returns its size in bytes. Raises `OSError`.

    Whole or not at all: who reads it sees the old content or the new one, also after a loss of power. Who may read it
    stays as it was. What killed writers of the file left beside it is removed.
    """
    with OpenFolder(path.parent) as folder:
        _remove_abandoned(folder, path.name)
        partial = f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}.partial"
        permissions = folder.permissions(path.name)

        def fill_as_before(file: BinaryIO) -> None:
            if permissions is not None:
                os.fchmod(file.fileno(), permissions)
            fill(file)

        return folder.replace(path.name, fill_as_before, partial, lasting=True)


def _remove_abandoned(folder: OpenFolder, name: str) -> None:
    partial = re.compile(rf"\.{re.escape(name)}\.\d+-[0-9a-f]{{8}}\.partial")
    for each in filter(partial.fullmatch, folder.names()):
        with contextlib.suppress(OSError):
            folder.remove_abandoned(each, time.time())


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


def unlock(descriptor: int) -> None:
    """Close what `OpenFolder.locked` returned, whoever else has it: a child that was forked meanwhile."""
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)
