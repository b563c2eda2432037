"""Places in source files: where an operation or an instruction comes from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Frame(NamedTuple):
    """A place in a source file: line and column count from 1, column 0 is none."""

    file: str
    line: int
    column: int


Place = tuple[Frame, ...]
"""Where an operation comes from, as its MLIR location says: first the innermost frame outside of the DSL, last the
user's line. They differ where a library built the operation; then there are two."""


def place_of(frames: Sequence[Frame]) -> Place:
    """The place of a location with these frames, innermost first.

    What becomes inline assembly has a call site at its own line, from that line without a column: code generation
    adds the number of the assembly's line to it.
    """
    if len(frames) > 1 and frames[0].file == frames[1].file and (frames[0].column == 0 or frames[0] == frames[1]):
        frames = frames[1:]
    return tuple(frames)
