"""The records that a user names, and of one the stages: the folder of a record or of several, or a bundle."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from cutecc.errors import RecordError, UsageError
from cutecc.record import Compilation
from cutecc.record.bundle import read_bundle
from cutecc.record.folder import MANIFEST, folders_of_records, read_folder
from cutecc.record.stages import Stages
from cutecc.report.stage_text import Position, choose, find_function, has_function, positions
from cutecc.support.spelling import did_you_mean

record_argument = click.argument("record", metavar="DIR|BUNDLE", type=click.Path(path_type=Path))
target_option = click.option("--target", metavar="NAME", help="Of several targets, this one.")
function_option = click.option("--function", metavar="F", help="One function, by its short name or its symbol.")
fold_option = click.option("--no-fold", is_flag=True, help="Print types in full.")


def read_record(path: Path, target: str | None) -> Compilation:
    """The one record in `path`, that for `target` of several. Raises `UsageError` when there are several left."""
    return _only_one(path, read_records(path, target))


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
        chosen = _only_one(path, _fitting(path, records, target))
        return next(folder for folder, record in zip(folders, records, strict=True) if record is chosen)
    _fitting(path, [read_folder(folders[0])], target)
    return folders[0]


def _only_one(path: Path, records: list[Compilation]) -> Compilation:
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


def choose_stage(compilation: Compilation, stages: Stages, selector: str, function: str | None) -> Position:
    """The position that `selector` means; `last` of a function is the last module that has it.

    Code generation takes the kernels out of the module. Raises `UsageError` as `choose` does.
    """
    if selector == "last" and function is not None and (found := _last_with(compilation, stages, function)):
        return found
    return choose(compilation, stages, selector)


def _last_with(compilation: Compilation, stages: Stages, function: str) -> Position | None:
    known = positions(compilation, stages)
    for index in reversed(stages.indices):
        if has_function(stages.after(index).text.split("\n"), function):
            return next(each for each in known if each.index == index)
    return None


@dataclass(frozen=True)
class StageText:
    """A stage, or one function of it, as lines."""

    position: Position
    module: list[str]
    """All of it."""
    first: int
    """Of the lines of the module."""
    places: list[int]
    """For each line, as `Stage.places`."""

    @property
    def lines(self) -> list[str]:
        return self.module[self.first : self.first + len(self.places)]


def text_of(compilation: Compilation, stages: Stages, position: Position, function: str | None) -> StageText:
    """The stage, or a function of it. Raises `UsageError` when it has no such function."""
    stage = stages.after(position.index)
    module = stage.text.split("\n")[:-1]
    if function is None:
        return StageText(position, module, 0, stage.places)
    try:
        found = find_function(module, function, f"after {position.name}")
    except UsageError as error:
        if not has_function(module, function) and (other := _last_with(compilation, stages, function)):
            error.hints = [f"the last module with it is that after {other.name}"]
        raise
    return StageText(position, module, found.first, stage.places[found.first : found.last + 1])
