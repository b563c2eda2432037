"""Reading PTX text from front to back, and saying where it goes wrong."""

from __future__ import annotations

import bisect
import re

from cutecc.errors import ParseError, SourceLocation

NAME = r"[%$_A-Za-z][\w$]*"
"""An identifier (PTX ISA, "Identifiers"), as part of a regular expression."""
IDENTIFIER = re.compile(NAME)
ATTRIBUTE = re.compile(r"\.attribute\s*\([^()]*(?:\([^()]*\)[^()]*)*\)")
COMMA = re.compile(",")
END = re.compile(";")
BRACE = re.compile(r"\{")

_STRING_OR_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_BLANKS = re.compile(r"\s*")
_NOT_NEWLINE = re.compile(r"[^\n]")
_ENDLESS = re.compile(r"\d{1001}")
"""More digits than any number has, the largest of 64 binary ones; Python converts no more than a few thousand."""


class Scanner:
    """PTX text without its comments, and how far it has been read. Positions and lines are those of the full text."""

    def __init__(self, text: str) -> None:
        self.original = text
        self.text = _STRING_OR_COMMENT.sub(_blanked, text)
        self.position = 0
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", text))]
        if found := _ENDLESS.search(self.text):
            raise self.error("a number of more than 1,000 digits", found.start())

    def skip_blanks(self) -> None:
        found = _BLANKS.match(self.text, self.position)
        assert found is not None
        self.position = found.end()

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """What comes next, behind blanks, if it has this form; it is read then."""
        self.skip_blanks()
        found = pattern.match(self.text, self.position)
        if found is not None:
            self.position = found.end()
        return found

    def expect(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        """Like `take`; an error when something else comes."""
        found = self.take(pattern)
        if found is None:
            raise self.error(f"expected {what}")
        return found

    def line(self, position: int) -> int:
        """The line of a position, from 1."""
        return bisect.bisect_right(self._line_starts, position)

    def error(self, message: str, position: int | None = None) -> ParseError:
        """An error at a position; where reading stopped, when none is given."""
        at = min(self.position if position is None else position, len(self.original))
        line = self.line(at)
        start = self._line_starts[line - 1]
        text = self.original[start:].partition("\n")[0]
        return ParseError(message, location=SourceLocation("PTX", line, at - start + 1, text))


def _blanked(match: re.Match[str]) -> str:
    found = match.group()
    return found if found.startswith('"') else _NOT_NEWLINE.sub(" ", found)
