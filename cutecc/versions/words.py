"""What a comparison says, in words: on the terminal and on its page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cutecc.versions.changes import Change
from cutecc.versions.comparison import Cell, Comparison, KernelRow
from cutecc.versions.measures import METRICS, Measures
from cutecc.versions.modules import PassPlace
from cutecc.versions.numbers import GOOD_RESULTS, MARKS, Verdict, number_text, verdict

LEGEND = f"{MARKS['worse']} worse than in the first column, {MARKS['better']} better, {MARKS['other']} different"
_FAR_APART = 0.05
"""Of times, which are never quite the same: a difference that counts."""
_SHOWN = ("registers", "spills", "instructions")
"""What the first column says of a kernel in a row."""


@dataclass(frozen=True)
class Difference:
    """A number that differs from the first column's."""

    name: str
    before: str
    now: str
    verdict: Verdict

    def __str__(self) -> str:
        return f"{MARKS[self.verdict]} {self.name} {f'{self.before} → ' if self.before else ''}{self.now}"


def differences(before: Cell, now: Cell) -> Iterator[Difference]:
    """What differs between two columns, results and times too."""
    for function, measures in now.functions.items():
        where = f"{function}: " if len(now.functions) > 1 else ""
        earlier = before.functions.get(function)
        if earlier is None:
            yield Difference(f"{where}kernel", "not there", "there", "other")
        else:
            yield from _of_functions(where, earlier, measures)
    gone = [function for function in before.functions if function not in now.functions]
    yield from (Difference(f"{function}: kernel", "there", "gone", "other") for function in gone)
    if now.results is not None and now.results not in GOOD_RESULTS:
        yield Difference("results", "", now.results, "other" if now.results == "in bounds" else "worse")
    if before.microseconds and now.microseconds:
        ratio = now.microseconds / before.microseconds
        if abs(ratio - 1) > _FAR_APART:
            old, new = f"{before.microseconds:.1f}", f"{now.microseconds:.1f} µs"
            yield Difference("time", old, new, "worse" if ratio > 1 else "better")


def _of_functions(where: str, before: Measures, now: Measures) -> Iterator[Difference]:
    for metric in METRICS.values():
        old, new = metric.of(before), metric.of(now)
        if found := verdict(metric, old, new):
            yield Difference(f"{where}{metric.name}", number_text(old), number_text(new, metric.unit), found)
    if before.classes != now.classes and before.instructions == now.instructions:
        yield Difference(f"{where}instructions", "some", "others, as many", "other")


def norm_text(cell: Cell | None) -> str:
    """What the first column has, in a few words."""
    if cell is None:
        return "not there"
    if cell.failure:
        return f"{MARKS['worse']} does not compile"
    texts: list[str] = []
    for function, measures in cell.functions.items():
        where = f"{function}: " if len(cell.functions) > 1 else ""
        values = ((name, METRICS[name].of(measures), METRICS[name].unit) for name in _SHOWN)
        texts.append(where + ", ".join(f"{number_text(value, unit)} {name}" for name, value, unit in values))
    time = [f"{cell.microseconds:.1f} µs"] if cell.microseconds else []
    return "; ".join([*texts, *time]) or "compiles"


def cell_text(before: Cell | None, now: Cell | None) -> str:
    """What another column has beside the first, in a few words."""
    if now is None:
        return "not there" if before is None else f"{MARKS['worse']} not there"
    if now.failure:
        return f"{MARKS['worse']} does not compile"
    if before is None or before.failure:
        return norm_text(now)
    found = list(map(str, differences(before, now)))
    return "; ".join(found) or "the same numbers"


def place_text(place: PassPlace) -> str:
    """Where the first difference is: the operation, its function and its line."""
    where = [
        *([f"in {place.function}"] if place.function else []),
        *([f"at {short_location(place.location)}"] if place.location else []),
    ]
    return " ".join([*([place.operation] if place.operation else []), *where]) or "its attributes"


def pass_text(place: PassPlace) -> str:
    """The pass, with the column that alone has it."""
    return f"{place.selector} (only in {place.only_in})" if place.only_in else place.selector


def change_lines(change: Change) -> Iterator[str]:
    """Where a column parts from the first."""
    if change.first:
        yield f"modules first differ after {pass_text(change.first)}: {place_text(change.first)}"
    if change.since and not change.same_code:
        yield f"kernels differ for good from {pass_text(change.since)} on: {place_text(change.since)}"
    elif change.first and not change.since:
        yield "kernels are the same again when code is generated"
    if change.same_code is None:
        yield "machine code is not compared: there is none of one of them"
    elif change.same_code:
        yield "machine code is the same, but for registers, addresses and order"
    elif not change.since:
        maker = "the assembler makes other code of the same PTX" if change.same_ptx else "the code generator does it"
        yield f"machine code differs: {maker}"


def short_location(location: str) -> str:
    """`softmax.py:43` of a whole path."""
    file, colon, line = location.rpartition(":")
    return f"{Path(file).name}{colon}{line}"


def headings(comparison: Comparison) -> list[str]:
    """The name of each column."""
    return [each.name for each in comparison.columns]


COLUMN_HEADINGS = ("column", "nvidia-cutlass-dsl", "options and sources")


def column_rows(comparison: Comparison) -> Iterator[tuple[str, str, str]]:
    """What each column was compiled with."""
    for each in comparison.columns:
        wheel = each.versions.wheel if each.versions else "–"
        yield each.name, wheel, " ".join([*each.options, *([each.commit[:12]] if each.commit else [])])


def title(row: KernelRow) -> str:
    """A kernel and its target."""
    return f"{row.kernel} {row.target}"
