"""Places in source files: where an operation or an instruction comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import msgspec

from cutecc.errors import SourceLocation


class Frame(NamedTuple):
    """A place in a source file: line and column count from 1, column 0 is none."""

    file: str
    line: int
    column: int


Place = tuple[Frame, ...]
"""Where an operation comes from, as its MLIR location says: first the innermost frame outside of the DSL, last the
user's line in the kernel's file, or in another file a function's that the kernel calls. They differ where a library
built the operation; then there are two."""


Reason = Literal["exact", "operands", "compiler", "order", "unknown"]
"""How it is known whose an instruction is. `exact`: an operation of its line becomes such an instruction. `operands`:
what it computes is for instructions of its line, or it passes on what they computed. `compiler`: it stands for no
operation; it is of the line whose work it serves, where there is one. `order`: it stands behind instructions of its
line, which nothing else confirms. `unknown`: nobody's."""
REASONS: tuple[Reason, ...] = ("exact", "operands", "compiler", "order", "unknown")
MARKS: dict[Reason, str] = dict(zip(REASONS, "●◐◌○?", strict=True))
"""What stands beside an instruction for each."""
SURE: tuple[Reason, ...] = ("exact", "operands")
"""Of what is told to belong to a line."""


class Owner(NamedTuple):
    """Whose an instruction is, and how that is known."""

    place: Place | None
    reason: Reason
    detail: str = ""
    """What the compiler made it for: `spill`, `phi copy`, `convergence`, …; of an exact one, `×4`: it is one of four
    that each such operation of its line became, unrolled or in parts."""


def without_columns(place: Place) -> Place:
    """A place as the line table of a binary has it."""
    return tuple(frame._replace(column=0) for frame in place)


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


class InstructionPlace(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where an instruction of PTX comes from that stands under a `.loc` of another."""

    line: int
    """Of the PTX, from 1."""
    frames: tuple[str, ...]
    """The place's `file:line:column`, innermost first; the last is the user's line."""
    inferred: bool = False
    """Whether it is only likely to be there."""

    @classmethod
    def of(cls, line: int, place: Place, *, inferred: bool = False) -> InstructionPlace:
        """That the instruction at `line` is from `place`."""
        frames = (SourceLocation(frame.file, frame.line, frame.column or None) for frame in place)
        return cls(line, tuple(map(str, frames)), inferred)

    @property
    def place(self) -> Place:
        """The frames as a place."""
        found = map(SourceLocation.parse, self.frames)
        return tuple(Frame(each.file, each.line or 0, each.column or 0) for each in found)

    @property
    def location(self) -> SourceLocation:
        """The user's line, or where it is near to."""
        found = SourceLocation.parse(self.frames[-1]) if self.frames else SourceLocation("")
        return replace(found, column=None, near=True) if self.inferred else found
