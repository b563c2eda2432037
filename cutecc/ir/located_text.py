"""A module as MLIR prints it with locations, taken apart: the text without them, and the place of each operation.

In such a text every operation ends in ` loc(…)`, one with regions behind its closing brace, and every block argument
has one behind its type. Most are aliases, `#loc3 = loc("file":1:2)`, that lines of their own define.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from cutecc.errors import SourceLocation
from cutecc.ir.locations import unescaped
from cutecc.support.locations import Frame, Place, place_of

_STRING = r'"(?:[^"\\]|\\.)*"'
_DEFINITION = re.compile(r"(#loc\d*) = (.*)")
_SIMPLE = re.compile(r" loc\((#loc\d*|unknown)\)")
_TRAILING = re.compile(rf"{_STRING}|(?P<location>(?<![=,:(\[<]) loc\()")
"""A string, or the start of the location of what stands before it; that of an attribute follows other characters."""
_PARENTHESIS = re.compile(rf"{_STRING}|[()]")
_WITH_ATTRIBUTES = re.compile(rf"{_STRING}|#llvm\.|\bfused<")
"""What shows that a location holds attributes: MLIR then prints aliases of these that the plain text has not."""
_CLOSERS = frozenset("}])>")
_NO_HEADS = _CLOSERS | frozenset("^#!/{")
_TOKEN = re.compile(
    rf"(?P<string>{_STRING})(?P<position>:(?P<line>\d+):(?P<column>\d+)(?: to \d*:\d+)?)?"
    r"|(?P<alias>#loc\d*)|(?P<word>[A-Za-z_]\w*)|(?P<attribute>#[\w.]+)|(?P<mark>[()\[\]<>,])"
)


class PlacedText(NamedTuple):
    """A module as text without locations, and where its lines come from."""

    text: str
    places: list[Place | None]
    """For each line that ends in a newline, the place of the operation that begins there."""


def separate_locations(located: str, plain: Callable[[], str], own_file: str | None = None) -> PlacedText:
    """Take apart a module printed with locations; the text is as MLIR prints it without.

    `plain` prints it without, and is asked when the difference is more than locations: where these hold attributes, as
    LLVM's debug information, and where they are attributes. `own_file` is what places call the module's own text, which
    is `-` in MLIR's.
    """
    if not located.endswith("\n"):
        located += "\n"
    definitions: dict[str, str] = {}
    lines: list[str] = []
    locations: list[str | None] = []
    heads: dict[int, int] = {}
    """By indentation, the line of the operation whose location is still to come."""
    has_attributes = False
    for line in located[:-1].split("\n"):
        if line.startswith("#loc") and (definition := _DEFINITION.fullmatch(line)):
            definitions[definition[1]] = definition[2]
            has_attributes = has_attributes or _holds_attributes(definition[2])
            continue
        rest, location = line, None
        if " loc(" in line:
            simple = _SIMPLE.fullmatch(line, line.find(" loc("))
            if simple:
                rest, location = line[: simple.start()], simple[1]
            else:
                rest, location, inside = _without_locations(line)
                has_attributes = has_attributes or any(map(_holds_attributes, inside))
        # A location that is an attribute has an alias in the plain text too, with another number.
        has_attributes = has_attributes or "#loc" in rest
        start = rest.lstrip(" ")
        lines.append(rest)
        locations.append(None)
        if location is None:
            if start and start[0] not in _NO_HEADS:
                heads[len(rest) - len(start)] = len(lines) - 1
        elif start and start[0] in _CLOSERS:
            locations[heads.pop(len(rest) - len(start), -1)] = location
        else:
            locations[-1] = location
    places = _Places(definitions, own_file)
    found = [None if location is None else places.of(location) for location in locations]
    if has_attributes:
        return _aligned(lines, found, plain())
    return PlacedText("\n".join(lines) + "\n", found)


def _without_locations(line: str) -> tuple[str, str | None, list[str]]:
    """The line without locations; the one that it ends in, if it does; and all of them."""
    pieces: list[str] = []
    inside: list[str] = []
    location = None
    position = 0
    while match := _TRAILING.search(line, position):
        if match["location"] is None:
            pieces.append(line[position : match.end()])
            position = match.end()
            continue
        end = _closing(line, match.end())
        pieces.append(line[position : match.start()])
        inside.append(line[match.end() : end - 1])
        if end == len(line):
            location = inside[-1]
        position = end
    pieces.append(line[position:])
    return "".join(pieces), location, inside


def _closing(text: str, position: int) -> int:
    """Behind the parenthesis that closes the one before `position`."""
    depth = 1
    for match in _PARENTHESIS.finditer(text, position):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
    return len(text)


def _holds_attributes(location: str) -> bool:
    return any(not match[0].startswith('"') for match in _WITH_ATTRIBUTES.finditer(location))


def _aligned(lines: list[str], places: list[Place | None], plain: str) -> PlacedText:
    """The places, given to the lines of a text that has fewer aliases of attributes."""
    if not plain.endswith("\n"):
        plain += "\n"
    wanted = plain[:-1].split("\n")
    found = [place for line, place in zip(lines, places, strict=True) if not line.startswith(("#", "!"))]
    body = [index for index, line in enumerate(wanted) if not line.startswith(("#", "!"))]
    given: list[Place | None] = [None] * len(wanted)
    if len(body) == len(found):
        for index, place in zip(body, found, strict=True):
            given[index] = place
    return PlacedText(plain, given)


class _Places:
    """Reads locations of one module."""

    def __init__(self, definitions: dict[str, str], own_file: str | None) -> None:
        self._definitions = definitions
        self._own_file = own_file
        self._known: dict[str, Place | None] = {}

    def of(self, location: str) -> Place | None:
        """The place of what stands in the parentheses of `loc(…)`."""
        if location not in self._known:
            self._known[location] = None  # a definition that leads back to itself leads nowhere
            tokens = list(_TOKEN.finditer(self._definitions.get(location, location)))
            self._known[location] = self._read(tokens, [0])
        return self._known[location]

    def _fused(self, tokens: list[re.Match[str]], cursor: list[int]) -> Place | None:
        """Of operations made into one, the last, as `cutecc.ir.locations.user_location` has it."""
        return next((place for place in reversed(self._group(tokens, cursor)) if place), None)

    def _read(self, tokens: list[re.Match[str]], cursor: list[int]) -> Place | None:
        """The location that begins at the cursor, which then stands behind it."""
        if cursor[0] >= len(tokens):
            return None
        token = tokens[cursor[0]]
        cursor[0] += 1
        following = tokens[cursor[0]]["mark"] if cursor[0] < len(tokens) else None
        if token["alias"]:
            return self.of(token["alias"]) if token["alias"] in self._definitions else None
        if token["position"]:
            return self._frame(token)
        if token["string"]:
            return self._group(tokens, cursor)[-1] if following == "(" else None
        if token["word"] == "callsite":
            frames = [frame for place in self._group(tokens, cursor) if place for frame in place]
            return place_of(frames) or None
        if token["word"] == "fused" or token["attribute"]:
            if token["word"] and following == "<":
                self._skip_angles(tokens, cursor)
            return self._fused(tokens, cursor)
        if token["word"] == "loc":
            return self._group(tokens, cursor)[-1]
        return None

    def _group(self, tokens: list[re.Match[str]], cursor: list[int]) -> list[Place | None]:
        """The locations between a bracket at the cursor and the one that closes it; `None` alone for none."""
        places: list[Place | None] = []
        if cursor[0] < len(tokens) and tokens[cursor[0]]["mark"] in ("(", "[", "<"):
            cursor[0] += 1
            while cursor[0] < len(tokens) and tokens[cursor[0]]["mark"] not in (")", "]", ">"):
                if tokens[cursor[0]]["mark"] == "," or tokens[cursor[0]]["word"] in ("at", "in", "unknown"):
                    cursor[0] += 1
                else:
                    places.append(self._read(tokens, cursor))
            cursor[0] += 1
        return places or [None]

    def _skip_angles(self, tokens: list[re.Match[str]], cursor: list[int]) -> None:
        depth = 0
        while cursor[0] < len(tokens):
            depth += {"<": 1, ">": -1}.get(tokens[cursor[0]]["mark"] or "", 0)
            cursor[0] += 1
            if depth == 0:
                return

    def _frame(self, token: re.Match[str]) -> Place | None:
        file, line, column = unescaped(token["string"][1:-1]), int(token["line"]), int(token["column"])
        if file == "-":
            file = self._own_file or ""
        if not file or line == 0:
            return None
        place = SourceLocation.of_debug_information(file, line, column)
        return (Frame(file, line, place.column or 0),)
