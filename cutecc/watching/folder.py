"""The folder of a watch.

recorded/       what the program's processes wrote (`journal`)
kernels/NAME/   a record of each kernel, with its report
index.html      the list of kernels, and the same as JSON in index.json
"""

from __future__ import annotations

import shutil
from pathlib import Path

from cutecc.errors import UsageError
from cutecc.watching.journal import RECORDED

KERNELS = "kernels"
PAGE = "index.html"
DATA = "index.json"
STARTED = ".started"
"""Is there when a Python process of the program has loaded the hook."""
_WARNED = ".warned"
_MARK = ".cutecc-watch"
_OURS = {RECORDED, KERNELS, PAGE, DATA, STARTED, _WARNED, _MARK}


def prepare(folder: Path) -> None:
    """Take `folder` for a new watch, in place of an earlier one. Raises `UsageError` when it holds anything else."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        entries = {entry.name for entry in folder.iterdir()}
        if entries - _OURS or (entries and not entries & {_MARK, RECORDED}):
            raise UsageError(
                f"the folder {folder} holds files that are not of a watch", hints=["name an empty or new one with -o"]
            )
        for name in entries:
            _remove(folder / name)
        (folder / _MARK).touch()
    except OSError as failure:
        raise UsageError(f"cannot write to the folder {folder}: {failure.strerror}") from None


def remove_finished(folder: Path) -> None:
    """Take away the records and the index of an earlier `cutecc watch --finish`. Raises `UsageError`."""
    try:
        for name in (KERNELS, PAGE, DATA):
            _remove(folder / name)
    except OSError as failure:
        raise UsageError(f"cannot write to the folder {folder}: {failure.strerror}") from None


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
