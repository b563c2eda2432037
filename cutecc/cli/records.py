"""The records that a user names: the folder of one, a folder of several, that of a watch, or a bundle."""

from __future__ import annotations

from pathlib import Path

from cutecc.errors import RecordError, UsageError
from cutecc.record import Compilation
from cutecc.record.bundle import read_bundle
from cutecc.record.folder import MANIFEST, folders_of_records, read_folder
from cutecc.support.spelling import did_you_mean


def read_records(path: Path, target: str | None = None) -> list[Compilation]:
    """The records in the folder or bundle `path`, those for `target` if one is named, finished or not.

    Raises `UsageError` when there is nothing of that kind, and `RecordError` for what cannot be read.
    """
    return _fitting(path, [*map(read_folder, _folders(path))] if path.is_dir() else _read_bundle(path), target)


def _fitting(path: Path, records: list[Compilation], target: str | None) -> list[Compilation]:
    """Those for `target`, if one is named. Raises `UsageError` when there are none."""
    fitting = [record for record in records if target in (None, record.target)]
    if not fitting:
        names = sorted({record.target for record in records})
        hints = did_you_mean(str(target), names)
        raise UsageError(f"{path} holds no record for {target}; it has {', '.join(names)}", hints=hints)
    return fitting


def find_folder(path: Path, target: str | None = None) -> Path:
    """The folder of the one record in `path`, that for `target` of several. Raises as `read_records`, and `UsageError`
    for a bundle: nobody edits its files."""
    if not path.is_dir():
        if path.name != MANIFEST:
            _read_bundle(path)
            raise UsageError(f"{path} is a bundle, whose files cannot be edited", hints=["name the folder of a record"])
        path = path.parent
    folders = _folders(path)
    if len(folders) > 1:
        records = [*map(read_folder, folders)]
        chosen = choose_one(path, _fitting(path, records, target))
        return next(folder for folder, record in zip(folders, records, strict=True) if record is chosen)
    _fitting(path, [read_folder(folders[0])], target)
    return folders[0]


def choose_one(path: Path, records: list[Compilation]) -> Compilation:
    """The only one of the records in `path`. Raises `UsageError` when there are several."""
    if len(records) == 1:
        return records[0]
    targets = [record.target for record in records]
    if len({*targets}) == len(targets):
        raise UsageError(f"{path} holds records for {', '.join(targets)}", hints=[f"name one: --target {targets[0]}"])
    raise UsageError(f"{path} holds {len(records)} records", hints=["name the folder of one of them"])


def _folders(path: Path) -> list[Path]:
    # That of a watch has them one level further down.
    if folders := folders_of_records(path, "*", "kernels/*"):
        return folders
    raise UsageError(
        f"{path} is a folder without a record: it has no {MANIFEST}",
        hints=["name a bundle, or the folder that cutecc compile wrote"],
    )


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
