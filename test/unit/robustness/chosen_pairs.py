"""Which inputs go through which commands: by default an eighth of them, others through each, and fewer through most.

`ROBUSTNESS=all` has every command see all that it may: `ROBUSTNESS=all pytest test/unit/robustness`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_EVERY = 8
"""By default, every so-manieth of what a command sees: all of them take three minutes."""
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
    chosen: list[tuple[str, str]] = []
    for number, (name, command) in enumerate(commands.items()):
        step = 1 if _ALL else max(command.every, _EVERY)
        # What one command does not see, another does.
        chosen += [(name, each) for each in command.inputs[number % step :: step]]
    return chosen
