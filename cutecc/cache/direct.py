"""Direct entries: what a kernel file leads to, as long as nothing that its trace read has changed."""

from __future__ import annotations

import contextlib
import os
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from cutecc.cache.fingerprint import digest_of, file_digest, own_fingerprint
from cutecc.record import Remark, Signature
from cutecc.support.flavours import flavour
from cutecc.support.malformed import MALFORMED

_MOST_READ = 256 << 20
"""Bytes: hashing more at every start would cost what is saved."""
_CLOCK_TICK_NS = 20_000_000
"""How coarse the times of files are: what changed so shortly before may have changed again."""
_VARIABLES = ("CUTE_", "CUTLASS_", "PYTHON")
"""Environment variables that decide about tracing begin so."""
_PACKAGES = (".dist-info", ".egg-info", ".egg-link", ".pth")


class Snapshot(msgspec.Struct):
    """The state of what a trace read. Paths are absolute."""

    files: dict[str, str]
    """The hash of each file's content."""
    absent: list[str]
    folders: dict[str, list[str]]
    """Of each folder where modules are looked for: those of `names` that are in it."""
    names: list[str]
    variables: dict[str, str | None]
    """The hash of each environment variable's value, which may be a secret; `None` of one that is not set."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing was read, so that it holds everywhere."""
        return not (self.files or self.absent or self.folders or self.names or self.variables)


class DirectEntry(msgspec.Struct):
    """What a kernel file leads to."""

    kept_as: str
    """Its own name in the store."""
    key: str
    """Of the entry that holds the record."""
    module: str
    """The hash of the traced module with its locations, which the entry has to be made from to name this file's."""
    name: str
    signature: Signature
    warnings: list[Remark]
    snapshot: Snapshot


def encode(entry: DirectEntry) -> bytes:
    """The entry as JSON."""
    return msgspec.json.encode(entry)


def decode(data: bytes) -> DirectEntry | None:
    """The entry that `encode` wrote; `None` for anything else."""
    try:
        return msgspec.json.decode(data, type=DirectEntry)
    except MALFORMED:
        return None


def take(
    files: Iterable[str],
    absent: Sequence[str],
    folders: Iterable[str],
    names: Sequence[str],
    variables: Mapping[str, str | None],
    *,
    since_ns: int,
) -> Snapshot | None:
    """The state now, with the values that `variables` had.

    `None` when something has changed since `since_ns`, a time in ns, or there is too much to hash.
    """
    digests: dict[str, str] = {}
    size = 0
    try:
        for path in files:
            status = os.stat(path)
            size += status.st_size
            if max(status.st_mtime_ns, status.st_ctime_ns) > since_ns - _CLOCK_TICK_NS or size > _MOST_READ:
                return None
            digests[path] = file_digest(path)
    except OSError:
        return None
    wanted = frozenset(names)
    present = {folder: _present(folder, wanted) for folder in folders}
    values = {name: _value_digest(value) for name, value in variables.items()}
    return Snapshot(digests, [*absent], present, [*names], values)


def holds(snapshot: Snapshot) -> bool:
    """Whether everything is as it was."""
    if any(_value_digest(os.environ.get(name)) != digest for name, digest in snapshot.variables.items()):
        return False
    try:
        if any(file_digest(path) != digest for path, digest in snapshot.files.items()):
            return False
    except OSError:
        return False
    wanted = frozenset(snapshot.names)
    return not any(map(os.path.exists, snapshot.absent)) and all(
        _present(folder, wanted) == present for folder, present in snapshot.folders.items()
    )


def environment() -> str:
    """A hash of what every trace depends on: Python, cutecc, installed packages, which flavour of the DSL
    the driver has chosen, the search path and variables."""
    packages: list[tuple[str, int]] = []
    for folder in sys.path:
        # A package that is installed, upgraded or removed changes one of these.
        if os.path.basename(folder) in ("site-packages", "dist-packages"):
            with contextlib.suppress(OSError), os.scandir(folder) as items:
                found = ((item.path, item.stat().st_mtime_ns) for item in items if item.name.endswith(_PACKAGES))
                packages += sorted(found)
    variables = {name: value for name, value in os.environ.items() if name.startswith(_VARIABLES)}
    flags = [int(flag) for flag in sys.flags]
    return digest_of(
        [platform.python_version(), flags, own_fingerprint(), packages, flavour(), sys.path, variables, os.getcwd()],
    )


def _value_digest(value: str | None) -> str | None:
    return None if value is None else digest_of(value)


def _present(folder: str, names: frozenset[str]) -> list[str]:
    """Those of `names` that a file or folder in `folder` has, by the part before the first dot."""
    try:
        return sorted({stem for name in os.listdir(folder) if (stem := name.partition(".")[0]) in names})
    except OSError:
        return []
