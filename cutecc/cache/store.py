"""The store: named, immutable contents in one folder, safe under many processes and threads.

A file appears whole (written aside, flushed to disk, renamed) or not at all, so reading needs no lock. Each begins with
a hash of its name and content; one that does not match is removed, and its content made anew by whoever wants it.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cutecc.cache import eviction
from cutecc.cache.folder import CacheError, cache_folder, check_folder, make_folder
from cutecc.cache.partial import partial_file, remove
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
        found = _read(path, self.limit)
        if found is None:
            return None
        content = unsealed(name, found)
        try:
            if content is None:
                remove(path)
            else:
                os.utime(path)
        except OSError:
            pass  # a folder that can only be read
        return content

    def peek(self, name: str) -> bytes | None:
        """The content called `name`, which does not count as used; `None` when there is none or it is damaged."""
        found = _read(self.folder / name, self.limit) if check_folder(self.folder) else None
        return None if found is None else unsealed(name, found)

    def put(self, name: str, content: bytes) -> None:
        """Make room, and store `content` under `name`, in the place of what is there.

        Raises `CacheError` when it cannot be written. More than the whole limit is not stored.
        """
        assert _NAME.fullmatch(name)
        size = _HEADER + len(content)
        if size > self.limit:
            return
        make_folder(self.folder)
        try:
            with partial_file(self.folder, size) as (partial, file):
                # With the file counted as it will be: whoever is killed from here on leaves no more than the limit.
                eviction.make_room(self.folder, self.limit, now=os.fstat(file.fileno()).st_mtime)
                file.write(_header(name, content))
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
                _put_in_place(partial, self.folder / name)
        except OSError as failure:
            raise CacheError(f"the cache {self.folder} cannot be written: {failure.strerror}") from None

    def entries(self) -> list[Entry]:
        """What is stored, the last used first."""
        found = [Entry(item.name, status.st_size, status.st_mtime) for item, status in self._files()]
        return sorted(found, key=lambda entry: (-entry.used, entry.name))

    def remove(self, name: str) -> None:
        """Remove what is called `name`, if it is there. Raises `CacheError`."""
        try:
            remove(self.folder / name)
        except OSError as failure:
            raise CacheError(f"the cache {self.folder} cannot be changed: {failure.strerror}") from None

    def unfinished(self) -> tuple[int, int]:
        """How many files are being written, or were when their writers were killed, and their bytes together."""
        found = eviction.unfinished(self.folder) if check_folder(self.folder) else []
        return len(found), sum(status.st_size for _, status in found)

    def remove_unfinished(self) -> None:
        """Remove what killed processes left."""
        if check_folder(self.folder):
            eviction.remove_unfinished(self.folder, now=time.time())

    def verify(self, is_of_another: Callable[[str, bytes], bool] = lambda _name, _content: False) -> list[str]:
        """Read everything, and remove what is damaged, not this user's own, or under another's name as told.

        Returns the names of that.
        """
        damaged: list[str] = []
        for item, _ in self._files():
            found = _read(Path(item.path), self.limit)
            if found is None and not os.path.lexists(item.path):
                continue  # another process has just removed it
            content = None if found is None else unsealed(item.name, found)
            if content is None or is_of_another(item.name, content):
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


def _put_in_place(partial: Path, path: Path) -> None:
    """Give a written file its name. Raises `OSError`."""
    try:
        os.replace(partial, path)
    except IsADirectoryError:
        remove(path)
        os.replace(partial, path)


def _read(path: Path, longest: int) -> bytes | None:
    """The bytes of a plain file that only this user can write, of at most `longest`; `None` for anything else."""
    try:
        # A pipe in its place must not make us wait.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        mine = status.st_uid == os.geteuid() and not status.st_mode & _OTHERS_WRITE
        if not stat.S_ISREG(status.st_mode) or not mine or status.st_size > longest:
            return None
        with open(descriptor, "rb", closefd=False) as file:
            return file.read()
    except OSError:
        return None
    finally:
        os.close(descriptor)


def sealed(name: str, content: bytes) -> bytes:
    """The file that holds `content` under `name`."""
    return _header(name, content) + content


def unsealed(name: str, data: bytes) -> bytes | None:
    """The content of the file called `name`, `None` when it is damaged."""
    content = data[_HEADER:]
    return content if data[:_HEADER] == _header(name, content) else None


def _header(name: str, content: bytes) -> bytes:
    """What a file begins with. The hash is of the name too: a file that has come under another's name is damaged."""
    digest = hashlib.sha256(name.encode() + b"\0")
    digest.update(content)
    return _MAGIC + digest.digest()
