"""Where a report goes: which files it may take the place of, and what several are called."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from cutecc.errors import UsageError
from cutecc.record.folder import MANIFEST
from cutecc.report.page import MARK

_SUFFIXES = (".html", ".htm")
_START_BYTES = 4096


def check_destination(path: Path, *, new_folders: Iterable[Path] = ()) -> None:
    """Raise `UsageError` when a report cannot become the file `path`: something else is there, or nothing can be.

    `new_folders` are folders of records that are about to be made.
    """
    if not path.name or path.is_dir():
        raise UsageError(
            f"cannot write the report to {path}: that is a folder", hints=[f"name a file: {path / 'report.html'}"]
        )
    folder = path.absolute().parent
    if (folder / MANIFEST).exists() or folder.resolve() in {each.resolve() for each in new_folders}:
        _check_name_in_record(path)
    elif not folder.is_dir():
        raise UsageError(f"cannot write the report {path}: there is no folder {path.parent}")
    existing = next(each for each in (folder, *folder.parents) if each.is_dir())
    if not os.access(existing, os.W_OK | os.X_OK):
        raise UsageError(f"cannot write the report {path}: nothing can be written to {existing}")
    _check_earlier(path)


def numbered(path: Path, words: Iterable[str]) -> Path:
    """One of several reports: `out.html` with the words `gemm` and `sm_90a` is `out-gemm-sm_90a.html`."""
    return path.with_name("-".join((path.stem, *words)) + path.suffix)


def _check_name_in_record(path: Path) -> None:
    if path.suffix.lower() not in _SUFFIXES:
        raise UsageError(
            f"cannot write the report {path}: a file of that name may be the record's own",
            hints=[f"name it {path.with_suffix('.html').name}"],
        )


def _check_earlier(path: Path) -> None:
    """Leave a file alone that is no report."""
    try:
        if path.is_symlink() or path.exists():
            if not path.is_file():
                raise UsageError(f"cannot write the report {path}: that is not a plain file")
            with path.open("rb") as file:
                start = file.read(_START_BYTES)
        else:
            return
    except OSError as failure:
        raise UsageError(f"cannot write the report {path}: {failure.strerror}") from None
    if start and MARK not in start:
        raise UsageError(
            f"cannot write the report {path}: the file there is not a report",
            hints=["name another file, or remove that one first"],
        )
