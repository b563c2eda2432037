"""The file that holds the smallest module so far: whole at any time, and enough to go on from."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import msgspec

from cutecc.errors import RecordError, UsageError
from cutecc.record.plain_file import read_plain
from cutecc.record.reproducer import MARK, Reproducer
from cutecc.record.whole_file import write_whole
from cutecc.support.malformed import MALFORMED
from cutecc.workbench.reduction.oracles import Oracle

_MARK = "// cutecc-reduced: "
_LONGEST = 1 << 30
"""Bytes of a file that is looked at."""


class Origin(msgspec.Struct, frozen=True):
    """What a file was reduced from, and what for."""

    input: str
    """The SHA-256 of the module at first."""
    test: str
    """The SHA-256 of what says what has to go on failing."""

    @classmethod
    def of(cls, module: bytes, oracle: Oracle) -> Origin:
        """That of reducing `module` for `oracle`."""
        return cls(hashlib.sha256(module).hexdigest(), hashlib.sha256(repr(oracle).encode()).hexdigest())


@dataclass(frozen=True)
class Output:
    """The file."""

    path: Path
    origin: Origin
    reproducer: Reproducer | None = None
    """Its first lines, where the failure is one that `cutecc repro` can show."""

    def write(self, text: str) -> None:
        """Have it hold a module. Raises `RecordError`."""
        header = self.reproducer.header(self.path.name) if self.reproducer else ""
        origin = msgspec.json.encode(self.origin).decode()
        write_whole(self.path, [f"{header}{_MARK}{origin}\n{text}".encode()], "the reduced module")

    def earlier(self) -> bytes | None:
        """What an earlier run came to, which was for the same; `None` where there is no such file.

        Raises `UsageError` for any other file of that name.
        """
        try:
            data = read_plain(self.path, _LONGEST)
        except FileNotFoundError:
            return None
        except OSError as failure:
            raise UsageError(f"cannot read {self.path}: {failure.strerror}") from None
        except RecordError as failure:
            # A pipe, or a device.
            raise UsageError(failure.message, hints=["name another file with --output"]) from None
        lines = data.decode(errors="replace").split("\n", 3)
        index = 2 if lines[0].startswith(MARK) else 0
        if index < len(lines) and lines[index].startswith(_MARK):
            try:
                origin = msgspec.json.decode(lines[index].removeprefix(_MARK), type=Origin)
            except MALFORMED:
                origin = None
            if origin == self.origin:
                return data
        raise UsageError(
            f"{self.path} is there already, and not what this reduction came to",
            hints=["name another file with --output, or remove it"],
        )
