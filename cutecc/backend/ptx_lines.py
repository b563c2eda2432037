"""From a line of PTX to the line of Python that it was made from."""

from __future__ import annotations

import re

from cutecc.errors import SourceLocation

# PTX ISA, "Debugging Directives": .file index "name" …; .loc index line column, function_name …, inlined_at index …
_FILE = re.compile(r'\s*\.file\s+(\d+)\s+"((?:[^"\\]|\\.)*)"')
_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:.*\binlined_at\s+(\d+)\s+(\d+)\s+(\d+))?")
_FUNCTION = re.compile(r"\s*(?:\.visible\s+|\.weak\s+|\.extern\s+)*\.(?:entry|func)\b")

_Place = tuple[int, int, int]
"""File index, line, column."""


def python_line(ptx: str, line: int) -> SourceLocation | None:
    """The place in the user's source of PTX line `line` (1-based), `None` when the PTX does not say.

    For inlined code it is the outermost call: the line that the user wrote.
    """
    files: dict[int, str] = {}
    callers: dict[_Place, _Place] = {}
    place: _Place | None = None
    for number, text in enumerate(ptx.split("\n"), start=1):
        if match := _FILE.match(text):
            files[int(match[1])] = match[2]
        elif number <= line and _FUNCTION.match(text):
            place = None
        elif match := _LOC.match(text):
            place_here = (int(match[1]), int(match[2]), int(match[3]))
            caller = (int(match[4]), int(match[5]), int(match[6])) if match[4] is not None else None
            if caller is not None:
                callers[place_here] = caller
            if number <= line:
                place = caller or place_here
    seen: set[_Place] = set()
    while place in callers and place not in seen:
        seen.add(place)
        place = callers[place]
    # Line 0 is code that belongs to no line.
    if place is None or place[1] == 0 or place[0] not in files:
        return None
    return SourceLocation(files[place[0]], place[1], place[2] or None)
