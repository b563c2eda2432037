"""What a disk may hold after a loss of power: what was synced, and of the rest any part.

The content of a file lasts from its `fsync` on; without, it may be what was synced before, nothing, zeros, or the first
half. A name lasts from the `fsync` of its folder on; of the changes of names since, any may be lost.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from file_operations import Operation


@dataclass
class _File:
    content: bytes = b""
    synced: bytes | None = None
    """`None` of a file that never was."""

    def contents(self) -> list[bytes]:
        """What may be left of it."""
        if self.content == self.synced:
            return [self.content]
        half = self.content[: len(self.content) // 2]
        return [*({self.synced, half, bytes(len(self.content)), self.content} - {None}), b""]  # pyright: ignore[reportReturnType]


_Change = tuple[str, "_File | None", str | None]
"""A name, what it stands for from now on, and the name that goes with it, of a renamed file."""


@dataclass
class Disk:
    """Follows what a process does below a folder."""

    root: Path
    _names: dict[str, _File] = field(default_factory=dict[str, _File])
    _lasting: dict[str, _File] = field(default_factory=dict[str, _File])
    _changes: list[_Change] = field(default_factory=list[_Change])

    def __post_init__(self) -> None:
        """What is there now has been for long."""
        for path in self.root.rglob("*"):
            if path.is_file():
                content = path.read_bytes()
                self._names[str(path)] = _File(content, content)
        self._lasting = dict(self._names)

    def done(self, operation: Operation) -> None:
        """Take an operation that has been made."""
        path = operation.path
        match operation.kind:
            case "open":
                if path not in self._names and os.path.isfile(path):
                    self._change(path, _File())
                self._look(path)
            case "write" | "truncate":
                self._look(path)
            case "fsync" if os.path.isdir(path):
                kept = [change for change in self._changes if os.path.dirname(change[0]) != path]
                for change in self._changes:
                    if change not in kept:
                        _apply(self._lasting, change)
                self._changes = kept
            case "fsync":
                if path in self._names:
                    self._names[path].synced = self._names[path].content
            case "replace":
                self._change(path, self._names[operation.source], operation.source)
            case "unlink":
                self._change(path, None)
            case _:
                pass

    def states(self, chance: random.Random, most: int) -> Iterator[dict[str, bytes]]:
        """Some of what may be left now: names from the root, with their contents."""
        yield self._state(self._changes, chance, newest=True)
        yield self._state([], chance, newest=False)
        for number in range(most):
            left = [change for change in self._changes if chance.random() < (0.5 if number % 2 else 0.85)]
            yield self._state(left, chance, newest=number % 3 == 2)

    def _state(self, changes: list[_Change], chance: random.Random, *, newest: bool) -> dict[str, bytes]:
        names = dict(self._lasting)
        for change in changes:
            _apply(names, change)
        return {
            os.path.relpath(name, self.root): file.content if newest else chance.choice(file.contents())
            for name, file in names.items()
        }

    def _look(self, path: str) -> None:
        if path in self._names and os.path.isfile(path):
            # Another file of its content, so that what others were called keeps theirs.
            with os.fdopen(_REAL_OPEN(path, os.O_RDONLY), "rb") as file:
                self._names[path].content = file.read()

    def _change(self, name: str, file: _File | None, source: str | None = None) -> None:
        change = (name, file, source)
        _apply(self._names, change)
        self._changes.append(change)


_REAL_OPEN = os.open


def _apply(names: dict[str, _File], change: _Change) -> None:
    name, file, source = change
    if source is not None:
        names.pop(source, None)
    if file is None:
        names.pop(name, None)
    else:
        names[name] = file
