"""What `cutecc versions` prints: a table of kernels and columns, where they part, and what is not allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click
import msgspec

from cutecc.cli.console import Console, console_of_whole_lines
from cutecc.cli.headings import wrapped
from cutecc.cli.tables import folded, plain_table, print_table
from cutecc.versions.changes import LineChange
from cutecc.versions.comparison import Comparison, KernelRow
from cutecc.versions.conditions import Breach, Checked
from cutecc.versions.numbers import NumberRow, number_rows
from cutecc.versions.words import (
    COLUMN_HEADINGS,
    LEGEND,
    MARKS,
    Verdict,
    cell_text,
    change_lines,
    column_rows,
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
_LEAST_ROOM = 24
"""Characters that a column of differences needs."""
_GAP = 3
"""Characters between two columns of a table."""
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
        _show_overview(comparison, names, console)
    for row in comparison.rows:
        if verbose or len(comparison.rows) == 1:
            _show_numbers(row, names, console)
        _show_changes(row, names, console, verbose=verbose, single=len(comparison.rows) == 1)
    if any(each.changes for each in comparison.rows):
        console.say(LEGEND, style="dim")


def show_breaches(result: Checked, *, asked: bool) -> None:
    """Print what is so that --fail-on names, or does not compile, and of what it is not known."""
    console = console_of_whole_lines()
    for each in result.breaches:
        console.say(f"{MARKS['worse']} {_breach_text(each)}", style="bold red")
    for each in result.unchecked:
        console.say(f"? {_breach_text(each)}", style="yellow")
    if asked and not result.breaches:
        console.say("no condition of --fail-on holds" + (", as far as is known" if result.unchecked else ""))


def _breach_text(each: Breach) -> str:
    where = f"{each.kernel}, " if each.kernel else ""
    text = each.text.replace("\n", "\n  ")
    return f"{each.condition}: {where}{each.column}: {text}"


def _show_columns(comparison: Comparison, console: Console) -> None:
    from rich.text import Text

    table = plain_table()
    for heading in COLUMN_HEADINGS:
        table.add_column(heading, overflow="fold")
    for row in column_rows(comparison):
        table.add_row(*map(Text, row))
    print_table(table, console)
    for each in comparison.columns:
        if each.failure:
            failure = each.failure.replace("\n", "\n  ")
            console.say(f"{MARKS['worse']} {each.name}: {failure}", style="bold red")
    console.print()


def _show_overview(comparison: Comparison, names: Sequence[str], console: Console) -> None:
    """A row for each kernel, a column for each column; where these have no room, one below the other."""
    from rich.table import Table
    from rich.text import Text

    if console.width // (len(names) + 1) >= _LEAST_ROOM:
        table = plain_table()
        for heading in ("kernel", *names):
            table.add_column(heading, overflow="fold")
        for row in comparison.rows:
            table.add_row(Text(title(row)), *_cells(row))
        print_table(table, console)
        console.print()
        return
    widest = min(2 + max(map(len, names)), console.width // 3)
    for row in comparison.rows:
        console.say(title(row), style="bold")
        table = Table.grid(padding=(0, 2))
        table.add_column(width=widest, overflow="fold")
        table.add_column(overflow="fold")
        for name, cell in zip(names, _cells(row), strict=True):
            table.add_row(Text(f"  {folded(name, widest - 2)}".replace("\n", "\n  ")), cell)
        print_table(table, console)
        console.print()


def _cells(row: KernelRow) -> list[Text]:
    from rich.text import Text

    norm, *others = row.cells
    return [Text(norm_text(norm), style="dim"), *(_styled(cell_text(norm, each)) for each in others)]


def _styled(text: str) -> Text:
    from rich.text import Text

    found = Text()
    for number, part in enumerate(text.split("; ")):
        styles = [_STYLES[each] for each, mark in MARKS.items() if part.startswith(mark)]
        found.append("\n" if number else "").append(part, style=(styles or ["dim"])[0])
    return found


def _show_numbers(row: KernelRow, names: Sequence[str], console: Console) -> None:
    """A row for each number, a column for each column; with no room for these, several tables that have the first."""
    rows = list(number_rows(row))
    widths = [max([len(name), *_lengths(rows, number)]) for number, name in enumerate(names)]
    labels, label = max(len(each.name) for each in rows), title(row)
    groups = [[*range(len(names))]]
    if len(label) + sum(width + _GAP for width in widths) > console.width:
        label = folded(label, max(labels, _LEAST_ROOM))
        names = [folded(name, max([_LEAST_ROOM // 2, *_lengths(rows, number)])) for number, name in enumerate(names)]
        widths = [max([*map(len, name.split("\n")), *_lengths(rows, number)]) for number, name in enumerate(names)]
        room = console.width - max([labels, *map(len, label.split("\n"))])
        groups = _groups(widths, room)
    for group in groups:
        print_table(_numbers(rows, label, [names[each] for each in group], group), console)
        console.print()


def _lengths(rows: Sequence[NumberRow], column: int) -> list[int]:
    return [len(each.values[column].text) for each in rows if each.values]


def _groups(widths: Sequence[int], room: int) -> list[list[int]]:
    """The columns of each table: the first one, and as many others as there is room for."""
    groups: list[list[int]] = []
    for number in range(1, len(widths)):
        if not groups or sum(widths[each] + _GAP for each in (*groups[-1], number)) > room:
            groups.append([0])
        groups[-1].append(number)
    return groups or [[0]]


def _numbers(rows: Sequence[NumberRow], label: str, names: Sequence[str], columns: Sequence[int]) -> Table:
    from rich.text import Text

    table = plain_table()
    table.add_column(label, overflow="fold")
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for each in rows:
        if not each.values:
            table.add_section()
        values = [each.values[number] for number in columns] if each.values else []
        cells = [Text(value.text, style=_STYLES[value.verdict] if value.verdict else "") for value in values]
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
