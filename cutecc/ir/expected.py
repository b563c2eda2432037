"""Diagnostics that a test expects, written into its input: `// expected-error @below {{no such symbol}}`.

The grammar and the way of matching are those of MLIR's `-verify-diagnostics`, with `@LINE` besides: at a line's end,
`expected-(error|warning|remark|note)[-re] [@LINE|@+N|@-N|@above|@below|@unknown] {{TEXT}}`. `@above` and `@below` skip
lines that expect something themselves. In the `-re` forms, `{{…}}` inside the text is a regular
expression. One expectation stands for any number of equal diagnostics; of two equal ones, the second stays unmet.
A comment that looks like an expectation and is none, or holds two, is a problem itself. MLIR's note "see current
operation", which prints the operation, is never expected.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from cutecc.errors import SourceLocation
from cutecc.ir.diagnostics import Diagnostic, Severity

_EXPECTED = re.compile(
    r"expected-(?P<severity>error|warning|remark|note)(?P<regex>-re)? *"
    r"(?:@(?P<place>[+-]?\d+|above|below|unknown))? *\{\{(?P<text>.*)\}\}\s*$"
)

_MEANT = re.compile(
    r"//\s*(?P<begin>expected-(?:error|warning|remark|note))\b|expected-(?:error|warning|remark|note)(?:-re)? *[@{]"
)


@dataclass
class _Expectation:
    severity: Severity
    line: int | None
    """`None` for a diagnostic without a place."""
    text: str
    pattern: re.Pattern[str]
    written: SourceLocation
    """Where the expectation stands."""
    met: bool = False


class ExpectedDiagnostics:
    """The expectations of one text, and which of them have been met."""

    def __init__(self, text: str, file: str) -> None:
        """Read what `text`, the content of `file`, expects."""
        self._file = file
        self._problems: list[Diagnostic] = []
        self._expectations: list[_Expectation] = []
        last_plain = 0
        below: list[_Expectation] = []
        lines = text.split("\n")
        for number, line in enumerate(lines, start=1):
            match = _EXPECTED.search(line)
            meant = _MEANT.search(line)
            if meant and (match is None or _MEANT.search(match["text"])):
                start = meant.start("begin") if meant["begin"] else meant.start()
                self._problems.append(_unreadable(SourceLocation(file, number, start + 1, line), two=match is not None))
                continue
            if match is None:
                for waiting in below:
                    waiting.line = number
                below.clear()
                last_plain = number
                continue
            written = SourceLocation(file, number, match.start() + 1, line)
            expectation = self._expectation(match, written, last_plain, len(lines))
            if expectation is not None:
                self._expectations.append(expectation)
                if match["place"] == "below":
                    below.append(expectation)

    def take(self, diagnostic: Diagnostic) -> None:
        """Compare a diagnostic and its notes with the expectations."""
        self._take_one(diagnostic)
        for note in diagnostic.notes:
            self._take_one(note)

    def problems(self) -> list[Diagnostic]:
        """What was not as expected: errors, those for diagnostics that never came last."""
        missing = [
            Diagnostic("error", f'expected {each.severity} "{each.text}" was not produced', each.written)
            for each in self._expectations
            if not each.met
        ]
        return self._problems + missing

    def _expectation(
        self, match: re.Match[str], written: SourceLocation, last_plain: int, last: int
    ) -> _Expectation | None:
        line: int | None = written.line or 0
        match match["place"]:
            case None:
                pass
            case "above":
                line = last_plain
            case "below":
                line = last
            case "unknown":
                line = None
            case number if number[0] in "+-":
                line += int(number)
            case number:
                line = int(number)
        severity: Severity = match["severity"]  # pyright: ignore[reportAssignmentType]
        text = match["text"]
        try:
            pattern = re.compile(_pattern(text) if match["regex"] else re.escape(text), re.DOTALL)
        except (ValueError, re.error) as failure:
            self._problems.append(Diagnostic("error", f"invalid regex: {failure}", written))
            return None
        return _Expectation(severity, line, text, pattern, written)

    def _take_one(self, diagnostic: Diagnostic) -> None:
        if diagnostic.severity == "note" and diagnostic.message.startswith("see current operation"):
            return
        location = diagnostic.location
        near = None
        for each in self._expectations:
            if not self._is_at(each, location) or not each.pattern.search(diagnostic.message):
                continue
            if each.severity == diagnostic.severity:
                each.met = True
                return
            near = each
        if near is not None:
            message = f"'{diagnostic.severity}' diagnostic emitted when expecting a '{near.severity}'"
            self._problems.append(Diagnostic("error", message, near.written))
        else:
            message = f"unexpected {diagnostic.severity}: {diagnostic.message}"
            self._problems.append(Diagnostic("error", message, location))

    def _is_at(self, expectation: _Expectation, location: SourceLocation | None) -> bool:
        if location is None or location.line is None:
            return expectation.line is None
        return expectation.line == location.line and location.file == self._file


def _unreadable(at: SourceLocation, *, two: bool) -> Diagnostic:
    what = "one line expects two diagnostics" if two else "no expectation can be read here"
    return Diagnostic("error", f"{what}: expected-error [@LINE|@+N|@-N|@above|@below|@unknown] {{{{TEXT}}}}", at)


def _pattern(text: str) -> str:
    """The regular expression of a `-re` text. Raises `ValueError` for an open `{{`."""
    pattern = ""
    rest = text
    while rest:
        plain, opening, rest = rest.partition("{{")
        pattern += re.escape(plain)
        if opening:
            inner, closing, rest = rest.partition("}}")
            if not closing:
                raise ValueError("found start of regex with no end '}}'")
            re.compile(inner)
            pattern += f"(?:{inner})"
    return pattern
