"""From `.file` and `.loc` directives to lines of Python (PTX ISA, "Debugging Directives")."""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass, replace

from cutecc.errors import SourceLocation
from cutecc.support.locations import InstructionPlace

_INDEX = r"([0-9]{1,10})\b"
"""A number of 32 bits."""
FILE = re.compile(rf'\s*\.file\s+{_INDEX}\s+"((?:[^"\\]|\\.)*)"(?:[ \t]*,[ \t]*\d+[ \t]*,[ \t]*\d+)?')
"""`.file index "name"`, with a time stamp and a size that nobody needs."""
LOC = re.compile(
    rf"\s*\.loc\s+{_INDEX}\s+{_INDEX}\s+{_INDEX}"
    r"(?:[ \t]*,?[ \t]*function_name[ \t]+[^\s,+]+(?:[ \t]*\+[ \t]*\d+)?)?"
    rf"(?:[ \t]*,?[ \t]*inlined_at[ \t]+{_INDEX}\s+{_INDEX}\s+{_INDEX})?"
)
"""`.loc index line column, function_name label, inlined_at index line column`."""

FUNCTION = re.compile(r"\s*(?:\.visible\s+|\.weak\s+|\.extern\s+)*\.(?:entry|func)\b(?:\s*\([^)]*\))?\s*([\w$]+)?")
"""The start of a function; its name stands on a line of its own behind a result."""
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_LOST_ESCAPE = re.compile(rb"/([2-3][0-7]{2}[^/]*)$")
_INLINE_ASSEMBLY = re.compile(r"// begin inline asm$.*?// end inline asm$", re.DOTALL | re.MULTILINE)

Place = tuple[int, int, int]
"""File index, line, column."""


def named_file(text: str) -> str:
    """The file that assembly names so: other characters than those of ASCII are bytes of three octal digits there.

    nvdisasm takes the last backslash for the end of a folder's name; where that leaves no Unicode, it is put back.
    """
    if "\\" not in text:
        return text
    data = text.encode()
    for each in (data, _LOST_ESCAPE.sub(rb"\\\1", data)):
        try:
            return _ESCAPE.sub(_unescaped, each).decode()
        except UnicodeDecodeError:
            continue
    return text


def _unescaped(match: re.Match[bytes]) -> bytes:
    return bytes([int(match[1], 8) & 255]) if len(match[1]) == 3 else match[1]


@dataclass(frozen=True)
class PtxText:
    """PTX, and what is known of its instructions' places besides."""

    text: str
    places: tuple[InstructionPlace, ...] = ()
    """Of instructions whose `.loc` is another's."""


_NO_COLUMN = 1
"""What numba says for one. Its kernels are functions that the user's is inlined in, at the line of its `def`."""


class LineTable:
    """The files and the inlined calls of one PTX text. Files are often named at its end: ask when all is read."""

    def __init__(self) -> None:
        self._files: dict[int, str] = {}
        self._callers: dict[Place, Place] = {}
        self._statements: set[Place] = set()
        """Places without a column that are the user's lines nevertheless."""
        self._found: dict[Place, SourceLocation | None] = {}

    def add_file(self, match: re.Match[str]) -> None:
        """Take a match of `FILE`."""
        self._files[int(match[1])] = named_file(match[2])

    def add_loc(self, match: re.Match[str]) -> Place:
        """Take a match of `LOC`; the place of the instructions that follow it."""
        place = (int(match[1]), int(match[2]), int(match[3]))
        if match[4] is None:
            return place
        caller = (int(match[4]), int(match[5]), int(match[6]))
        if place[2] == 0 and place[0] != caller[0]:
            # Inline assembly of a file that the kernel's calls: `cutecc.support.locations.place_of`.
            self._statements.add(place)
            return place
        if place[2] == caller[2] == _NO_COLUMN:
            if place != caller:
                self._callers[place] = caller
            return place
        self._callers[place] = caller
        return caller

    def location(self, place: Place | None, before: SourceLocation | None = None) -> SourceLocation | None:
        """The place in the user's source, `None` when the PTX does not say.

        For inlined code it is the outermost call: the line that the user wrote; of numba's kernels, which are inlined
        as a whole, the outermost in them. Code without a line of its own is near `before`, the place of what stands
        before it in its function.
        """
        if place is None:
            return None
        if place not in self._found:
            self._found[place] = self._outermost(place)
        found = self._found[place]
        return replace(before, column=None, near=True) if found is None and before is not None else found

    def _outermost(self, place: Place) -> SourceLocation | None:
        seen: set[Place] = set()
        while place in self._callers and place not in seen:
            seen.add(place)
            caller = self._callers[place]
            if place[2] == caller[2] == _NO_COLUMN and caller not in self._callers:
                break
            place = caller
        file, line, column = place
        # Line 0 is code that belongs to no line.
        if line == 0 or file not in self._files:
            return None
        found = SourceLocation.of_debug_information(self._files[file], line, column)
        if place in self._statements:
            return found
        # Code without a line has that of its function, or of the one that launches it, and column 0.
        return None if found.column is None and found.file.endswith(".py") else found


class InlineAssembly:
    """Where a PTX text has inline assembly.

    `.loc` there is LLVM's count of the assembly's lines, added to the line of the statement: no line of the source.
    """

    def __init__(self, text: str) -> None:
        self._edges = [edge for match in _INLINE_ASSEMBLY.finditer(text) for edge in match.span()]

    def holds(self, position: int) -> bool:
        return bisect.bisect_right(self._edges, position) % 2 == 1


def python_line(ptx: str, line: int) -> SourceLocation | None:
    """The place in the user's source of PTX line `line` (1-based), also in PTX that does not assemble."""
    lines, assembly = LineTable(), InlineAssembly(ptx)
    places: list[Place] = []
    position = 0
    for number, text in enumerate(ptx.split("\n"), start=1):
        if match := FILE.match(text):
            lines.add_file(match)
        elif number <= line and FUNCTION.match(text):
            places.clear()
        elif (match := LOC.match(text)) and not assembly.holds(position):
            here = lines.add_loc(match)
            if number <= line:
                places.append(here)
        position += len(text) + 1
    location = None
    for place in places:
        location = lines.location(place, location)
    return location
