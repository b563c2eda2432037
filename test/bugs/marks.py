"""What the comments of a planted bug say: which findings the checks must report, and at which lines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from cutecc.emulator.checks.finding import FINDING_KINDS, Finding
from cutecc.emulator.report import finding_lines
from cutecc.errors import SourceLocation
from cutecc.record import Remark

FOLDER = Path(__file__).parent
FILES = sorted(FOLDER.glob("*/[!_]*.py"))
"""One file a bug, in a folder for its family; `_*.py` is what those of a folder share."""

_MARK = r"(?:(?:bug|also|check):\s*[\w-]+|mend:\s*(?:\"[^\"]+\"|'[^']+')|other)"
_MARKS = re.compile(rf"(?:#|//)\s*({_MARK}(?:,\s*{_MARK})*)(?:,\s*(?:buggy|mended))?\s*$")
"""In PTX a line may be of one of the twins alone."""


@dataclass(frozen=True)
class Marks:
    """The marks of one file."""

    bugs: frozenset[tuple[str, int]]
    """Kinds and lines that must be reported."""
    also: frozenset[tuple[str, int]]
    """Kinds and lines of consequences, which may be reported too."""
    other: int | None
    """The line that a finding names beside its own: the other access."""
    mend: tuple[str, int] | None = None
    """What the first finding says mends it, and the line of the file that it names to the reader for that."""
    checks: frozenset[tuple[str, int]] = frozenset()
    """Analyses of `cutecc check`, and the lines that they must warn of."""

    @classmethod
    def read(cls, path: Path) -> Marks:
        """Raises `ValueError` for marks that make no sense."""
        bugs: set[tuple[str, int]] = set()
        also: set[tuple[str, int]] = set()
        others: list[int] = []
        mends: list[tuple[str, int]] = []
        checks: set[tuple[str, int]] = set()
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            match = _MARKS.search(line)
            for mark in re.findall(_MARK, match[1]) if match else []:
                role, _, kind = mark.partition(":")
                if role == "other":
                    others.append(number)
                elif role == "mend":
                    mends.append((kind.strip()[1:-1], number))
                elif role == "check":
                    checks.add((kind.strip(), number))
                elif kind.strip() not in FINDING_KINDS:
                    raise ValueError(f"{path}:{number}: there is no finding '{kind.strip()}'")
                else:
                    (bugs if role == "bug" else also).add((kind.strip(), number))
        if not (bugs or checks) or len(others) > 1 or len(mends) > 1:
            counts = f"{len(bugs)} lines are marked as the bug, {len(others)} as the other one, {len(mends)} as mended"
            raise ValueError(f"{path}: {counts}")
        other, mend = others[0] if others else None, mends[0] if mends else None
        return cls(frozenset(bugs), frozenset(also), other, mend, frozenset(checks))

    def problems(self, path: Path, findings: list[Finding]) -> list[str]:
        """What is missing from the findings, and what is reported and should not be."""
        told = [self._match(path, finding) for finding in findings]
        missing = self.bugs.difference(filter(None, told))
        found = [f"no {kind} at line {line}" for kind, line in sorted(missing)]
        found += [describe(finding) for finding, match in zip(findings, told, strict=True) if match is None]
        if self.mend is not None and findings:
            found += self._wrong_advice(path, findings[0])
        return found

    def check_problems(self, path: Path, warnings: list[Remark]) -> list[str]:
        """What is missing from the warnings of `cutecc check`, and what is warned of and should not be.

        Where a file marks none, the analyses may find its bug or not.
        """
        if not self.checks:
            return []
        told = {(each.analysis, warned_line(path, each)): each.message for each in warnings}
        found = [f"no {name} at line {line}" for name, line in sorted(self.checks.difference(told))]
        found += [
            f"{name} at line {line}: {told[name, line]}" for name, line in told if (name, line) not in self.checks
        ]
        if self.mend is not None and not self.bugs:
            words, line = self.mend
            here = [text for (_, place), text in told.items() if place == line]
            if not any(words in text for text in here):
                found.append(f"no warning at line {line} says '{words}': {here}")
        return found

    def _wrong_advice(self, path: Path, first: Finding) -> list[str]:
        """What the first finding, which is what people read, does not say of the mend."""
        assert self.mend is not None
        words, line = self.mend
        text = "\n".join(finding_lines(first, width=10_000))
        named = {line_of(path, first), line_of(path, first, other=True), *lines_named(path, text)}
        problems = [] if words in text else [f"the first finding does not say '{words}':\n{text}"]
        return problems + ([] if line in named else [f"the first finding does not name line {line}:\n{text}"])

    def _match(self, path: Path, finding: Finding) -> tuple[str, int] | None:
        """The mark that a finding is for."""
        line, other = line_of(path, finding), line_of(path, finding, other=True)
        if finding.kind == "race" and ("race", line) not in self.bugs | self.also and line == self.other:
            # Of two accesses that nothing orders either one may come second.
            line, other = other, line
        mark = (finding.kind, line or 0)
        if finding.kind == "deadlock":
            # One finding tells of all threads that wait; which of them come first is the schedule's choice.
            marked = [each for each in (*self.bugs, *self.also) if each[0] == "deadlock"]
            named = {*lines_named(path, finding.message), line}
            return next((each for each in marked if each[1] in named), None)
        if mark in self.bugs:
            return mark if self.other is None or other == self.other else None
        return mark if mark in self.also else None


def line_of(path: Path, finding: Finding, *, other: bool = False) -> int | None:
    """The line of a finding in the file; `None` when it is in no line of it."""
    place = finding.other if other else finding.place
    if place is not None and path.suffix == ".ptx":
        return place.ptx_line
    if place is None or place.location is None or Path(place.location.file).name != path.name:
        return None
    return place.location.line


def lines_named(path: Path, text: str) -> set[int]:
    """The lines of the file that a text names."""
    name = "PTX line " if path.suffix == ".ptx" else rf"{re.escape(path.name)}:"
    return {int(each) for each in re.findall(rf"{name}(\d+)\b", text)}


def warned_line(path: Path, warning: Remark) -> int | None:
    """The line of a warning in the file; `None` when it is in no line of it."""
    place = SourceLocation.parse(warning.location or "")
    return place.line if place.file and Path(place.file).name == path.name else None


def describe(finding: Finding) -> str:
    """A finding in a line, for a failed assertion."""
    places = [finding.place, *([finding.other] if finding.other else [])]
    where = ", ".join(f"{place.location or '?'} ({place.text})" for place in places)
    return f"{finding.kind} at {where}: {finding.message} at {finding.address}"
