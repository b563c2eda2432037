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
user's line in the kernel's file, or in another file a function's that the kernel calls. They differ where a library
built the operation; then there are two."""


def place_of(frames: Sequence[Frame]) -> Place:
    """The place of a location with these frames, innermost first.

    What becomes inline assembly has a call site from its own line without a column, to which code generation adds the
    number of the assembly's line: at that line, or, where that is in another file than the kernel, at the kernel's.
    """
    if len(frames) > 1:
        inner, caller = frames[0], frames[1]
        if inner.file == caller.file and (inner.column == 0 or inner == caller):
            return tuple(frames[1:])
        # SASS has no columns at all, and in files that are no Python 0 means that there is none.
        if inner.column == 0 < caller.column and inner.file.endswith(".py") and caller.file.endswith(".py"):
            return (inner,)
    return tuple(frames)
