"""The table of passes that `cutecc compile` prints: what each did, as wide as the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from cutecc.cli.tables import folded, folded_items, plain_table
from cutecc.record import Compilation, Step

_HEADINGS = ("#", "pass", "ms", "changed", "operations by dialect")
_GAP = 3
"""Characters between two columns."""
_NAME_WIDTHS = {110: 48, 76: 27, 0: 18}
"""Characters for the name of a pass, on terminals of at least so many columns."""
_LEAST_ROOM = 16
"""Characters for the operations, however narrow the terminal is."""


@dataclass(frozen=True)
class _Row:
    """A pass, or several that changed nothing."""

    number: str
    name: str
    milliseconds: str = ""
    mark: str = ""
    colour: str = "dim"
    """Of the mark."""
    operations: Sequence[str] = ()
    """What is said of each dialect."""
    dim: bool = True


def pass_table(compilation: Compilation, *, verbose: bool, width: int) -> Table:
    """What each pass did; runs of passes that changed nothing are one row, unless `verbose`."""
    rows: list[_Row] = []
    if (traced := compilation.traced_operations) is not None:
        counts = [f"{name} {count}" for name, count in sorted(traced.items(), key=lambda item: -item[1])]
        rows.append(_Row("0", "traced", operations=counts))
    idle: list[Step] = []
    for step in compilation.steps:
        if not step.changed and step.status == "ok" and not verbose:
            idle.append(step)
        else:
            rows += [*_idle_rows(idle), _row(step)]
            idle = []
    return _table([*rows, *_idle_rows(idle)], width)


def _table(rows: Sequence[_Row], width: int) -> Table:
    for_name = next(characters for least, characters in _NAME_WIDTHS.items() if width >= least)
    names = [folded(row.name, for_name) for row in rows]
    columns = [
        [row.number for row in rows],
        [line for name in names for line in name.splitlines()],
        [row.milliseconds for row in rows],
        [row.mark for row in rows],
    ]
    widths = [max(map(len, [heading, *cells])) for heading, cells in zip(_HEADINGS[:-1], columns, strict=True)]
    room = max(width - sum(widths) - _GAP * len(widths), _LEAST_ROOM)
    table = plain_table()
    for heading in _HEADINGS:
        justify = "right" if heading in ("#", "ms") else "left"
        table.add_column(folded(heading, room), justify=justify, no_wrap=True)
    for row, name in zip(rows, names, strict=True):
        cells = Text(row.number, style="dim"), name, row.milliseconds, Text(row.mark, style=row.colour)
        table.add_row(*cells, folded_items(row.operations, room), style="dim" if row.dim else None)
    return table


def _row(step: Step) -> _Row:
    if step.status == "failed":
        mark, colour = "failed", "bold red"
    elif step.changed is None:
        mark, colour = "?", ""
    else:
        mark, colour = ("● yes", "green") if step.changed else ("· no", "dim")
    name = step.name if step.provider == "wheel" else f"{step.name} ({step.provider})"
    changes = _changes(step.operations_before or {}, step.operations_after or {})
    return _Row(str(step.index), name, f"{step.seconds * 1e3:.1f}", mark, colour, changes, dim=not step.changed)


def _idle_rows(steps: Sequence[Step]) -> list[_Row]:
    """Passes that changed nothing, as one row."""
    if len(steps) < 2:
        return list(map(_row, steps))
    milliseconds = f"{sum(step.seconds for step in steps) * 1e3:.1f}"
    return [_Row(f"{steps[0].index}-{steps[-1].index}", f"{len(steps)} passes", milliseconds, "· no")]


def _changes(before: Mapping[str, int], after: Mapping[str, int]) -> list[str]:
    """`cute 44→12`, `arith 11→20`: the dialects whose number of operations differs, those most that change most."""
    if not after:
        return []
    names = [name for name in dict.fromkeys([*before, *after]) if before.get(name, 0) != after.get(name, 0)]
    names.sort(key=lambda name: -abs(after.get(name, 0) - before.get(name, 0)))
    return [f"{name} {before.get(name, 0)}→{after.get(name, 0)}" for name in names]
