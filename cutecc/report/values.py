"""Finding the operation that a user means, among those of a line."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cutecc.errors import UsageError
from cutecc.record.stages import Stages
from cutecc.report.frames import Frames, Line


@dataclass(frozen=True)
class Value:
    """An operation of a module."""

    stage: int
    """The position of the pass that left the module."""
    line: int
    """Of the module's text, from 0."""
    text: str


def find_value(stages: Stages, line: Line, wanted: str, stage: int | None = None) -> Value:
    """The operation of `line` that `wanted` names, by its number among those of the line, from 1, or by its result.

    Of the module after pass `stage`, by default of the first one that has operations of the line. Raises `UsageError`
    for one that is not there, which says what there is, and `RecordError`.
    """
    frames = Frames(stages.user_lines)
    own = {number for number, place in enumerate(stages.places) if line in frames.lines(place)}
    for index in stages.indices if stage is None else [stage]:
        module = stages.after(index)
        found = [number for number, place in enumerate(module.places) if place in own]
        if found:
            texts = module.text.split("\n")
            return _choose([Value(module.index, number, texts[number].strip()) for number in found], wanted)
    hints = ["without --after, it is the first module that has some"]
    raise UsageError("no operation of this line is in that module", hints=hints)


def _choose(values: list[Value], wanted: str) -> Value:
    if re.fullmatch(r"[1-9][0-9]{0,8}", wanted) and int(wanted) <= len(values):
        return values[int(wanted) - 1]
    name = wanted.removeprefix("%")
    for value in values:
        results = value.text.partition(" = ")[0] if " = " in value.text else ""
        if not wanted.isdigit() and re.search(rf"%{re.escape(name)}(?![\w$.-])", results, re.ASCII):
            return value
    hints = [f"{number}: {value.text[:80]}" for number, value in enumerate(values[:_MOST], 1)]
    more = [f"and {len(values) - _MOST} more"] if len(values) > _MOST else []
    raise UsageError(f"the line has no operation '{wanted}' there; of {len(values)}, name one", hints=[*hints, *more])


_MOST = 20
