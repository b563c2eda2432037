"""From a line of PTX to the line of Python that it was made from, also in PTX that does not assemble."""

from __future__ import annotations

import re

from cutecc.errors import SourceLocation
from cutecc.ptx.locations import FILE, LOC, LineTable, Place

_FUNCTION = re.compile(r"\s*(?:\.visible\s+|\.weak\s+|\.extern\s+)*\.(?:entry|func)\b")


def python_line(ptx: str, line: int) -> SourceLocation | None:
    """The place in the user's source of PTX line `line` (1-based), `None` when the PTX does not say.

    For inlined code it is the outermost call: the line that the user wrote.
    """
    lines = LineTable()
    place: Place | None = None
    for number, text in enumerate(ptx.split("\n"), start=1):
        if match := FILE.match(text):
            lines.add_file(match)
        elif number <= line and _FUNCTION.match(text):
            place = None
        elif match := LOC.match(text):
            here = lines.add_loc(match)
            if number <= line:
                place = here
    return lines.location(place)
