"""Findings as text: what, where in the user's source, who, and what reproduces it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cutecc.emulator.checks.finding import Finding, Place, Stopped, hint_of
from cutecc.emulator.checks.reports import widest
from cutecc.emulator.checks.selection import ALWAYS
from cutecc.emulator.checks.wording import again_at
from cutecc.emulator.machine.stuck import awaited_barriers, places_in
from cutecc.errors import SanitizerError, SourceLocation

if TYPE_CHECKING:
    from cutecc.emulator.host import LaunchSummary

_ASYNCHRONOUS = re.compile(r"(@\S+\s+)?(cp|wgmma|st\.async|red\.async|tcgen05\.(mma|cp|shift|ld|st))\b")
"""Instructions that start something that threads do not do themselves."""
_SHOWN = 10
"""Findings that a message shows; `SanitizerError.findings` has all."""


def one_a_line(findings: Iterable[Finding]) -> list[Finding]:
    """The same by several instructions of one column of a line, as unrolling makes them, is one finding: the first.

    A finding whose column is not known is the same as any other of its line. Where the code does not say its lines,
    instructions count as lines. Races of a pair of lines are one, whatever they say: that whose mend mends all.
    """
    kept: list[Finding] = []
    found: dict[Hashable, list[Finding]] = {}
    races: dict[Hashable, int] = {}
    for finding in findings:
        if finding.kind == "race" and finding.other is not None:
            pair = frozenset({_line(finding.place), _line(finding.other)})
            place = races.setdefault(pair, len(kept))
            if place == len(kept):
                kept.append(finding)
            else:
                kept[place] = replace(widest(kept[place], finding), count=kept[place].count)
            continue
        key: Hashable = (finding.kind, finding.message, _line(finding.place), finding.other and _line(finding.other))
        if finding.kind == "deadlock":
            # Which threads it is headed by is the schedule's choice.
            key = finding.kind, places_in(finding.message.splitlines())
            if key in found:
                continue
        alike = found.setdefault(key, [])
        if not any(_same_columns(finding, each) for each in alike):
            alike.append(finding)
            kept.append(finding)
    return kept


def of_all_runs(runs: Sequence[Sequence[Finding]]) -> list[Finding]:
    """What was found in several runs, each the first time, without what comes of it under some order of warps.

    That shared memory is read which nothing has written is what a race comes to where the reader is early: of the place
    that the race is about. Of others, at a line that races, it is told only if it was so in all runs. A deadlock
    at barriers that warps come to again comes of that, and its counts say nothing.
    """
    found = one_a_line(finding for run in runs for finding in run)
    races = [each for each in found if each.kind == "race"]
    racing = {(_line(place), each.address) for each in races for place in (each.place, each.other) if place}
    lines = {line for line, _ in racing}
    again = {number for each in found if (number := again_at(each.message)) is not None}

    def is_told(each: Finding) -> bool:
        match each.kind:
            case "uninitialised-shared" if (line := _line(each.place)) in lines:
                return (line, each.address) not in racing and _in_all(each, runs)
            case "deadlock":
                return not awaited_barriers(each.message.splitlines()) <= again
            case _:
                return True

    return [each for each in found if is_told(each)]


def _in_all(finding: Finding, runs: Sequence[Sequence[Finding]]) -> bool:
    """Whether each run has found the same at this line."""
    same = (finding.kind, _line(finding.place))
    return all(any((each.kind, _line(each.place)) == same for each in run) for run in runs)


def _same_columns(one: Finding, two: Finding) -> bool:
    """Of findings of the same lines."""
    return _column(one.place, two.place) and (one.other is None or two.other is None or _column(one.other, two.other))


def _column(one: Place, two: Place) -> bool:
    columns = {place.location and place.location.column for place in (one, two)}
    return len(columns) == 1 or None in columns


def _line(place: Place) -> Hashable:
    location = place.location
    return place.ptx_line if location is None else (location.file, location.line)


def finding_lines(finding: Finding, width: int = 120) -> list[str]:
    """A finding as compilers show one: where and what, the source line, who, and the other access.

    Text is wrapped to `width` columns; source lines and instructions are as they are.
    """
    place = finding.place
    message, *details = finding.message.splitlines()
    lines = _wrap(f"{_where(place)}: {finding.kind}: {message}", width, "", "  ")
    lines += _source(place.location, place)
    for detail in details:
        lines += _wrap(detail, width, "  ", "    ")
    if hint := hint_of(finding):
        lines += _wrap(f"hint: {hint}", width, "  ", "    ")
    who = _who(place)
    if finding.count > 1:
        others = finding.count - 1
        who += f" and {others:,} more thread{'' if others == 1 else 's'}"
    if finding.instructions > 1:
        who += f", at {finding.instructions:,} instructions"
    lines += _wrap(f"{who}{f', at {finding.address}' if finding.address else ''}", width, "  ")
    if finding.other is not None:
        other = finding.other
        what = f" {other.what}," if other.what else ""
        lines += _wrap(f"the other one: {_where(other)}:{what} {_who(other)}", width, "  ", "    ")
        lines += [f"  {line}" for line in _source(other.location, other)]
    return lines


def stopped_lines(stopped: Stopped, width: int = 120) -> list[str]:
    """What ended too soon, as a warning: what and why, what it did not see, and what to do about it."""
    where = f"{stopped.location}: " if stopped.location else ""
    order = f"under schedule {stopped.schedule}, seed {stopped.seed}"
    if stopped.checks & ALWAYS:
        head = f"{where}warning: the run ended here, {order}: {stopped.reason}"
        details = ["what comes after it was not checked"]
    else:
        names = ", ".join(sorted(stopped.checks))
        head = f"{where}warning: the checks {names} ended here, {order}, by a mistake of cutecc's own: {stopped.reason}"
        details = [
            "what they would find after it is not known; what was found before it, and the checks "
            f"{' and '.join(sorted(ALWAYS))}, stay right"
        ]
    if stopped.trace:
        details.append("please report it, with the kernel and what --json prints, which has the traceback")
    lines = _wrap(head, width, "", "  ")
    for detail in details:
        lines += _wrap(detail, width, "  ", "    ")
    return lines


def stopped_dict(stopped: Stopped) -> dict[str, Any]:
    """The same as JSON has it."""
    location = stopped.location
    return {
        "checks": sorted(stopped.checks),
        "reason": stopped.reason,
        "file": location and location.file,
        "line": location and location.line,
        "traceback": stopped.trace,
        "schedule": stopped.schedule,
        "seed": stopped.seed,
    }


def order_text(finding: Finding) -> str:
    """The schedule that the finding was made under: `schedule random, seed 7`."""
    return f"schedule {finding.schedule}, seed {finding.seed}"


def sanitizer_error(kernel: str, findings: Sequence[Finding]) -> SanitizerError:
    """The error that lists findings."""
    count = len(findings)
    first = findings[0]
    parts = [f"the emulator found {count} problem{'' if count == 1 else 's'} in {kernel} ({order_text(first)})"]
    parts += ["\n".join(finding_lines(finding)) for finding in findings[:_SHOWN]]
    if count > _SHOWN:
        parts.append(f"… and {count - _SHOWN} more: error.findings has them all")
    return SanitizerError("\n\n".join(parts), findings=list(findings))


def finding_dict(finding: Finding) -> dict[str, Any]:
    """A finding as JSON has it."""
    return {
        "kind": finding.kind,
        "message": finding.message,
        "hint": hint_of(finding),
        "address": finding.address,
        "threads": finding.count,
        "instructions": finding.instructions,
        "place": _place_dict(finding.place),
        "other": finding.other and _place_dict(finding.other),
        "schedule": finding.schedule,
        "seed": finding.seed,
    }


def describe_blocks(launches: Sequence[LaunchSummary]) -> str:
    """How many blocks ran: `1,024 blocks`, `a sample of 16 of 1,024 blocks`."""
    ran, total = sum(each.ran for each in launches), sum(each.total for each in launches)
    of = f" in {len(launches)} launches" if len(launches) > 1 else ""
    if ran == total:
        return f"{total:,} block{'' if total == 1 else 's'}{of}"
    return f"a sample of {ran:,} of {total:,} blocks{of}"


def _place_dict(place: Place) -> dict[str, Any]:
    location = place.location
    return {
        "file": location and location.file,
        "line": location and location.line,
        "column": location and location.column,
        "ptx_line": place.ptx_line,
        "instruction": place.text,
        "block": list(place.block),
        "thread": None if place.thread is None else list(place.thread),
        "what": place.what,
    }


def _where(place: Place) -> str:
    return str(place.location) if place.location else f"PTX line {place.ptx_line}"


def _who(place: Place) -> str:
    if place.thread is None:
        return f"{'an asynchronous operation' if _ASYNCHRONOUS.match(place.text) else 'threads'} of block {place.block}"
    return f"thread {place.thread} of block {place.block}"


def _source(location: SourceLocation | None, place: Place) -> list[str]:
    """The line of Python with a caret; the instruction where the code does not say its line."""
    excerpt = location.excerpt() if location else ""
    return [f"  {line}" for line in excerpt.splitlines()] if excerpt else [f"    {place.text}"]


def _wrap(text: str, width: int, indent: str, further: str | None = None) -> list[str]:
    return textwrap.wrap(
        text,
        max(width, 40),
        initial_indent=indent,
        subsequent_indent=indent if further is None else further,
        break_long_words=False,
        break_on_hyphens=False,
    )
