"""What `--fail-on` asks for: conditions on the columns of a comparison, and where they hold."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from cutecc.errors import UsageError
from cutecc.support.spelling import did_you_mean
from cutecc.versions.comparison import Cell, Comparison
from cutecc.versions.measures import METRICS, WIDTHS
from cutecc.versions.numbers import GOOD_RESULTS, number_text

_CONDITION = re.compile(
    r"(?P<name>[a-z-]+)(?:(?P<sign>[<>])(?P<change>[+-]?)(?P<limit>\d+(?:\.\d+)?)?(?P<percent>%?))?"
)
_WIDTH, _RESULTS, _TIME, _COMPILE_TIME = "width", "results", "time", "compile-time"
_COMPILES = "compiles"
"""What is always asked for."""
_OF_CELLS: dict[str, Callable[[Cell], float | None]] = {
    _TIME: lambda cell: cell.microseconds,
    _COMPILE_TIME: lambda cell: cell.compile_seconds,
}


@dataclass(frozen=True)
class Condition:
    """Something that shall not be."""

    text: str
    """As the user wrote it."""
    name: str
    sign: Literal["<", ">"] | None = None
    """`None` of results."""
    limit: float = 0
    is_change: bool = True
    """Whether the limit is of the change against the first column, and not of the number itself."""
    is_percent: bool = False

    @property
    def needs_times(self) -> bool:
        """Whether it is of the time on a GPU."""
        return self.name == _TIME

    @property
    def needs_runs(self) -> bool:
        """Whether it is of what comes of running kernels."""
        return self.name in (_RESULTS, _TIME)

    def holds(self, before: float | None, now: float | None) -> bool:
        """Whether it is so of a number, which the first column has as `before`; never where one is not known."""
        if now is None or (self.is_change and before is None):
            return False
        value = now
        if self.is_change:
            assert before is not None
            value = now - before
            if self.is_percent and value:
                value = 100 * value / before if before else math.inf
        return value < self.limit if self.sign == "<" else value > self.limit


class Breach(msgspec.Struct, frozen=True):
    """Where a condition holds."""

    condition: str
    kernel: str
    """With its target."""
    column: str
    text: str
    """What it found, in words."""


class Unchecked(Breach, frozen=True):
    """Where it is not known whether a condition holds."""


class Checked(Comparison, frozen=True):
    """A comparison, and where conditions hold of it: what `--json` is."""

    breaches: list[Breach] = msgspec.field(default_factory=list[Breach])
    unchecked: list[Unchecked] = msgspec.field(default_factory=list[Unchecked])


def json_schema() -> dict[str, Any]:
    """The published JSON Schema of that."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "cutecc versions --json",
        **msgspec.json.schema(Checked),
    }


def parse_conditions(text: str) -> list[Condition]:
    """The conditions in a text such as `registers>+8, spills>0, width<, results`.

    `>N` and `<N` are of the number itself, `>+N` and `<-N` of the change against the first column, in percent with `%`;
    `>` and `<` alone are of any change. `width` is each of the four. Raises `UsageError`.
    """
    return [_condition(part.strip()) for part in text.split(",")]


def _condition(text: str) -> Condition:
    names = [*METRICS, _WIDTH, _TIME, _COMPILE_TIME, _RESULTS]
    match = _CONDITION.fullmatch(text.replace(" ", ""))
    if match is None:
        hints = ["as in registers>+8, spills>0, width<, time>+5%, results"]
        raise UsageError(f"--fail-on: '{text}' is no condition", hints=hints)
    name, sign = match["name"], match["sign"]
    if name not in names:
        hints = did_you_mean(name, names) or [f"there are {', '.join(names)}"]
        raise UsageError(f"--fail-on {text}: there is no '{name}'", hints=hints)
    if (name == _RESULTS) != (sign is None):
        needed = f"as in {name}>+8" if sign is None else "results alone: they are the same bits or not"
        raise UsageError(
            f"--fail-on {text}: {'how much is too much?' if sign is None else 'no number'}", hints=[needed]
        )
    if sign is None:
        return Condition(text, name)
    change, limit = match["change"], float(match["limit"] or 0)
    is_change = bool(change) or match["limit"] is None or bool(match["percent"])
    if change and match["limit"] is None:
        raise UsageError(f"--fail-on {text}: a number is missing")
    return Condition(
        text, name, "<" if sign == "<" else ">", -limit if change == "-" else limit, is_change, bool(match["percent"])
    )


