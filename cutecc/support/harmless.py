"""What inputs, records and file names hold, such that a terminal shows it and does nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_CONTROL = re.compile(r"(\x1b\[[0-9;]*m)|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_POSING = re.compile(r"\n(?=(?:[^\n]*: )?(?:error|warning|remark|note|hint|reproducer|reproduce): )", re.IGNORECASE)
_LONGEST_NAME = 1024
"""Characters of a name or a place."""
_LONGEST_TEXT = 4096
"""Characters of a message, a note or a hint."""
_LONGEST_NOTES = 8192
"""Characters of the notes together that there may be before one more: nobody reads on."""


def harmless(text: str, *, coloured: bool = True) -> str:
    """`text` with control characters spelled out, but for line breaks, tabs, and, when `coloured`, what colours it.

    What a record holds may come from anybody, and a terminal does what such characters say.
    """

    def spelled(match: re.Match[str]) -> str:
        if match[1]:
            return match[1] if coloured else rf"\x1b{match[1][1:]}"
        return f"\\x{ord(match[0]):02x}"

    return _CONTROL.sub(spelled, text)


def one_line(text: str) -> str:
    """`text`, a name or a place, with all control characters spelled out; of a long one, its end."""
    if len(text) > _LONGEST_NAME:
        text = f"…{text[-_LONGEST_NAME:]}"
    return harmless(text, coloured=False).replace("\n", r"\n")


def message_text(text: str) -> str:
    """`text`, what is said of an input, as far as anybody reads it.

    A line that looks like the beginning of another message is set in: a name in an input may hold line breaks.
    """
    if len(text) > _LONGEST_TEXT:
        text = f"{text[:_LONGEST_TEXT]}… and {len(text) - _LONGEST_TEXT:,} more characters"
    return _POSING.sub("\n  ", harmless(text, coloured=False))


def readable(details: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """What follows an error's message, as `Error.details` gives it, without more notes than anybody reads."""
    room, left_out = _LONGEST_NOTES, 0
    for label, text in details:
        if label == "note":
            if room <= 0:
                left_out += 1
                continue
            room -= len(text)
        elif left_out:
            yield "note", f"{left_out:,} more notes are left out"
            left_out = 0
        yield label, message_text(text)
    if left_out:
        yield "note", f"{left_out:,} more notes are left out"
