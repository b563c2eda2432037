"""A record as a folder: `manifest.json` and the files that it names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, MutableMapping
from pathlib import Path

from filelock import FileLock, Timeout

from cutecc.errors import RecordError, UsageError
from cutecc.record import manifest
from cutecc.record.compilation import Compilation
from cutecc.record.naming import file_name, is_plain
from cutecc.record.plain_file import read_plain
from cutecc.record.stages import BlockReader, complete_steps

MANIFEST = "manifest.json"
_JOURNAL = ".cutecc-files"
"""Lists every file of the record, each before it is written, so that the next run can take away even those of a run
that was killed."""
_LOCK = ".cutecc-lock"
_LONGEST_FILE = 1 << 31
"""Bytes of a file that is read."""


class RecordFolder:
    """A folder that one run writes. Files appear whole, as they are written; a crash loses none of the earlier ones."""

    def __init__(self, path: Path) -> None:
        """Take `path` for a new record, and remove the earlier record there.

        Raises `UsageError` when `path` holds anything else, or another run is writing to it.
        """
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as failure:
            raise UsageError(f"cannot create the output folder {path}: {failure.strerror}") from None
        entries = {entry.name for entry in path.iterdir()}
        is_ours = (path / _JOURNAL).is_file() and not (path / _JOURNAL).is_symlink() and not (path / _LOCK).is_symlink()
        if entries - {_LOCK} and not is_ours:
            raise UsageError(
                f"the output folder {path} holds files that are not cutecc's",
                hints=["name an empty or new folder"],
            )
        self._lock = FileLock(path / _LOCK, blocking=False)
        try:
            self._lock.acquire()
        except Timeout:
            raise UsageError(
                f"another cutecc is writing to {path}", hints=["wait for it, or name another folder"]
            ) from None
        self._remove_earlier()

    @classmethod
    def reopen(cls, path: Path) -> RecordFolder:
        """The folder of a run that died, to complete its record."""
        folder = cls.__new__(cls)
        folder.path = path
        folder._lock = FileLock(path / _LOCK, timeout=10)
        folder._lock.acquire()
        return folder

    def existing_dump(self, index: int, name: str) -> str | None:
        """The dump after a pass that is there, whether or not the run lived to record it."""
        pattern = re.compile(rf"0*{index}-{re.escape(file_name(name))}\.mlir")
        return next((entry.name for entry in self.path.iterdir() if pattern.fullmatch(entry.name)), None)

    def write(self, name: str, data: bytes) -> Path:
        """Write the file called `name`, whole or not at all."""
        target = self.reserve(name)
        self._replace(target, data)
        return target

    def _replace(self, target: Path, data: bytes) -> None:
        partial = target.with_name(f".{target.name}.partial")
        try:
            partial.unlink(missing_ok=True)
            partial.write_bytes(data)
            os.replace(partial, target)
        except OSError as failure:
            raise RecordError(f"cannot write {target}: {failure.strerror}") from None

    def reserve(self, name: str) -> Path:
        """The path for a file of the record that somebody else writes."""
        if not is_plain(name):
            raise RecordError(f"'{name}' is not a plain file name")
        try:
            with (self.path / _JOURNAL).open("a", encoding="utf-8") as journal:
                journal.write(f"{name}\n")
        except OSError as failure:
            raise RecordError(f"cannot write to {self.path}: {failure.strerror}") from None
        return self.path / name

    def save(self, compilation: Compilation) -> None:
        """Write the manifest, and every file of `compilation` that is not in the folder yet."""
        for name, data in compilation.files.items():
            if not (self.path / name).exists():
                self.write(name, data)
        self.write(MANIFEST, manifest.encode(compilation))

    def save_progress(self, compilation: Compilation) -> None:
        """Write the manifest of a run that goes on, in an instant; `save` has to come before and after it."""
        self._replace(self.path / MANIFEST, manifest.encode(compilation, indent=None))

    def close(self) -> None:
        """Let others write to the folder."""
        self._lock.release()

    def _remove_earlier(self) -> None:
        journal = self.path / _JOURNAL
        if journal.exists():
            for name in journal.read_text().splitlines():
                if is_plain(name):
                    (self.path / name).unlink(missing_ok=True)
                    (self.path / f".{name}.partial").unlink(missing_ok=True)
        journal.write_text("")


def read_folder(path: Path) -> Compilation:
    """The record in the folder `path`, its files read when they are asked for; `RecordError` when there is none."""
    file = path / MANIFEST
    try:
        data = read_plain(file, manifest.LONGEST)
    except OSError as failure:
        raise RecordError(f"no record in {path}: {failure.strerror}", hints=[f"a record has a {MANIFEST}"]) from None
    compilation = manifest.decode(data, where=str(file))
    compilation.files = _FolderFiles(path)
    compilation.read_from = str(path)
    if compilation.status == "running":
        # It runs, or was killed: what came after its manifest was written last is in its stages.
        for artifact in compilation.artifacts:
            if artifact.kind == "stages" and is_plain(artifact.file):
                complete_steps(compilation, BlockReader(path / artifact.file).read())
    return compilation


def is_being_written(path: Path) -> bool:
    """Whether a run is writing to the folder `path` now."""
    file = path / _LOCK
    if not file.is_file() or file.is_symlink():
        return False
    lock = FileLock(file, blocking=False)
    try:
        lock.acquire()
    except Timeout:
        return True
    except OSError:  # nobody can write here
        return False
    lock.release()
    return False


class _FolderFiles(MutableMapping[str, bytes]):
    """The files of a folder, as a mapping. Names from a manifest are never followed out of the folder."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __getitem__(self, name: str) -> bytes:
        if not is_plain(name):
            raise RecordError(f"the record in {self._path} names a file outside of it: '{name}'")
        try:
            return read_plain(self._path / name, _LONGEST_FILE)
        except FileNotFoundError:
            raise KeyError(name) from None
        except OSError as failure:
            raise RecordError(f"cannot read {self._path / name}: {failure.strerror}") from None

    def __setitem__(self, name: str, data: bytes) -> None:
        raise RecordError("a record that was read cannot be written")

    def __delitem__(self, name: str) -> None:
        raise RecordError("a record that was read cannot be written")

    def __iter__(self) -> Iterator[str]:
        return (entry.name for entry in sorted(self._path.iterdir()) if not entry.name.startswith("."))

    def __len__(self) -> int:
        return sum(1 for _ in self)
