"""What a watched process has done, an event a line: each is whole on disk before the program goes on.

The folder is opened once, and its files are reached by their names in it: a link that the program puts in its place, or
in that of a file, leads nowhere. Nor is anything written to what has become of a descriptor that the program closed.

FOLDER/recorded/PID-TIME.jsonl    one for each process, appended to
FOLDER/recorded/KEY.mlirbc        a traced module, under a hash of it and of what it is compiled with
FOLDER/recorded/KEY.lines         what its trace knows of the user's program, where the trace has lines
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import time
from typing import Any

from cutecc.support.open_folder import OpenFolder

MARK = ".cutecc-watch"
"""Is in a folder that `cutecc watch` made, and says which one: programs that were told write to no other."""
RECORDED = "recorded"
JOURNAL = ".jsonl"
MODULE = ".mlirbc"
LINES = ".lines"
FORMAT = 1
"""The version of the events."""
WARNED = ".warned"
"""Says, in the folder of the watch, why something is not recorded; the first reason alone."""


class Journal:
    """Writes the events of this process, and of each process that it forks into a file of its own."""

    def __init__(self, folder: str, mark: str = "") -> None:
        """`folder` is that of the watch; without the `mark` that it has to have it is made when it is not there.

        Raises `OSError`.
        """
        self._path = folder
        self._mark = mark
        if not mark:
            os.makedirs(folder, exist_ok=True)
        self._folder = self._opened()
        self._identity = _identity(self._folder.descriptor)
        self._process = 0
        self._file = -1
        self._file_identity: tuple[int, int] | None = None

    def write(self, event: str, **facts: Any) -> None:
        """Append an event. Raises `OSError`."""
        if self._process != os.getpid() or _identity(self._file) != self._file_identity:
            self._begin()
        self._append({"event": event, "time": time.time(), **facts})

    def fail(self, message: str) -> None:
        """Say why nothing can be written, where there may be room for that."""
        with contextlib.suppress(OSError), self._watch() as folder:
            descriptor = folder.open(WARNED, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            with open(descriptor, "w", encoding="utf-8", errors="replace") as file:
                file.write(message)

    def keep(self, name: str, data: bytes) -> None:
        """Write a file of the record, unless it is there. Raises `OSError`."""
        folder = self._recorded()
        if not folder.is_file(name):
            folder.replace(name, lambda file: file.write(data), f"{name}.{os.getpid()}")

    def _opened(self) -> OpenFolder:
        with self._watch() as folder:
            return folder.inner(RECORDED, make=True)

    def _watch(self) -> OpenFolder:
        """The folder of the watch. Raises `OSError`."""
        folder = OpenFolder(self._path)
        try:
            if self._mark and _content(folder, MARK) != self._mark.encode():
                raise OSError(errno.ESTALE, f"{self._path} is not the folder of the watch any more")
        except OSError:
            folder.close()
            raise
        return folder

    def _recorded(self) -> OpenFolder:
        """The folder that was opened, once more if the program has closed it. Raises `OSError`."""
        if _identity(self._folder.descriptor) != self._identity:
            folder = self._opened()
            if _identity(folder.descriptor) != self._identity:
                folder.close()
                raise OSError(errno.ESTALE, f"{self._path} is not the folder of the watch any more")
            self._folder = folder
        return self._folder

    def _begin(self) -> None:
        import sys

        self._process = os.getpid()
        name = f"{self._process}-{time.time_ns():x}{JOURNAL}"
        opened = self._recorded().open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_EXCL, 0o644)
        if opened <= 2:
            # Of a standard stream that is closed: what the program writes there is not to come into the journal.
            opened, standard = fcntl.fcntl(opened, fcntl.F_DUPFD_CLOEXEC, 3), opened
            os.close(standard)
        self._file = opened
        self._file_identity = _identity(self._file)
        self._append(
            {
                "event": "process",
                "time": time.time(),
                "format": FORMAT,
                "pid": self._process,
                "command": list(getattr(sys, "orig_argv", sys.argv)),
                "folder": os.getcwd(),
            }
        )

    def _append(self, event: dict[str, Any]) -> None:
        # A name of bytes that are no Unicode has characters of its own in Python, which JSON does not take.
        line = json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode(errors="replace") + b"\n"
        while line:
            line = line[os.write(self._file, line) :]


def _identity(descriptor: int) -> tuple[int, int] | None:
    """Which file a descriptor is of, `None` for a closed one."""
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _content(folder: OpenFolder, name: str) -> bytes:
    with open(folder.open(name, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        return file.read(1 << 10)
