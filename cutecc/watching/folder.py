"""The folder of a watch.

recorded/       what the program's processes wrote (`journal`)
kernels/NAME/   a record of each kernel, with its report
pairs/          pages of two of them
index.html      the list of kernels, and the same as JSON in index.json
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from pathlib import Path

from cutecc.errors import RecordError, UsageError
from cutecc.record.plain_file import read_plain
from cutecc.support.open_folder import OpenFolder, replace_file
from cutecc.watching.journal import JOURNAL, LINES, MARK, MODULE, RECORDED, WARNED

KERNELS = "kernels"
PAIRS = "pairs"
PAGE = "index.html"
DATA = "index.json"
STARTED = ".started"
"""Is there when a Python process of the program has loaded the hook."""
_LONGEST_REASON = 2000
"""Characters."""
_FINISHED = (KERNELS, PAIRS, PAGE, DATA)
_OF_PROCESSES = {RECORDED, STARTED, WARNED}
_PARTIAL = re.compile(r"\.(?:index\.html|index\.json|\.cutecc-watch)\.\d+-[0-9a-f]{8}\.partial")
"""What a killed `cutecc watch` leaves."""
_RECORDED_FILE = re.compile(rf"\d+-[0-9a-f]+\{JOURNAL}|[0-9a-f]+(\{MODULE}|\{LINES})(\.\d+)?")


def prepare(folder: Path) -> str:
    """Take `folder` for a new watch, in place of an earlier one; returns its mark.

    Raises `UsageError` when it holds anything else.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        entries = {entry.name for entry in folder.iterdir()}
        if not _is_of_a_watch(folder, entries):
            raise UsageError(
                f"the folder {folder} holds files that are not of a watch", hints=["name an empty or new one with -o"]
            )
        for name in entries - {MARK}:
            _remove(folder / name)
        return _write_mark(folder)
    except OSError as failure:
        raise UsageError(f"cannot write to the folder {folder}: {failure.strerror}") from None


def remove_finished(folder: Path) -> None:
    """Take away the records and the index of an earlier `cutecc watch --finish`, if what is recorded has any.

    Raises `UsageError` when they are of something else.
    """
    try:
        if not (folder / MARK).is_file():
            if others := [name for name in _FINISHED if os.path.lexists(folder / name)]:
                raise UsageError(
                    f"{folder / others[0]} is not of a watch, and would be replaced",
                    hints=["move it away, or record into a folder of its own"],
                )
            if (folder / RECORDED).is_dir():
                _write_mark(folder)
        for name in _FINISHED:
            _remove(folder / name)
    except OSError as failure:
        raise UsageError(f"cannot write to the folder {folder}: {failure.strerror}") from None


def failure(folder: Path) -> str | None:
    """Why something that a program compiled was not recorded, as far as a process could say so."""
    try:
        # It is the program's folder: no pipe is waited for.
        with OpenFolder(folder) as opened:
            descriptor = opened.open(WARNED, os.O_RDONLY | os.O_NONBLOCK)
        with open(descriptor, encoding="utf-8", errors="replace") as file:
            return file.read(_LONGEST_REASON) or "it is not known why"
    except OSError:
        return None


def check(folder: Path, mark: str) -> None:
    """Raise `RecordError` when the program has put something else in the place of the folder that was prepared."""
    try:
        found = read_plain(folder / MARK, len(mark), follow=False).decode(errors="replace")
    except (OSError, RecordError):
        found = ""
    if found != mark:
        raise RecordError(f"the program has removed or replaced the folder {folder}; nothing is written there")


def kernel_folder(folder: OpenFolder, name: str) -> OpenFolder:
    """The folder for the record of a kernel in that of the watch, which is made.

    Raises `RecordError` when a link is in its place.
    """
    try:
        with folder.inner(KERNELS, make=True) as kernels:
            return kernels.inner(name, make=True)
    except OSError as failure:
        raise RecordError(f"cannot write to {KERNELS}/{name}: {failure.strerror}") from None


def _write_mark(folder: Path) -> str:
    mark = secrets.token_hex(16)
    replace_file(folder / MARK, lambda file: file.write(mark.encode()))
    return mark


def _is_of_a_watch(folder: Path, entries: set[str]) -> bool:
    """Whether a folder with these entries holds nothing else; an empty one does not."""
    entries = {name for name in entries if not _PARTIAL.fullmatch(name)}
    if MARK in entries:
        return entries <= {MARK, *_OF_PROCESSES, *_FINISHED}
    recorded = (folder / RECORDED).iterdir() if RECORDED in entries else ()
    return entries <= _OF_PROCESSES and all(_RECORDED_FILE.fullmatch(entry.name) for entry in recorded)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
