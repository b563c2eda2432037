"""A kernel's numbers in all columns: a row for each, and which way it went."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from cutecc.versions.comparison import Cell, KernelRow
from cutecc.versions.measures import METRICS, SPACES, WIDTHS, Measures, Metric

Verdict = Literal["worse", "better", "other"]
MARKS: Mapping[Verdict, str] = {"worse": "✗", "better": "✓", "other": "●"}
"""What stands before a difference, so that colour alone tells nothing."""
GOOD_RESULTS = (None, "reference", "same bits")
_LABELS = {"matrix": "matrix instructions", "barriers": "barrier instructions"}
_NOTHING = "–"


@dataclass(frozen=True)
class Value:
    """A number as text, and how it is beside the first column's, where it is another."""

    text: str
    verdict: Verdict | None = None


@dataclass(frozen=True)
class NumberRow:
    """A number in all columns; without values a heading."""

    name: str
    values: Sequence[Value] = ()


def number_text(value: float | None, unit: str = "") -> str:
    """A number with its unit, `?` where it is not known."""
    if value is None:
        return "?"
    text = f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else f"{value}"
    return f"{text} {unit}".rstrip()


def verdict(metric: Metric, before: float | None, now: float | None) -> Verdict | None:
    """Which way a number went; `None` where it is the same or not known of both."""
    if before is None or now is None or before == now:
        return None
    if metric.worse == "neither":
        return "other"
    return "worse" if (now > before) == (metric.worse == "more") else "better"


def number_rows(row: KernelRow) -> Iterator[NumberRow]:
    """All numbers of a kernel: of each of its device functions, then of all together."""
    functions = dict.fromkeys(name for cell in row.cells if cell for name in cell.functions)
    for function in functions:
        if len(functions) > 1:
            yield NumberRow(function)
        measures = [cell.functions.get(function) if cell else None for cell in row.cells]
        yield from _metric_rows(measures)
        yield from _width_rows(measures)
        yield from _class_rows(measures)
    yield from _cell_rows(row.cells)


def _metric_rows(measures: Sequence[Measures | None]) -> Iterator[NumberRow]:
    for name, metric in METRICS.items():
        if name not in WIDTHS:
            numbers = [metric.of(each) if each else None for each in measures]
            values = [_value(metric, numbers[0], each) for each in numbers]
            yield NumberRow(_LABELS.get(name, name), values)


def _value(metric: Metric, before: float | None, now: float | None) -> Value:
    text, found = number_text(now, metric.unit), verdict(metric, before, now)
    if found is None or before is None or now is None:
        return Value(text)
    return Value(f"{MARKS[found]} {text} ({now - before:+g})", found)


def _width_rows(measures: Sequence[Measures | None]) -> Iterator[NumberRow]:
    """`128 ×4, 32 ×8`: wider accesses first."""
    for name, space in zip(WIDTHS, SPACES, strict=True):
        metric = METRICS[name]
        first = metric.of(measures[0]) if measures[0] else None
        values: list[Value] = []
        for each in measures:
            widths = each.widths.get(space, {}) if each else {}
            text = ", ".join(f"{bits} ×{widths[bits]}" for bits in sorted(widths, key=int, reverse=True))
            found = verdict(metric, first, metric.of(each) if each else None)
            values.append(Value(f"{MARKS[found]} {text}" if found else text or _NOTHING, found))
        if any(each.text != _NOTHING for each in values):
            yield NumberRow(f"{space}, bits", values)


def _class_rows(measures: Sequence[Measures | None]) -> Iterator[NumberRow]:
    """The classes of instructions whose number differs, but for accesses that have widths."""
    for name in dict.fromkeys(name for each in measures if each for name in each.classes):
        counts = [each.classes.get(name, 0) if each else None for each in measures]
        if len(set(counts)) > 1 and not name.startswith(SPACES):
            values = [Value(number_text(each), None if each in (counts[0], None) else "other") for each in counts]
            yield NumberRow(f"  {name}", values)


def _cell_rows(cells: Sequence[Cell | None]) -> Iterator[NumberRow]:
    failed = [cell is None or cell.failure is not None for cell in cells]
    if any(failed):
        values = [Value(f"{MARKS['worse']} no", "worse") if each else Value("yes") for each in failed]
        yield NumberRow("compiles", values)
    if any(cell and cell.results for cell in cells):
        yield NumberRow("results", [_result(cell) for cell in cells])
    yield from _times("time", cells, lambda cell: cell.microseconds, "{:.1f} µs")
    yield from _times("compile time", cells, lambda cell: cell.compile_seconds, "{:.2f} s")


def _result(cell: Cell | None) -> Value:
    result = cell.results if cell else None
    if result in GOOD_RESULTS:
        return Value(result or _NOTHING)
    kind: Verdict = "other" if result == "in bounds" else "worse"
    return Value(f"{MARKS[kind]} {result}", kind)


def _times(
    name: str, cells: Sequence[Cell | None], of: Callable[[Cell], float | None], form: str
) -> Iterator[NumberRow]:
    times = [of(cell) if cell else None for cell in cells]
    if any(times):
        yield NumberRow(name, [Value(_NOTHING if each is None else form.format(each)) for each in times])
