"""The folder of a watch.

recorded/       what the program's processes wrote (`journal`)
kernels/NAME/   a record of each kernel, with its report
index.html      the list of kernels, and the same as JSON in index.json
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from cutecc.errors import UsageError
from cutecc.watching.journal import JOURNAL, LINES, MODULE, RECORDED

KERNELS = "kernels"
PAGE = "index.html"
DATA = "index.json"
STARTED = ".started"
"""Is there when a Python process of the program has loaded the hook."""
_WARNED = ".warned"
_MARK = ".cutecc-watch"
"""Is there when the folder was made, or finished, by `cutecc watch`: what has one of the names above is ours then."""
_FINISHED = (KERNELS, PAGE, DATA)
_OF_PROCESSES = {RECORDED, STARTED, _WARNED}
_RECORDED_FILE = re.compile(rf"\d+-[0-9a-f]+\{JOURNAL}|[0-9a-f]+(\{MODULE}|\{LINES})(\.\d+)?")


def prepare(folder: Path) -> None:
    """Take `folder` for a new watch, in place of an earlier one. Raises `UsageError` when it holds anything else."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        entries = {entry.name for entry in folder.iterdir()}
        if not _is_of_a_watch(folder, entries):
            raise UsageError(
                f"the folder {folder} holds files that are not of a watch", hints=["name an empty or new one with -o"]
            )
        for name in entries - {_MARK}:
            _remove(folder / name)
        (folder / _MARK).touch()
    except OSError as failure:
        raise UsageError(f"cannot write to the folder {folder}: {failure.strerror}") from None


def remove_finished(folder: Path) -> None:
    """Take away the records and the index of an earlier `cutecc watch --finish`, if what is recorded has any.

    Raises `UsageError` when they are of something else.
    """
    try:
        if not (folder / _MARK).exists():
            if others := [name for name in _FINISHED if os.path.lexists(folder / name)]:
                raise UsageError(
                    f"{folder / others[0]} is not of a watch, and would be replaced",
                    hints=["move it away, or record into a folder of its own"],
                )
            if (folder / RECORDED).is_dir():
                (folder / _MARK).touch()
        for name in _FINISHED:
            _remove(folder / name)
    except OSError as failure:
        raise UsageError(f"cannot write to the folder {folder}: {failure.strerror}") from None


def _is_of_a_watch(folder: Path, entries: set[str]) -> bool:
    """Whether a folder with these entries holds nothing else; an empty one does not."""
    if _MARK in entries:
        return entries <= {_MARK, *_OF_PROCESSES, *_FINISHED}
    recorded = (folder / RECORDED).iterdir() if RECORDED in entries else ()
    return entries <= _OF_PROCESSES and all(_RECORDED_FILE.fullmatch(entry.name) for entry in recorded)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
