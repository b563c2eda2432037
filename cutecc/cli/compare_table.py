"""What `cutecc compare` prints: what two records are, their passes, code and results, one beside the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import asdict

from cutecc.cli.console import Console, console_of_whole_lines
from cutecc.cli.headings import points_text, wrapped
from cutecc.cli.sizes import sizes_text
from cutecc.cli.tables import Row, fitting, folded, plain_table, print_table
from cutecc.report.pair import (
    Lines,
    MixPair,
    Pair,
    PassPair,
    PassRun,
    ResourcePair,
    Results,
    Side,
)
from cutecc.report.pair_remarks import remarks_text

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

_NARROW = 27
"""Characters for the name of a pass on a narrow terminal."""
_WIDE_TERMINAL = 110
_GAP = 3
"""Characters between two columns."""
_MARKS = {
    "changed": ("● changed", "green"),
    "unchanged": ("· no", "dim"),
    "unknown": ("?", ""),
    "failed": ("✗ failed", "bold red"),
    "before": ("before", "dim"),
    "input": ("input", "dim"),
    "not run": ("not run", "dim"),
}


def show(pair: Pair, *, verbose: bool = False) -> None:
    """Print two records side by side; `verbose` prints every pass and class of instructions."""
    console = console_of_whole_lines()
    print_table(_sides_table(pair.a, pair.b, console.width), console)
    console.print()
    print_table(_pass_table(pair, verbose=verbose, wide=console.width >= _WIDE_TERMINAL), console)
    console.print()
    for line in summary_lines(pair):
        console.say(wrapped(line, console.width))
    for name in dict.fromkeys(each.kernel for each in (*pair.resources, *pair.instructions)):
        console.print()
        print_table(_kernel_table(pair, name, verbose=verbose), console)
    if pair.results:
        console.print()
        _show_results(pair.results, pair.a.outputs, console)


def _table(*headings: tuple[str, str]) -> Table:
    """A table with columns of these headings and alignments."""
    table = plain_table()
    for heading, justify in headings:
        table.add_column(heading, **_settings(heading, justify))
    return table


def _settings(heading: str, justify: str) -> dict[str, Any]:
    # A name may be longer than the terminal is wide: columns of text fold, those of numbers do not.
    is_text = justify == "left" and heading != "pass"
    return {"justify": justify, "no_wrap": not is_text, "overflow": "fold"}


# What the two are.


def _sides_table(a: Side, b: Side, width: int) -> Table:
    """A row for each fact, once where it is the same for both; cells are folded between the parts of names."""
    from rich.text import Text

    table = _table(("", "left"), ("A", "left"), ("B", "left"))
    facts = [each for each in _facts(a, b) if each[1] or each[2]]
    names, ours, theirs = zip(*facts, strict=True)
    room = width - max(map(len, names)) - 2 * _GAP
    longest = max(map(len, ours))
    # Where both have not enough, each has half, or the second one what the first leaves.
    left = longest if longest <= room // 2 else max(room // 2, room - max(map(len, theirs)))
    for name, mine, other in facts:
        second = Text("the same", style="dim") if mine == other else folded(other, room - min(left, longest))
        table.add_row(Text(name, style="dim"), folded(mine, left), second)
    return table


_FACTS: dict[str, Callable[[Side], str]] = {
    "record": lambda side: side.record,
    "kernel": lambda side: f"{side.kernel} for {side.target}",
    "source": lambda side: side.source or "",
    "status": lambda side: f"{side.status} in {side.failure.partition(chr(10))[0]}" if side.failure else side.status,
    "resumed": lambda side: str(side.resumed or "").removeprefix("resumed "),
    "pipeline": lambda side: f"{side.passes} passes",
    "options": lambda side: ", ".join(
        f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in side.options.items()
    ),
}


def _facts(a: Side, b: Side) -> Iterator[tuple[str, str, str]]:
    for name, of in _FACTS.items():
        is_other = name == "pipeline" and a.pipeline != b.pipeline
        yield name, of(a), of(b) + (", of another pipeline" if is_other else "")
    ours, theirs = _versions(a), _versions(b)
    for name in ours:
        if ours[name] != theirs[name]:
            yield name.replace("_", "-"), ours[name] or "–", theirs[name] or "–"


def _versions(side: Side) -> dict[str, str | None]:
    found = asdict(side.versions) | {"nvidia_cutlass_dsl": side.versions.wheel}
    del found["flavour"]
    return found


# Passes.


def _pass_table(pair: Pair, *, verbose: bool, wide: bool) -> Table:
    """A row for each pass; those that tell nothing are one row, unless `verbose`."""
    table = _table(
        ("A", "right"),
        ("B", "right"),
        ("pass", "left"),
        ("in A", "left"),
        ("in B", "left"),
        ("modules", "left"),
    )
    rows_with_news = _with_news(pair.passes)
    for key, group in groupby(rows_with_news, key=lambda each: None if each[1] or verbose else _fold_key(each[0])):
        rows = [each for each, _ in group]
        if key is not None and len(rows) > 1:
            _add_folded(table, rows)
        else:
            for each in rows:
                _add_pass(table, each, wide)
    return table


def _with_news(passes: Sequence[PassPair]) -> Iterator[tuple[PassPair, bool]]:
    """Each row, and whether it tells something: it did another thing in one of them, or makes or ends a difference."""
    last: Lines | None = None
    for each in passes:
        states = {run.state for run in (each.a, each.b) if run} - {"before", "not run"}
        # What one of them alone has run, and what changed nothing, is as if it were not there.
        alone = (each.a is None or each.b is None) and states != {"unchanged"}
        unlike = len(states) > 1 or "failed" in states or not each.same_options
        yield each, alone or unlike or (each.lines is not None and last is not None and each.lines != last)
        last = each.lines if each.lines is not None else last


def _fold_key(each: PassPair) -> tuple[object, ...]:
    """What rows share that are shown as one."""
    kinds = [None if run is None else run.state in ("before", "not run") and run.state for run in (each.a, each.b)]
    return (*kinds, each.lines)


def _add_folded(table: Table, rows: Sequence[PassPair]) -> None:
    ours, theirs = [each.a for each in rows if each.a], [each.b for each in rows if each.b]
    passes = sum(each.index > 0 for each in ours or theirs)
    table.add_row(
        *(f"{runs[0].index}-{runs[-1].index}" if runs else "" for runs in (ours, theirs)),
        f"{'traced, ' if passes < len(rows) else ''}{passes} pass{'' if passes == 1 else 'es'}",
        _together(ours),
        _together(theirs),
        _lines(rows[-1]),
        style="dim",
    )


def _together(runs: Sequence[PassRun]) -> str:
    """What passes did that are shown as one."""
    if not runs:
        return "–"
    if runs[-1].state in ("before", "not run"):
        return runs[-1].state
    changed = sum(each.state == "changed" for each in runs)
    return f"● {changed} changed" if changed else "· no"


def _add_pass(table: Table, each: PassPair, wide: bool) -> None:
    name = " / ".join(dict.fromkeys(run.selector for run in (each.a, each.b) if run))
    if not each.same_options:
        name += " (other options)"
    table.add_row(
        str(each.a.index) if each.a else "",
        str(each.b.index) if each.b else "",
        name if wide else folded(name, _NARROW),
        _mark(each.a),
        _mark(each.b),
        _lines(each),
    )


def _mark(run: PassRun | None) -> Text:
    from rich.text import Text

    text, style = _MARKS[run.state] if run else ("–", "dim")
    return Text(text, style=style)


def _lines(each: PassPair) -> Text:
    from rich.text import Text

    if each.lines is None:
        return Text("")
    if not each.lines:
        return Text("same", style="dim")
    return Text.assemble((f"-{each.lines.a}", "red"), " ", (f"+{each.lines.b}", "green"))


# Code.


def summary_lines(pair: Pair) -> Iterator[str]:
    """What there is to say of modules, code and remarks."""
    if pair.first_difference is not None:
        each = pair.passes[pair.first_difference]
        assert each.a is not None
        assert each.lines is not None
        yield (
            f"modules: the first that differ are those after {each.a.selector}, -{each.lines.a} +{each.lines.b} lines; "
            f"--stage {each.a.selector} shows them"
        )
    elif any(each.lines is not None for each in pair.passes):
        yield "modules: the same wherever both have one"
    if pair.ptx is not None:
        yield f"PTX: {_ptx(pair)}"
    if pair.same_cubin is not None:
        yield f"cubin: {'the same' if pair.same_cubin else 'differs'}"
    if pair.remarks:
        yield f"remarks: {remarks_text(pair.remarks)}"
    yield from (f"note: {note}" for note in pair.notes)


def _ptx(pair: Pair) -> str:
    code = pair.ptx
    assert code is not None
    if code.same:
        return f"the same, {code.a:,} lines"
    if not code.lines:
        return "differs in line information and the names of registers and labels alone"
    return f"differs: {code.lines.a:,} of {code.a:,} lines in A alone, {code.lines.b:,} of {code.b:,} in B alone"


def _kernel_table(pair: Pair, name: str, *, verbose: bool) -> Table:
    """What a kernel takes and consists of, with the change."""
    table = _table((name, "left"), ("A", "right"), ("B", "right"), ("change", "right"))
    for each in pair.resources:
        if each.kernel == name:
            _add_resources(table, each)
    for each in pair.instructions:
        if each.kernel == name:
            table.add_section()
            _add_instructions(table, each, pair.instructions_of or "", verbose=verbose)
    return table


_RESOURCES = {
    "registers": "registers",
    "spill stores": "spill_store_bytes",
    "spill loads": "spill_load_bytes",
    "stack": "stack_bytes",
    "shared, static": "shared_static_bytes",
    "shared, dynamic": "shared_dynamic_bytes",
    "constant": "constant_bytes",
    "barriers": "barriers",
}


def _add_resources(table: Table, each: ResourcePair) -> None:
    for heading, field in _RESOURCES.items():
        ours, theirs = (getattr(side, field) if side else None for side in (each.a, each.b))
        unit = " B" if field.endswith("_bytes") else ""
        table.add_row(heading, _number(ours, unit), _number(theirs, unit), _change(ours, theirs))
    occupancy = [side.occupancy if side else None for side in (each.a, each.b)]
    percent = [f"{found.percent}%" if found else "?" for found in occupancy]
    ours, theirs = (found.percent if found else None for found in occupancy)
    table.add_row("occupancy", *percent, _change(ours, theirs, "%"))


def _add_instructions(table: Table, each: MixPair, of: str, *, verbose: bool) -> None:
    ours, theirs = each.a or {}, each.b or {}
    total, other = (None if mix is None else sum(mix.values()) for mix in (each.a, each.b))
    table.add_row(f"{of} instructions", _number(total), _number(other), _change(total, other), style="bold")
    names = [*ours, *(name for name in theirs if name not in ours)]
    shown = [name for name in names if verbose or ours.get(name, 0) != theirs.get(name, 0)]
    for name in sorted(shown, key=lambda name: -abs(theirs.get(name, 0) - ours.get(name, 0))):
        counts = ours.get(name, 0), theirs.get(name, 0)
        table.add_row(f"  {name}", _number(counts[0]), _number(counts[1]), _change(*counts))
    if same := len(names) - len(shown):
        table.add_row(f"  {same} class{'' if same == 1 else 'es'}{' more' if shown else ''}, the same", style="dim")


def _number(value: int | None, unit: str = "") -> str:
    return "?" if value is None else f"{value:,}{unit}"


def _change(ours: int | None, theirs: int | None, unit: str = "") -> str:
    """By how much the second is more; nothing where it is not."""
    if ours is None or theirs is None or ours == theirs:
        return ""
    return f"{theirs - ours:+,}{unit}"


# Results.

_DISPENSABLE = ("tolerance", "shape", "type")
"""Columns that a narrow terminal does without, these first."""


def _show_results(results: Results, outputs: Sequence[str], console: Console) -> None:
    points = list(dict.fromkeys(sizes_text(each.sizes) for each in results.runs))
    said = [points_text([point for point in points if point]), f"seed {results.runs[0].seed}"]
    what = "; ".join(filter(None, [*said, f"tolerance: {results.tolerance_from}"]))
    console.say(wrapped(f"B against A on {results.device}: {what}", console.width))
    if results.chosen:
        console.say(results.chosen)
    if any(each.outputs for each in results.runs):
        print_table(_result_table(results, outputs, console), console)
    for each in results.runs:
        place = f"with {sizes_text(each.sizes)}: " if len(results.runs) > 1 and each.sizes else ""
        for name, problems in (("A", each.a_problems), ("B", each.b_problems)):
            for problem in problems:
                console.say(f"{place}{name}: {problem}", "red")
    if times := results.microseconds:
        ratio = f", {times.b / times.a:.2f} times as long" if times.a else ""
        line = f"time: A {times.a:.2f} µs, B {times.b:.2f} µs{ratio} (medians, taking turns)"
        console.say(line)


def _result_table(results: Results, outputs: Sequence[str], console: Console) -> Table:
    """A row for each of the outputs, and for what else differs; for several sizes a section for each."""
    from rich.text import Text

    rows: list[Row] = []
    for run in results.runs:
        rows += [sizes_text(run.sizes)] if len(results.runs) > 1 else []
        rows += [
            {
                "tensor": each.name,
                "type": each.type,
                "shape": "×".join(map(str, each.shape)),
                "abs error": f"{each.max_absolute_error:.3g}",
                "rel error": f"{each.max_relative_error:.3g}",
                "tolerance": each.allowed,
                "": Text(each.verdict, style="red" if each.verdict == "differs" else "green"),
            }
            for each in run.outputs
            if not outputs or not each.same_bits or each.name.partition("[")[0] in outputs
        ]
    headings = {"tensor": "left", "type": "left", "shape": "left"}
    headings |= {**dict.fromkeys(("abs error", "rel error", "tolerance"), "right"), "": "left"}
    columns = {heading: _settings(heading, justify) for heading, justify in headings.items()}
    return fitting(columns, rows, _DISPENSABLE, console)


def echo_json(pair: Pair) -> None:
    """Print everything as JSON."""
    import msgspec

    data = msgspec.json.encode({"differs": pair.differs, **msgspec.structs.asdict(pair)})
    click.echo(msgspec.json.format(data).decode())
