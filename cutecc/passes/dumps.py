"""Dumps: which modules to write as text, and what the first line of one says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from cutecc.record.naming import file_name
from cutecc.support.malformed import MALFORMED

STAGE_MARK = "// cutecc-stage: "
"""Begins the first line of a dump; the rest of the line is a `Stage` as JSON."""


@dataclass(frozen=True)
class Stage:
    """Where in which run a dump was made: all that a later run needs to go on from it."""

    target: str
    kernel: str
    pipeline: str = "nvidia"
    """The whole pipeline: its name, or its text."""
    after: str | None = None
    """The selector of the last pass that ran, `None` for the traced module."""
    options: dict[str, str | int | bool] = field(default_factory=dict[str, "str | int | bool"])
    """Settings that differ from their defaults, by command line name."""


@dataclass(frozen=True)
class DumpChoice:
    """Which modules to write as text."""

    after: Sequence[str] = ()
    """Pass selectors, or `all`."""
    before: Sequence[str] = ()
    unchanged: bool = False
    """Also write dumps after passes that changed nothing."""
    locations: bool = False
    """Print source locations into dumps."""

    def __bool__(self) -> bool:
        return bool(self.after or self.before)


def stage_line(stage: Stage) -> str:
    """The first line of a dump."""
    return f"{STAGE_MARK}{msgspec.json.encode(stage).decode()}\n"


def read_stage(text: str) -> Stage | None:
    """What the first line of a dump says about it; `None` for any other module, and for a line that is damaged."""
    first = text.partition("\n")[0]
    if not first.startswith(STAGE_MARK):
        return None
    try:
        return msgspec.json.decode(first.removeprefix(STAGE_MARK), type=Stage)
    except MALFORMED:
        return None


def input_name(offset: int) -> str:
    """What dumps call the module before the first pass of a run, which has `offset` passes behind it."""
    return "traced" if offset == 0 else "input"


def numbered(index: int, total: int, name: str) -> str:
    """What the dump after pass `index`, of so many, is called, without its suffix."""
    return f"{index:0{max(2, len(str(total)))}d}-{file_name(name)}"
