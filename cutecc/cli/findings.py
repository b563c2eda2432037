"""What analyses found, for the terminal, for GitHub Actions and as JSON."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import click

from cutecc.errors import SourceLocation
from cutecc.record import Analysis, Compilation, Remark

_COLOURS = {"warning": "magenta", "error": "red", "remark": "blue", "note": "cyan"}
_LEVELS = {"warning": "warning", "error": "error", "remark": "notice", "note": "notice"}


@dataclass(frozen=True)
class Finding:
    """What was said of one place, as often as it was."""

    file: str | None
    line: int | None
    column: int | None
    severity: str
    message: str
    analysis: str
    numbers: dict[str, int | float | str]
    count: int = 1

    @property
    def place(self) -> str:
        """`file:line:column`, as much as is known."""
        return ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)


@dataclass(frozen=True)
class Checked:
    """A kernel for one target, and all that was found in it."""

    source: str
    """The input as the user named it."""
    kernel: str
    """The kernel's short name."""
    target: str
    findings: list[Finding]
    """In the order of the source."""
    runs: list[Analysis]
    """The analyses, also those that found nothing."""

    @property
    def crashed(self) -> bool:
        """Whether an analysis came to no end."""
        return any(run.failure and not run.failure.startswith("not run") for run in self.runs)

    @property
    def nothing_ran(self) -> bool:
        """Whether there is no telling what is wrong with the kernel."""
        return bool(self.runs) and all(run.failure for run in self.runs)


def checked(source: str, compilation: Compilation) -> Checked:
    """What a record says. What is the same at the same place, as after unrolling, is one finding with a count."""
    counts: dict[tuple[str | None, str, str, str], int] = {}
    firsts: dict[tuple[str | None, str, str, str], Remark] = {}
    for analysis in compilation.analyses:
        for remark in analysis.remarks:
            key = (remark.location, remark.severity, remark.message, analysis.name)
            counts[key] = counts.get(key, 0) + 1
            firsts.setdefault(key, remark)
    findings = [_finding(remark, key[3], counts[key]) for key, remark in firsts.items()]
    findings.sort(
        key=lambda each: (each.file is None, each.file or "", each.line or 0, each.column or 0, each.analysis)
    )
    return Checked(source, compilation.name, compilation.target, findings, compilation.analyses)


def _finding(remark: Remark, analysis: str, count: int) -> Finding:
    place = SourceLocation.parse(remark.location or "")
    file = _shown(place.file) if place.file else None
    return Finding(file, place.line, place.column, remark.severity, remark.message, analysis, remark.numbers, count)


def _shown(file: str) -> str:
    """A file below the current folder is named from there."""
    relative = os.path.relpath(file)
    return file if relative.startswith(os.pardir) else relative


def finding_lines(finding: Finding) -> Iterator[str]:
    """A finding as compilers print one, and a line with its numbers.

    Folded at the terminal's width; whole where there is no terminal, for whoever reads it line by line.
    """
    width = shutil.get_terminal_size((0, 0)).columns
    severity = click.style(f"{finding.severity}:", fg=_COLOURS[finding.severity], bold=True)
    times = f" ({finding.count} times)" if finding.count > 1 else ""
    place = f"{finding.place}: " if finding.place else ""
    plain = f"{place}{finding.severity}: {finding.message}{times} [{finding.analysis}]"
    for line in _folded(plain, width, "  "):
        yield line.replace(f"{finding.severity}:", severity, 1) if line.startswith(place) and place else line
    if finding.numbers:
        numbers = ", ".join(f"{name} {_number(value)}" for name, value in finding.numbers.items())
        yield from (click.style(line, dim=True) for line in _folded(f"    {numbers}", width, "    "))


def _folded(line: str, width: int, indent: str) -> list[str]:
    if not width:
        return [line]
    return textwrap.wrap(line, width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)


def _number(value: float | str) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def annotation(finding: Finding) -> str:
    """A finding as GitHub Actions takes one: a workflow command."""
    properties = {"file": finding.file, "line": finding.line, "col": finding.column, "title": finding.analysis}
    text = ",".join(f"{name}={_escaped(str(value), ':,')}" for name, value in properties.items() if value is not None)
    return f"::{_LEVELS[finding.severity]} {text}::{_escaped(finding.message)}"


def _escaped(text: str, also: str = "") -> str:
    return "".join(f"%{ord(each):02X}" if each in f"%\r\n{also}" else each for each in text)


def finding_dict(finding: Finding) -> dict[str, Any]:
    """A finding as JSON has it."""
    return {
        "file": finding.file,
        "line": finding.line,
        "column": finding.column,
        "severity": finding.severity,
        "message": finding.message,
        "analysis": finding.analysis,
        "numbers": finding.numbers,
        "count": finding.count,
    }


def judged_dict(run: Analysis) -> dict[str, Any] | None:
    """What an analysis says of all that it looked at, as JSON has it."""
    if run.judged is None:
        return None
    judged = run.judged
    return {"what": judged.what, "right": judged.right, "wrong": judged.wrong, "cannot tell": judged.unknown}


def judged_lines(checked: Checked) -> Iterator[str]:
    """Of each analysis that says it of anything here, how much is right, and of how much it cannot tell, and why."""
    width = shutil.get_terminal_size((0, 0)).columns
    for run in checked.runs:
        if run.judged is None or not run.judged.total:
            continue
        judged = run.judged
        line = f"{run.name}: of {judged.total} {judged.what}, {judged.right} right"
        if judged.wrong:
            line += f", {judged.wrong} wrong"
        if judged.unknown:
            why = "; ".join(f"{count}: {reason}" for reason, count in judged.unknown.items())
            line += f", {sum(judged.unknown.values())} not known ({why})"
        yield from _folded(line, width, "  ")


def summary_line(checked: Checked) -> str:
    """How much was found, and by how many analyses."""
    parts: list[str] = []
    for severity in ("error", "warning", "remark"):
        if count := sum(finding.severity == severity for finding in checked.findings):
            parts.append(f"{count} {severity}{'' if count == 1 else 's'}")
    ran = sum(run.failure is None for run in checked.runs)
    found = " and ".join(parts) or "nothing found"
    return f"{checked.kernel} for {checked.target}: {found}; {ran} of {len(checked.runs)} checks ran"
