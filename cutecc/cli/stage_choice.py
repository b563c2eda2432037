"""The record and the stages that `cutecc show`, `diff` and `explain` are about."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from cutecc.cli.records import choose_one, read_records
from cutecc.errors import UsageError
from cutecc.record import Compilation
from cutecc.record.stages import Stages
from cutecc.report.stage_text import Position, choose, find_function, has_function, positions

record_argument = click.argument("record", metavar="DIR|BUNDLE", type=click.Path(path_type=Path))
target_option = click.option("--target", metavar="NAME", help="Of several targets, this one.")
function_option = click.option("--function", metavar="F", help="One function, by its short name or its symbol.")
fold_option = click.option("--no-fold", is_flag=True, help="Print types in full.")


def read_record(path: Path, target: str | None) -> Compilation:
    """The one record in `path`. Raises `UsageError` when there are several, and as `read_records` does."""
    return choose_one(path, read_records(path, target))


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
