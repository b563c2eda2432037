"""Kernels of the cache in one file that can be copied: `cutecc cache export` and `cutecc cache import`.

The file is an archive as bundles are (`cutecc.record.archive`): `cache.json` first, then of each kernel the files that
the store has of it, as they are there, hash and all: `KEY.record`, and `KEY.direct` where it is found by a description.
What kernel files lead to and which commands have run stays where it is: that speaks of one machine's files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from cutecc.cache import direct, entries
from cutecc.cache.direct import DirectEntry
from cutecc.cache.entries import Stored
from cutecc.cache.eviction import SHARE_KEPT
from cutecc.cache.folder import CacheError
from cutecc.cache.store import Store, sealed, unsealed
from cutecc.config import size_text
from cutecc.errors import RecordError, UsageError
from cutecc.record import archive
from cutecc.record.archive_index import read_index
from cutecc.record.assembly import check_assembly
from cutecc.record.bundle import check_destination
from cutecc.record.plain_file import read_plain
from cutecc.record.whole_file import write_whole
from cutecc.support.output_file import reason

FORMAT = "cutecc/cache"
MAJOR, MINOR = 1, 0
INDEX = "cache.json"
_WHAT = "cache file"
_KEY = re.compile("[0-9a-f]{64}")
_AROUND = 512
"""Bytes, at most, that the archive and the store put around a content."""


class _Index(msgspec.Struct):
    format: str
    version: str


@dataclass(frozen=True)
class Portable:
    """A kernel of the cache that can be taken elsewhere."""

    key: str
    stored: Stored
    files: dict[str, bytes]
    """The contents that the store has of it, by name; the record first."""

    @property
    def described(self) -> bool:
        """Whether it is found by a description, as those of ready operations are."""
        return len(self.files) > 1


@dataclass(frozen=True)
class Refused:
    """What a file holds, and no cache takes."""

    name: str
    why: str


def portable(store: Store, key: str) -> Portable | None:
    """The kernel that `store` has under `key`; `None` when it has none, or only a damaged one. Raises `CacheError`."""
    record, led = f"{key}.record", f"{key}.direct"
    found = {name: content for name in (record, led) if (content := store.peek(name)) is not None}
    if led in found and not _is_described(key, direct.decode(found[led])):
        del found[led]
    try:
        return _checked(key, found)
    except RecordError:
        return None


def write(path: Path, kernels: Sequence[Portable]) -> int:
    """Write `kernels` to the file `path`, whole or not at all; returns its size in bytes.

    Raises `RecordError` for a file that cannot be written, `UsageError` when something else is there, and for more
    kernels than a file can hold.
    """
    check_destination(path, INDEX, _WHAT)
    size = sum(len(content) + _AROUND for each in kernels for content in each.files.values())
    if size > archive.LONGEST or 2 * len(kernels) >= archive.MOST_ENTRIES:
        raise UsageError(
            f"cannot write {path}: {len(kernels)} kernels of {size_text(size)} are more than a file holds, "
            f"{size_text(archive.LONGEST)}",
            hints=["name kernels, or a --target"],
        )
    index = msgspec.json.format(msgspec.json.encode(_Index(FORMAT, f"{MAJOR}.{MINOR}")))
    files = [(name, sealed(name, content)) for each in kernels for name, content in each.files.items()]
    return write_whole(path, [archive.pack([(INDEX, index), *files])], f"the {_WHAT}")


def read(path: Path) -> tuple[list[Portable], list[Refused]]:
    """The kernels in the file `path`, and what is in it that cannot be taken. The whole file is read and checked.

    Raises `RecordError` for one that cannot be read, is damaged, is none, or has a newer major version.
    """
    try:
        data = read_plain(path, archive.LONGEST)
    except (OSError, ValueError) as failure:
        raise RecordError(f"cannot read the {_WHAT} {path}: {reason(failure)}") from None
    read_index(data, str(path), INDEX, _Index, f"{FORMAT} {MAJOR}", _WHAT, "cutecc cache export FILE writes one")
    found: dict[str, dict[str, bytes]] = {}
    refused: list[Refused] = []
    for entry in archive.unpack(data, str(path))[1:]:
        key, _, ending = entry.name.partition(".")
        if not _KEY.fullmatch(key) or ending not in ("record", "direct"):
            refused.append(Refused(entry.name, "it is no kernel of a cache"))
            continue
        files = found.setdefault(key, {})
        if entry.name in files:
            raise RecordError(f"{path} is damaged: it holds {entry.name} twice", hints=[*archive.REMEDIES])
        files[entry.name] = data[entry.offset : entry.offset + entry.size]
    kernels: list[Portable] = []
    for key, files in found.items():
        try:
            kernels.append(_opened(key, files))
        except RecordError as error:
            refused.append(Refused(key, error.message))
    return kernels, refused


def keep(store: Store, kernels: Iterable[Portable]) -> int:
    """Keep what `store` lacks of `kernels`; returns of how many it lacked something.

    What it has stays as it is. Raises `CacheError` when the folder cannot be written, with what was kept till then, and
    `UsageError` for more than fits.
    """
    missing: dict[str, dict[str, bytes]] = {}
    for each in kernels:
        if lacking := {name: content for name, content in each.files.items() if store.peek(name) is None}:
            missing[each.key] = lacking
    size = sum(len(sealed(name, content)) for files in missing.values() for name, content in files.items())
    if size > (room := int(store.limit * SHARE_KEPT)):
        raise UsageError(
            f"the kernels have {size_text(size)}, and the cache keeps at most {size_text(room)} when it makes room",
            hints=["raise its limit with CUTECC_CACHE_SIZE"],
        )
    for number, files in enumerate(missing.values()):
        try:
            for name, content in files.items():
                store.put(name, content)
        except CacheError as error:
            error.notes.append(f"{number} of {len(missing)} kernels were kept; the next import goes on from there")
            raise
    return len(missing)


def _opened(key: str, files: dict[str, bytes]) -> Portable:
    """The kernel that files of a store are of, in any order. Raises `RecordError`, which says why there is none."""
    contents: dict[str, bytes] = {}
    for name in sorted(files, reverse=True):
        content = unsealed(name, files[name])
        if content is None:
            raise RecordError("it is damaged, or of a cache in another form")
        contents[name] = content
    return _checked(key, contents)


def _checked(key: str, contents: dict[str, bytes]) -> Portable:
    """The kernel of `contents`, the record first. Raises `RecordError`, which says what is wrong with it."""
    record, led = f"{key}.record", f"{key}.direct"
    if record not in contents:
        raise RecordError("its compilation is missing")
    stored = entries.decode(contents[record])
    if stored.kept_as != record:
        raise RecordError("it was made for another key")
    check_assembly(stored.record, "an entry of the cache")
    if led in contents and not _is_described(key, direct.decode(contents[led])):
        raise RecordError("what leads to it is not a description")
    return Portable(key, stored, contents)


def _is_described(key: str, entry: DirectEntry | None) -> bool:
    """Whether a direct entry is that of a description: it leads to its own key, and depends on no file."""
    return entry is not None and entry.kept_as == f"{key}.direct" and entry.key == key and entry.snapshot.is_empty
