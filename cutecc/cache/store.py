"""The store: named, immutable contents in one folder, safe under many processes and threads.

A file appears whole (written aside, flushed to disk, renamed) or not at all, so reading needs no lock. Each begins with
a hash of its name and content; one that does not match is removed, and its content made anew by whoever wants it.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cutecc.cache import eviction
from cutecc.cache.folder import CacheError, cache_folder, check_folder, make_folder
from cutecc.config import Settings

_MAGIC = b"cutecc cache 1\n\0"
_HEADER = len(_MAGIC) + hashlib.sha256().digest_size
_NAME = re.compile(r"[0-9a-f]{64}\.(?:record|direct|run)")
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True)
class Entry:
    """A file of the store."""

    name: str
    """A key, `.record` for a compilation, `.direct` for what a kernel file leads to, `.run` for a user's command."""
    bytes: int
    used: float
    """When it was written or last read, in seconds since 1970."""

    @property
    def key(self) -> str:
        """The name without its ending."""
        return self.name.partition(".")[0]

    @property
    def is_record(self) -> bool:
        """Whether it holds a compilation."""
        return self.name.endswith(".record")

    @property
    def is_direct(self) -> bool:
        """Whether it holds what a kernel file leads to."""
        return self.name.endswith(".direct")

    @property
    def is_run(self) -> bool:
        """Whether it holds what a command of the user's compiled (`cutecc.cache.own_runs`)."""
        return self.name.endswith(".run")


class Store:
    """The files in one folder, of at most `limit` bytes together."""

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder = folder
        self.limit = limit

    @classmethod
    def of(cls, settings: Settings) -> Store:
        """The store that `settings` name, which need not exist yet. Raises `CacheError`."""
        return cls(cache_folder(settings), settings.cache_size)

    def get(self, name: str) -> bytes | None:
        """The content called `name`, which then counts as just used; `None` when there is none, or only a damaged one.

        Raises `CacheError` for a folder that is not this user's.
        """
        if not check_folder(self.folder):
            return None
        path = self.folder / name
        found = _read(path)
        if found is None:
            return None
        content = _checked(name, found)
        try:
            if content is None:
                path.unlink(missing_ok=True)
            else:
                os.utime(path)
        except OSError:
            pass  # a folder that can only be read
        return content

    def peek(self, name: str) -> bytes | None:
        """The content called `name`, which does not count as used; `None` when there is none or it is damaged."""
        found = _read(self.folder / name) if check_folder(self.folder) else None
        return None if found is None else _checked(name, found)

    def put(self, name: str, content: bytes) -> None:
        """Store `content` under `name`, in the place of what is there; then make room.

        Raises `CacheError` when it cannot be written. More than the whole limit is not stored.
        """
        assert _NAME.fullmatch(name)
        if _HEADER + len(content) > self.limit:
            return
        make_folder(self.folder)
        partial = self.folder / f"{eviction.PARTIAL}{os.getpid()}-{secrets.token_hex(8)}"
        try:
            try:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                with open(os.open(partial, flags, 0o600), "wb") as file:
                    file.write(_MAGIC + _digest(name, content))
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(partial, self.folder / name)
            except BaseException:
                partial.unlink(missing_ok=True)
                raise
        except OSError as failure:
            raise CacheError(f"the cache {self.folder} cannot be written: {failure.strerror}") from None
        eviction.make_room(self.folder, self.limit)

    def entries(self) -> list[Entry]:
        """What is stored, the last used first."""
        found = [Entry(item.name, status.st_size, status.st_mtime) for item, status in self._files()]
        return sorted(found, key=lambda entry: (-entry.used, entry.name))

    def remove(self, name: str) -> None:
        """Remove what is called `name`, if it is there. Raises `CacheError`."""
        try:
            (self.folder / name).unlink(missing_ok=True)
        except OSError as failure:
            raise CacheError(f"the cache {self.folder} cannot be changed: {failure.strerror}") from None

    def verify(self) -> list[str]:
        """Read everything, and remove what is damaged or not this user's own; returns the names of that."""
        damaged: list[str] = []
        for item, _ in self._files():
            found = _read(Path(item.path))
            if found is None and not os.path.lexists(item.path):
                continue  # another process has just removed it
            if found is None or _checked(item.name, found) is None:
                self.remove(item.name)
                damaged.append(item.name)
        return sorted(damaged)

    def _files(self) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
        if not check_folder(self.folder):
            return
        with os.scandir(self.folder) as items:
            for item in items:
                if _NAME.fullmatch(item.name):
                    try:
                        yield item, item.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue


def _read(path: Path) -> bytes | None:
    """The bytes of a plain file that only this user can write; `None` for anything else."""
    try:
        # A pipe in its place must not make us wait.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        mine = status.st_uid == os.geteuid() and not status.st_mode & _OTHERS_WRITE
        if not stat.S_ISREG(status.st_mode) or not mine:
            return None
        try:
            return file.read()
        except OSError:
            return None


def _checked(name: str, data: bytes) -> bytes | None:
    """The content of a file, `None` when it is damaged."""
    content = data[_HEADER:]
    return content if data[:_HEADER] == _MAGIC + _digest(name, content) else None


def _digest(name: str, content: bytes) -> bytes:
    """Of the name too: a file that has come under another's name is damaged."""
    digest = hashlib.sha256(name.encode() + b"\0")
    digest.update(content)
    return digest.digest()
