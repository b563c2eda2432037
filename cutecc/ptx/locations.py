"""From `.file` and `.loc` directives to lines of Python (PTX ISA, "Debugging Directives")."""

from __future__ import annotations

import re

from cutecc.errors import SourceLocation

FILE = re.compile(r'\s*\.file\s+(\d+)\s+"((?:[^"\\]|\\.)*)"(?:[ \t]*,[ \t]*\d+[ \t]*,[ \t]*\d+)?')
"""`.file index "name"`, with a time stamp and a size that nobody needs."""
LOC = re.compile(
    r"\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)"
    r"(?:[ \t]*,?[ \t]*function_name[ \t]+[^\s,+]+(?:[ \t]*\+[ \t]*\d+)?)?"
    r"(?:[ \t]*,?[ \t]*inlined_at[ \t]+(\d+)\s+(\d+)\s+(\d+))?"
)
"""`.loc index line column, function_name label, inlined_at index line column`."""

Place = tuple[int, int, int]
"""File index, line, column."""


class LineTable:
    """The files and the inlined calls of one PTX text. Files are often named at its end: ask when all is read."""

    def __init__(self) -> None:
        self._files: dict[int, str] = {}
        self._callers: dict[Place, Place] = {}
        self._found: dict[Place, SourceLocation | None] = {}

    def add_file(self, match: re.Match[str]) -> None:
        """Take a match of `FILE`."""
        self._files[int(match[1])] = match[2]

    def add_loc(self, match: re.Match[str]) -> Place:
        """Take a match of `LOC`; the place of the instructions that follow it."""
        place = (int(match[1]), int(match[2]), int(match[3]))
        if match[4] is None:
            return place
        caller = (int(match[4]), int(match[5]), int(match[6]))
        self._callers[place] = caller
        return caller

    def location(self, place: Place | None) -> SourceLocation | None:
        """The place in the user's source, `None` when the PTX does not say.

        For inlined code it is the outermost call: the line that the user wrote.
        """
        if place is None:
            return None
        if place not in self._found:
            self._found[place] = self._outermost(place)
        return self._found[place]

    def _outermost(self, place: Place) -> SourceLocation | None:
        seen: set[Place] = set()
        while place in self._callers and place not in seen:
            seen.add(place)
            place = self._callers[place]
        file, line, column = place
        # Line 0 is code that belongs to no line.
        if line == 0 or file not in self._files:
            return None
        name = self._files[file]
        # The DSL counts columns from 0, as Python's `ast` does.
        return SourceLocation(name, line, column + 1 if name.endswith(".py") else column or None)