def checked(comparison: Comparison, conditions: Sequence[Condition], *, earlier: bool = False) -> Checked:
    """The comparison with what the conditions find in it; `earlier`: its first column is of an earlier run."""
    found, left = breaches(comparison, conditions, earlier=earlier), unchecked(comparison, conditions)
    return Checked(comparison.columns, comparison.rows, comparison.device, comparison.format, found, left)


def breaches(comparison: Comparison, conditions: Sequence[Condition], *, earlier: bool = False) -> list[Breach]:
    """Where conditions hold, of all columns but the first; and where something does not compile.

    What the first column does not compile either is its own breach alone, and none where it is of an `earlier` run, or
    where all others compile it.
    """
    found: list[Breach] = []
    for row in comparison.rows:
        kernel = f"{row.kernel} {row.target}"
        before = row.cells[0]
        mended = all(each and not each.failure for each in row.cells[1:])
        if before and before.failure and not earlier and not mended:
            found.append(Breach(_COMPILES, kernel, comparison.columns[0].name, before.failure))
        for column, now in list(zip(comparison.columns, row.cells, strict=True))[1:]:
            # Of a column without any kernels it is said once.
            if now or not column.failure:
                for condition, text in _found(before, now, conditions):
                    found.append(Breach(condition, kernel, column.name, text))
    for column in comparison.columns[earlier:]:
        if column.failure:
            found.append(Breach(_COMPILES, "", column.name, column.failure))
    return found


def unchecked(comparison: Comparison, conditions: Sequence[Condition]) -> list[Unchecked]:
    """Where it is not known whether conditions hold, of what compiles in all columns but the first."""
    return [
        Unchecked(condition.text, f"{row.kernel} {row.target}", column.name, text)
        for row in comparison.rows
        for column, now in list(zip(comparison.columns, row.cells, strict=True))[1:]
        if now and not now.failure
        for condition in conditions
        for text in _unknown(condition, row.cells[0], now)
    ]


def _unknown(condition: Condition, before: Cell | None, now: Cell) -> Iterator[str]:
    """What is not known of a cell that a condition asks for."""
    if condition.name == _RESULTS:
        if now.results is None:
            yield "it was not run"
        elif now.results == "reference":
            yield "there are no results to compare its own with"
        return
    # Where instructions are known there may be no accesses, which then have no width.
    name = "instructions" if condition.name in (_WIDTH, *WIDTHS) else condition.name
    numbers = list(_numbers(name, before, now))
    if not numbers:
        yield "it was not measured"
    for what, earlier, number in numbers:
        if number is None:
            yield f"{what or f'{name} '}not known"
        elif condition.is_change and earlier is None:
            yield f"{what or f'{name} '}not known of the first column"


def _found(before: Cell | None, now: Cell | None, conditions: Sequence[Condition]) -> Iterator[tuple[str, str]]:
    """The conditions that hold of a cell, and what they found."""
    if now is None or now.failure:
        if before is None or not before.failure:
            yield _COMPILES, now.failure if now and now.failure else "it is not there"
        return
    for condition in conditions:
        if condition.name == _RESULTS:
            if now.results not in GOOD_RESULTS:
                yield condition.text, "; ".join([str(now.results), *now.problems[:1]])
            continue
        for what, earlier, number in _numbers(condition.name, before, now):
            if condition.holds(earlier, number):
                was = "" if earlier is None else f", was {number_text(earlier)}"
                yield condition.text, f"{what}{number_text(number)}{was}"


def _numbers(name: str, before: Cell | None, now: Cell) -> Iterator[tuple[str, float | None, float | None]]:
    """The numbers that a name means: what each is of, as it was, and as it is."""
    if name in _OF_CELLS:
        of = _OF_CELLS[name]
        yield "", of(before) if before else None, of(now)
        return
    for function, measures in now.functions.items():
        earlier = before.functions.get(function) if before else None
        for each in WIDTHS if name == _WIDTH else (name,):
            metric = METRICS[each].of
            yield f"{function}: {each} ", metric(earlier) if earlier else None, metric(measures)
