"""Which inputs go through which commands: in CI each through one, and some of them through the others.

`ROBUSTNESS=all` has every command see all that it may.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_ALL = os.environ.get("ROBUSTNESS") == "all"


@dataclass(frozen=True)
class Command:
    """A command line, and the inputs that it sees."""

    line: Sequence[str]
    inputs: Sequence[str]
    every: int = 1
    """In CI it sees every so-manieth of them."""


def pairs(commands: Mapping[str, Command]) -> list[tuple[str, str]]:
    """The names of commands, each with that of an input."""
    return [
        (name, each) for name, command in commands.items() for each in command.inputs[:: 1 if _ALL else command.every]
    ]
