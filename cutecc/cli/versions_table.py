"""What `cutecc versions` prints: a table of kernels and columns, where they part, and what is not allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click
import msgspec

from cutecc.cli.console import Console, console_of_whole_lines
from cutecc.cli.headings import wrapped
from cutecc.cli.tables import plain_table, print_table
from cutecc.versions.changes import LineChange
from cutecc.versions.comparison import Comparison, KernelRow
from cutecc.versions.conditions import Breach, Checked
from cutecc.versions.numbers import number_rows
from cutecc.versions.words import (
    LEGEND,
    MARKS,
    Verdict,
    cell_text,
    change_lines,
    headings,
    norm_text,
    short_location,
    title,
)

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

_MOST_LINES = 5
"""Of Python, whose machine code differs, that are shown without --verbose."""
_MOST_INSTRUCTIONS = 6
_MOST_PROBLEMS = 2
"""Of a column's results, that are shown without --verbose."""
_STYLES: Mapping[Verdict, str] = {"worse": "bold red", "better": "green", "other": "yellow"}


def echo_json(result: Checked) -> None:
    """Print everything as JSON."""
    click.echo(msgspec.json.format(msgspec.json.encode(result)).decode())


def show(comparison: Comparison, *, verbose: bool) -> None:
    """Print the table; of a single kernel, or with `verbose` of each, all numbers."""
    console = console_of_whole_lines()
    names = headings(comparison)
    _show_columns(comparison, console)
    if len(comparison.rows) > 1:
        print_table(_overview(comparison, names), console)
        console.print()
    for row in comparison.rows:
        if verbose or len(comparison.rows) == 1:
            print_table(_numbers(row, names), console)
            console.print()
        _show_changes(row, names, console, verbose=verbose, single=len(comparison.rows) == 1)
    if any(each.changes for each in comparison.rows):
        console.say(LEGEND, style="dim")


def show_breaches(broken: Sequence[Breach], *, asked: bool) -> None:
    """Print what is so that --fail-on names, or does not compile."""
    console = console_of_whole_lines()
    for each in broken:
        where = f"{each.kernel}, " if each.kernel else ""
        console.say(f"{MARKS['worse']} {each.condition}: {where}{each.column}: {each.text}", style="bold red")
    if asked and not broken:
        console.say("no condition of --fail-on holds")


def _show_columns(comparison: Comparison, console: Console) -> None:
    from rich.text import Text

    table = plain_table()
    for heading in ("column", "nvidia-cutlass-dsl", "options and sources"):
        table.add_column(heading, overflow="fold")
    for each in comparison.columns:
        wheel = each.versions.wheel if each.versions else "–"
        said = [*each.options, *([each.commit[:12]] if each.commit else [])]
        table.add_row(Text(each.name), Text(wheel), Text(" ".join(said)))
    print_table(table, console)
    for each in comparison.columns:
        if each.failure:
            console.say(f"{MARKS['worse']} {each.name}: {each.failure}", style="bold red")
    console.print()


def _overview(comparison: Comparison, names: Sequence[str]) -> Table:
    """A row for each kernel, a column for each column."""
    from rich.text import Text

    table = plain_table()
    for heading in ("kernel", *names):
        table.add_column(heading, overflow="fold")
    for row in comparison.rows:
        norm, *others = row.cells
        cells = [Text(title(row)), Text(norm_text(norm), style="dim")]
        cells += [_styled(cell_text(norm, each)) for each in others]
        table.add_row(*cells)
    return table


def _styled(text: str) -> Text:
    from rich.text import Text

    found = Text()
    for number, part in enumerate(text.split("; ")):
        styles = [_STYLES[each] for each, mark in MARKS.items() if part.startswith(mark)]
        found.append("\n" if number else "").append(part, style=(styles or ["dim"])[0])
    return found


def _numbers(row: KernelRow, names: Sequence[str]) -> Table:
    """A row for each number, a column for each column."""
    from rich.text import Text

    table = plain_table()
    table.add_column(title(row), overflow="fold")
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for each in number_rows(row):
        if not each.values:
            table.add_section()
        cells = [Text(value.text, style=_STYLES[value.verdict] if value.verdict else "") for value in each.values]
        table.add_row(Text(each.name, style="" if cells else "bold"), *cells)
    return table


def _show_changes(row: KernelRow, names: Sequence[str], console: Console, *, verbose: bool, single: bool) -> None:
    for name, cell in zip(names, row.cells, strict=True):
        if cell and cell.failure:
            console.say(f"{MARKS['worse']} {title(row)}, {name}: {cell.failure}", style="bold red")
        problems = cell.problems if cell else []
        for problem in problems if verbose else problems[:_MOST_PROBLEMS]:
            console.say(f"{MARKS['worse']} {title(row)}, {name}: {problem}", style="bold red")
    for note in row.notes:
        console.say(wrapped(f"note: {title(row)}: {note}", console.width))
    for change in row.changes:
        console.say(f"{title(row)}: {change.column} beside {names[0]}", style="bold")
        for line in change_lines(change):
            console.say(wrapped(f"  {line}", console.width))
        shown = change.lines if verbose else change.lines[:_MOST_LINES]
        for each in shown:
            _show_line(each, console)
            if verbose or single:
                _show_instructions(each, console, verbose=verbose)
        if left := len(change.lines) - len(shown):
            console.say(f"  {left} line{'s' * (left > 1)} more: --verbose", style="dim")
        console.print()


def _show_line(each: LineChange, console: Console) -> None:
    where = short_location(f"{each.file}:{each.line}") if each.line else "no line"
    since = f" since {each.since}" if each.since else ""
    removed, added = sum(each.removed.values()), sum(each.added.values())
    text = f"  -{removed} +{added}  {where}{since}  {each.text}"
    console.say(text if len(text) <= console.width else f"{text[: console.width - 1]}…")


def _show_instructions(each: LineChange, console: Console, *, verbose: bool) -> None:
    for sign, counts, style in (("-", each.removed, "red"), ("+", each.added, "green")):
        items = list(counts.items()) if verbose else list(counts.items())[:_MOST_INSTRUCTIONS]
        for instruction, count in items:
            console.say(f"      {sign} {instruction}{f'  ×{count}' if count > 1 else ''}", style=style)
        if len(items) < len(counts):
            console.say(f"      {sign} {len(counts) - len(items)} more", style="dim")
