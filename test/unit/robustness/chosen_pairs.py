"""Which inputs go through which commands: by default a third of them, and fewer through most.

`ROBUSTNESS=all` has every command see all that it may: `ROBUSTNESS=all pytest test/unit/robustness`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_EVERY = 3
"""By default, every so-manieth of what a command sees: all of them take a minute and a half."""
_ALL = os.environ.get("ROBUSTNESS") == "all"


@dataclass(frozen=True)
class Command:
    """A command line, and the inputs that it sees."""

    line: Sequence[str]
    inputs: Sequence[str]
    every: int = 1
    """By default it sees every so-manieth of those."""


def pairs(commands: Mapping[str, Command]) -> list[tuple[str, str]]:
    """The names of commands, each with that of an input."""
    return [
        (name, each)
        for name, command in commands.items()
        for each in command.inputs[:: 1 if _ALL else max(command.every, _EVERY)]
    ]
