"""Every change that this process makes to files below a folder, one after the other: to be counted, failed, logged."""

from __future__ import annotations

import builtins
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


@dataclass(frozen=True)
class Operation:
    """One change, as it is about to be made."""

    kind: str
    """`open` for writing, `write`, `truncate`, `fsync`, `replace`, `unlink`, `mkdir`, or `read`: opening to read."""
    path: str
    """What is changed; of `replace`, the new name."""
    source: str = ""
    """Of `replace`, the old name."""


Hook = Callable[[Operation], None]
"""Called before each operation; what it raises becomes the operation's failure."""
_Done = Callable[[Operation], None]


@contextmanager
def operations_below(root: Path, before: Hook, after: _Done = lambda _: None) -> Iterator[None]:
    """Call `before` and `after` around what this process does to files below `root`, in its functions for that."""
    top = os.path.realpath(root)

    def place(path: Any, dir_fd: int | None = None) -> str:
        if isinstance(path, int):
            return os.readlink(f"/proc/self/fd/{path}")
        base = os.getcwd() if dir_fd is None else os.readlink(f"/proc/self/fd/{dir_fd}")
        folder, name = os.path.split(os.path.join(base, os.fsdecode(path)))
        return os.path.join(os.path.realpath(folder), name)

    def around(operation: Operation, act: Callable[[], Any]) -> Any:
        if operation.path != top and not operation.path.startswith(f"{top}/"):
            return act()
        before(operation)
        result = act()
        after(operation)
        return result

    real = {name: getattr(os, name) for name in ("open", "fsync", "replace", "rename", "unlink", "mkdir", "truncate")}
    real_open, real_write = builtins.open, os.write

    def open_(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        kind = "open" if flags & _WRITES else "read"
        return around(Operation(kind, place(path, dir_fd)), lambda: real["open"](path, flags, mode, dir_fd=dir_fd))

    def one(name: str, kind: str) -> Callable[..., Any]:
        def changed(path: Any, *arguments: Any, **settings: Any) -> Any:
            operation = Operation(kind, place(path, settings.get("dir_fd")))
            return around(operation, lambda: real[name](path, *arguments, **settings))

        return changed

    def replaced(name: str) -> Callable[..., Any]:
        def changed(source: Any, target: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> Any:
            operation = Operation("replace", place(target, dst_dir_fd), place(source, src_dir_fd))
            return around(operation, lambda: real[name](source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd))

        return changed

    def write(descriptor: int, data: bytes) -> int:
        return around(Operation("write", place(descriptor)), lambda: real_write(descriptor, data))

    class Written(io.FileIO):
        def write(self, data: Any) -> int:
            return around(Operation("write", place(self.fileno())), lambda: super(Written, self).write(data))

    def open_file(
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Any = None,
    ) -> Any:
        if not set(mode) & set("wax+"):
            if isinstance(file, int):
                return real_open(file, mode, buffering, encoding, errors, newline, closefd, opener)
            operation = Operation("read", place(file))
            return around(
                operation, lambda: real_open(file, mode, buffering, encoding, errors, newline, closefd, opener)
            )
        raw = Written(file, mode.replace("b", "").replace("t", ""), closefd, opener or open_)
        if buffering == 0:
            return raw
        buffered = io.BufferedWriter(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding, errors, newline)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", open_)
        patch.setattr(os, "write", write)
        patch.setattr(builtins, "open", open_file)
        patch.setattr(io, "open", open_file)
        for name, kind in (("fsync", "fsync"), ("unlink", "unlink"), ("mkdir", "mkdir"), ("truncate", "truncate")):
            patch.setattr(os, name, one(name, kind))
        for name in ("replace", "rename"):
            patch.setattr(os, name, replaced(name))
        yield
