"""A record as a folder: `manifest.json` and the files that it names."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, MutableMapping
from pathlib import Path

from cutecc.errors import RecordError, UsageError
from cutecc.record import manifest
from cutecc.record.compilation import Compilation
from cutecc.record.naming import file_name, is_plain
from cutecc.record.plain_file import read_plain
from cutecc.record.stages import BlockReader, complete_steps
from cutecc.support.open_folder import OpenFolder, unlock
from cutecc.support.output_file import remedy

MANIFEST = "manifest.json"
_JOURNAL = ".cutecc-files"
"""Lists every file of the record, each before it is written, so that the next run can take away even those of a run
that was killed."""
_LOCK = ".cutecc-lock"
_PATIENCE_SECONDS = 10.0
_LONGEST_FILE = 1 << 31
"""Bytes of a file that is read."""


class RecordFolder:
    """A folder that one run writes. Files appear whole, as they are written; a crash loses none of the earlier ones."""

    def __init__(self, path: Path, handle: str | None = None) -> None:
        """Take `path` for a new record, and remove the earlier record there.

        With the `handle` of an `OpenFolder` it is that folder, and `path` only what it is called. Raises `UsageError`
        when it holds anything else, or another run is writing to it.
        """
        try:
            if not handle:
                path.mkdir(parents=True, exist_ok=True)
            self._open(path, handle)
        except OSError as failure:
            raise UsageError(
                f"cannot create the output folder {path}: {failure.strerror}", hints=[remedy(failure, "folder")]
            ) from None
        try:
            self._take()
        except BaseException as failure:
            self.close()
            if isinstance(failure, OSError):
                raise UsageError(
                    f"cannot write to the output folder {path}: {failure.strerror}", hints=[remedy(failure, "folder")]
                ) from None
            raise

    def _take(self) -> None:
        """Raises `UsageError` and `OSError`."""
        entries = {*self._folder.names()}
        own = [name for name in (_JOURNAL, _LOCK) if self._folder.is_file(name)]
        if (entries - {_LOCK} and _JOURNAL not in own) or (_LOCK in entries and _LOCK not in own):
            raise UsageError(
                f"the output folder {self.path} holds files that are not cutecc's",
                hints=["name an empty or new folder"],
            )
        try:
            self._lock = self._folder.locked(_LOCK)
        except BlockingIOError:
            raise UsageError(
                f"another cutecc is writing to {self.path}", hints=["wait for it, or name another folder"]
            ) from None
        self._remove_earlier()

    @classmethod
    def reopen(cls, path: Path, handle: str | None = None) -> RecordFolder:
        """The folder of a run that died, to complete its record.

        Raises `OSError`, `BlockingIOError` when another run is writing to it.
        """
        folder = cls.__new__(cls)
        folder._open(path, handle)
        try:
            folder._lock = folder._folder.locked(_LOCK, _PATIENCE_SECONDS)
        except BaseException:
            folder.close()
            raise
        return folder

    def _open(self, path: Path, handle: str | None) -> None:
        self.path = path
        self.place = Path(handle or path)
        """Where its files are for those who read and write them: a path that leads to it, whatever has its name."""
        self._folder = OpenFolder(self.place)
        self._lock: int | None = None

    def existing_dump(self, index: int, name: str) -> str | None:
        """The dump after a pass that is there, whether or not the run lived to record it."""
        pattern = re.compile(rf"0*{index}-{re.escape(file_name(name))}\.mlir")
        return next(filter(pattern.fullmatch, self._folder.names()), None)

    def write(self, name: str, data: bytes) -> Path:
        """Write the file called `name`, whole or not at all."""
        self.reserve(name)
        self._replace(name, data)
        return self.path / name

    def _replace(self, name: str, data: bytes, *, lasting: bool = False) -> None:
        try:
            self._folder.replace(name, lambda file: file.write(data), f".{name}.partial", lasting=lasting)
        except OSError as failure:
            raise self._unwritten(self.path / name, failure) from None

    def reserve(self, name: str) -> Path:
        """The path for a file of the record that somebody else writes."""
        if not is_plain(name):
            raise RecordError(f"'{name}' is not a plain file name")
        try:
            self._folder.append(_JOURNAL, f"{name}\n".encode())
        except OSError as failure:
            raise self._unwritten(f"to {self.path}", failure) from None
        return self.place / name

    def save(self, compilation: Compilation) -> None:
        """Write the manifest, and every file of `compilation` that is not in the folder yet."""
        for name, data in compilation.files.items():
            if not self._folder.is_file(name):
                self.write(name, data)
        self.reserve(MANIFEST)
        is_finished = compilation.status != "running"
        if is_finished:
            self._sync(compilation)
        self._replace(MANIFEST, manifest.encode(compilation), lasting=is_finished)

    def _sync(self, compilation: Compilation) -> None:
        """Have what a finished record names survive a loss of power before the manifest does.

        Not its dumps, which may be many: one that was lost is empty or no module, and differs from the stages.
        """
        try:
            for artifact in compilation.artifacts:
                with contextlib.suppress(FileNotFoundError):
                    self._folder.sync(artifact.file)
        except OSError as failure:
            raise self._unwritten(f"to {self.path}", failure) from None

    def _unwritten(self, what: str | Path, failure: OSError) -> RecordError:
        return RecordError(
            f"cannot write {what}: {failure.strerror}",
            notes=[f"what is in {self.path} may be half a record: the next run that writes there removes it"],
            hints=[remedy(failure, "folder")],
        )

    def save_progress(self, compilation: Compilation) -> None:
        """Write the manifest of a run that goes on, in an instant; `save` has to come before and after it."""
        self._replace(MANIFEST, manifest.encode(compilation, indent=None))

    def close(self) -> None:
        """Let others write to the folder."""
        if self._lock is not None:
            unlock(self._lock)
            self._lock = None
        self._folder.close()

    def _remove_earlier(self) -> None:
        if self._folder.is_file(_JOURNAL):
            with open(self._folder.open(_JOURNAL, os.O_RDONLY), encoding="utf-8", errors="replace") as journal:
                names = journal.read().splitlines()
            if self._folder.is_file(MANIFEST):
                # First, and for good: without it, nothing takes new files for those of the old record.
                self._folder.remove(MANIFEST)
                self._folder.sync()
            for name in filter(is_plain, names):
                self._folder.remove(name)
                self._folder.remove(f".{name}.partial")
        self._folder.replace(_JOURNAL, lambda _: None, f"{_JOURNAL}.partial")


def folders_of_records(path: Path, *below: str) -> list[Path]:
    """The folder `path` if it is that of a record, else those that match the first of the patterns `below` that any do.

    Raises `RecordError` when one of them is a link: those of others' records would be taken for records of `path`.
    """
    if os.path.lexists(path / MANIFEST):
        return [path]
    for pattern in below:
        if folders := sorted(each.parent for each in path.glob(f"{pattern}/{MANIFEST}")):
            for each in folders:
                for step in (each, *each.parents[: len(each.parts) - len(path.parts) - 1]):
                    if step.is_symlink():
                        raise RecordError(f"{step} is a link, which is not followed", hints=["name where it leads"])
            return folders
    return []


def read_folder(path: Path) -> Compilation:
    """The record in the folder `path`, its files read when they are asked for; `RecordError` when there is none."""
    file = path / MANIFEST
    try:
        data = read_plain(file, manifest.LONGEST, follow=False)
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
    try:
        with OpenFolder(path) as folder:
            if folder.is_file(_LOCK):
                unlock(folder.locked(_LOCK))
    except BlockingIOError:
        return True
    except OSError:  # nobody can write here
        pass
    return False


class _FolderFiles(MutableMapping[str, bytes]):
    """The files of a folder, as a mapping. Names from a manifest are never followed out of the folder."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __getitem__(self, name: str) -> bytes:
        if not is_plain(name):
            raise RecordError(f"the record in {self._path} names a file outside of it: '{name}'")
        try:
            return read_plain(self._path / name, _LONGEST_FILE, follow=False)
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
