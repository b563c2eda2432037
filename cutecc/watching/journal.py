"""What a watched process has done, an event a line: each is whole on disk before the program goes on.

FOLDER/recorded/PID-TIME.jsonl    one for each process, appended to
FOLDER/recorded/KEY.mlirbc        a traced module, under a hash of it and of what it is compiled with
FOLDER/recorded/KEY.lines         what its trace knows of the user's program, where the trace has lines
"""

from __future__ import annotations

import json
import os
import time
from typing import Any

RECORDED = "recorded"
JOURNAL = ".jsonl"
MODULE = ".mlirbc"
LINES = ".lines"
FORMAT = 1
"""The version of the events."""


class Journal:
    """Writes the events of this process, and of each process that it forks into a file of its own."""

    def __init__(self, folder: str) -> None:
        """`folder` is that of the watch; it is made when it is not there. Raises `OSError`."""
        self._folder = os.path.join(folder, RECORDED)
        os.makedirs(self._folder, exist_ok=True)
        self._process = 0
        self._file = -1

    def write(self, event: str, **facts: Any) -> None:
        """Append an event. Raises `OSError`."""
        if self._process != os.getpid():
            self._open()
        self._append({"event": event, "time": time.time(), **facts})

    def keep(self, name: str, data: bytes) -> None:
        """Write a file of the record, unless it is there. Raises `OSError`."""
        path = os.path.join(self._folder, name)
        if os.path.exists(path):
            return
        partial = f"{path}.{os.getpid()}"
        with open(partial, "wb") as file:
            file.write(data)
        os.replace(partial, path)

    def _open(self) -> None:
        import sys

        self._process = os.getpid()
        name = f"{self._process}-{time.time_ns():x}{JOURNAL}"
        self._file = os.open(
            os.path.join(self._folder, name), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644
        )
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
        os.write(self._file, line)
