"""From MLIR locations to places in the user's Python."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from cutecc.errors import SourceLocation
from cutecc.support.locations import Frame, Place, place_of

_ESCAPE = re.compile(rb"\\(?:([0-9A-Fa-f]{2})|(.))", re.DOTALL)
_FILE = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):(\d+)')


def user_location(location: Any) -> SourceLocation | None:
    """The outermost frame that `location` names: for inlined library code, the user's line that called it.

    `None` for an unknown location.
    """
    frames = _frames(location)
    if not frames:
        return None
    user = frames[-1]
    if user.file == "-" or user.line == 0:
        return None
    return SourceLocation.of_debug_information(unescaped(user.file), user.line, user.column)


def place_of_location(location: Any) -> Place | None:
    """The place that `location` names, as PTX has it: also a line of the module's own text, in a file called `-`."""
    frames = _frames(location)
    if not frames or frames[-1].line == 0:
        return None
    found = (SourceLocation.of_debug_information(unescaped(file), line, column) for file, line, column in frames)
    return tuple(Frame(each.file, each.line or 0, each.column or 0) for each in found)


def _frames(location: Any) -> Sequence[Frame]:
    """The frames of a place, their columns as MLIR has them.

    MLIR prints a call-site location with the callee first, so the last `"file":line:column` of the text is the
    caller's. Of operations made into one it is the last's.
    """
    text = str(location)
    frames = [Frame(file, int(line), int(column)) for file, line, column in _FILE.findall(text)]
    is_call = "callsite(" in text and "fused" not in text
    return place_of(frames) if is_call else frames[-1:]


def unescaped(text: str) -> str:
    """What MLIR printed as the inside of a string: bytes that are no plain characters as two hexadecimal digits."""
    if "\\" not in text:
        return text
    data = _ESCAPE.sub(lambda match: bytes([int(match[1], 16)]) if match[1] else match[2], text.encode())
    return data.decode("utf-8", errors="replace")


def nearest_location(location: Any) -> SourceLocation | None:
    """The user's line; for IR without one, the line of the module's own text, in a file called `-`."""
    if place := user_location(location):
        return place
    inside = re.search(r'"-":(\d+):(\d+)', str(location))
    return SourceLocation("-", int(inside[1]), int(inside[2])) if inside else None
