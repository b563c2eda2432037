"""The record and the stages that `cutecc show`, `diff` and `explain` are about."""

from __future__ import annotations

from pathlib import Path

import click

from cutecc.cli.records import read_records
from cutecc.errors import UsageError
from cutecc.record import Compilation
from cutecc.record.stages import Stage, Stages
from cutecc.report.stage_text import Position, find_function

record_argument = click.argument("record", metavar="DIR|BUNDLE", type=click.Path(path_type=Path))
target_option = click.option("--target", metavar="NAME", help="Of several targets, this one.")
function_option = click.option("--function", metavar="F", help="One function, by its short name or its symbol.")
fold_option = click.option("--no-fold", is_flag=True, help="Print types in full.")


def read_record(path: Path, target: str | None) -> Compilation:
    """The one record in `path`. Raises `UsageError` when there are several, and as `read_records` does."""
    records = read_records(path, target)
    if len(records) == 1:
        return records[0]
    targets = [record.target for record in records]
    if len({*targets}) == len(targets):
        raise UsageError(f"{path} holds records for {', '.join(targets)}", hints=[f"name one: --target {targets[0]}"])
    raise UsageError(f"{path} holds {len(records)} records", hints=["name the folder of one of them"])


class StageText:
    """A stage, or one function of it, as lines."""

    def __init__(self, stages: Stages, position: Position, function: str | None) -> None:
        stage: Stage = stages.after(position.index)
        self.position = position
        self.module = stage.text.split("\n")[:-1]
        self.first, self.end = 0, len(self.module)
        if function is not None:
            found = find_function(self.module, function, f"after {position.name}")
            self.first, self.end = found.first, found.last + 1
        self.lines = self.module[self.first : self.end]
        self.places = stage.places[self.first : self.end]
