"""The records that a user names: the folder of one, a folder of several, that of a watch, or a bundle."""

from __future__ import annotations

import difflib
from pathlib import Path

from cutecc.errors import RecordError, UsageError
from cutecc.record import Compilation
from cutecc.record.bundle import read_bundle
from cutecc.record.folder import MANIFEST, read_folder


def read_records(path: Path, target: str | None = None) -> list[Compilation]:
    """The records in the folder or bundle `path`, those for `target` if one is named, finished or not.

    Raises `UsageError` when there is nothing of that kind, and `RecordError` for what cannot be read.
    """
    records = _read_folders(path) if path.is_dir() else _read_bundle(path)
    fitting = [record for record in records if target in (None, record.target)]
    if not fitting:
        names = sorted({record.target for record in records})
        close = difflib.get_close_matches(str(target), names, n=1)
        hints = [f"did you mean {close[0]}?"] if close else []
        raise UsageError(f"{path} holds no record for {target}; it has {', '.join(names)}", hints=hints)
    return fitting


def _read_folders(path: Path) -> list[Compilation]:
    # That of a watch has them one level further down.
    for pattern in (MANIFEST, f"*/{MANIFEST}", f"kernels/*/{MANIFEST}"):
        if folders := sorted(each.parent for each in path.glob(pattern)):
            break
    else:
        raise UsageError(
            f"{path} is a folder without a record: it has no {MANIFEST}",
            hints=["name a bundle, or the folder that cutecc compile wrote"],
        )
    return [read_folder(folder) for folder in folders]


def _read_bundle(path: Path) -> list[Compilation]:
    if path.name == MANIFEST:
        return [read_folder(path.parent)]
    if not path.exists():
        raise UsageError(f"there is no folder and no bundle {path}")
    try:
        return read_bundle(path)
    except RecordError as error:
        if path.suffix in (".py", ".mlir"):
            error.hints.insert(0, f"compile it first: cutecc compile {path} --report {path.stem}.html")
        raise
