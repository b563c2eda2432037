"""`cutecc explain`: what to know of a kernel first, and what became of a line of Python."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click

from cutecc.cli.again import with_stages
from cutecc.cli.followed_value import MOST_TEXTS, value_rows
from cutecc.cli.headings import wrapped
from cutecc.cli.paging import When, in_colour, paging_options, show, width
from cutecc.cli.records import read_record, record_argument, target_option
from cutecc.cli.sass_columns import choose_columns, row
from cutecc.cli.verdict_lines import verdict_lines
from cutecc.errors import SourceLocation, UsageError
from cutecc.passes.generation.choice import CODE_GENERATION
from cutecc.record import Compilation
from cutecc.record.naming import short_kernel_name
from cutecc.record.stages import CallFrame, Stages, stages_of
from cutecc.report.annotated_sass import annotated_code
from cutecc.report.explaining import Explanation, Instruction
from cutecc.report.explaining import explain as explain_line
from cutecc.report.following import follow
from cutecc.report.frames import Line
from cutecc.report.history import HistoryEvent
from cutecc.report.listings import Kind
from cutecc.report.paths import short_names
from cutecc.report.stage_text import TRACED, choose, positions
from cutecc.report.values import Value, find_value

_MOST = 12
"""Instructions of a kind that are shown without being asked for more; call chains too."""
_MOST_LINES = 3
"""Lines that are named whose operations stand for those merged."""
_LABELS: dict[Kind, str] = {"ptx": "PTX", "sass": "SASS"}
_PLACE = re.compile(r"(.+?):([0-9]{1,9})(?::[0-9]{1,9})?", re.DOTALL)
"""A column, as `cutecc check` prints one, is not looked at."""
_INDENT = "  "
_EPILOG = """\b
Examples:
  cutecc explain cutecc-out/gemm-sm_90a
  cutecc explain cutecc-out/gemm-sm_90a gemm.py:128
  cutecc explain gemm.cutecc gemm.py:128 --target sm_90a --all
  cutecc explain cutecc-out/gemm-sm_90a gemm.py:128 --value 1

Instructions have lines when the kernel was compiled with --line-info or --report.
"""


@click.command(epilog=_EPILOG)
@record_argument
@click.argument("place", metavar="[FILE:LINE]", required=False)
@click.option("--all", "everything", is_flag=True, help="Print every instruction of the line.")
@click.option("--value", metavar="WHICH", help="Follow one operation of the line: the first is 1, or %x by its result.")
@click.option("--after", metavar="PASS", help="Of the module after this pass; the first with operations of the line.")
@target_option
@paging_options
def explain(
    record: Path,
    place: str | None,
    everything: bool,
    value: str | None,
    after: str | None,
    target: str | None,
    colour: When,
    no_pager: bool,
) -> None:
    """Say what became of a line of Python: what each pass did to its operations, and its instructions.

    FILE may be the end of a path. A line of a function that kernels call, and the lines that call it, have the
    operations that were made in it.

    Without a line, say what to know of each kernel first: occupancy and what would raise it, spills, the worst remarks,
    the heaviest lines, how much of the code has a line.
    """
    crop = width() if sys.stdout.isatty() or os.environ.get("COLUMNS") else None
    if place is None:
        show(verdict_lines(read_record(record, target), crop), colour=in_colour(colour), pager=not no_pager)
        return
    match = _PLACE.fullmatch(place)
    if match is None or int(match[2]) == 0:
        raise UsageError(f"expected FILE:LINE, as gemm.py:128, not '{place}'", hints=["lines count from 1"])
    compilation = with_stages(read_record(record, target), record)
    stages = stages_of(compilation)
    found = explain_line(compilation, stages, match[1], int(match[2]))
    passes = {each.index: each.name for each in positions(compilation, stages)}
    most = None if everything else _MOST
    crop = width() if sys.stdout.isatty() or os.environ.get("COLUMNS") else None
    if value is not None:
        start = choose(compilation, stages, after).index if after else None
        rows = _value(compilation, found, stages, find_value(stages, (found.file, found.line), value, start), most)
    elif after is not None:
        raise UsageError("--after says of which module a value is: name one with --value")
    else:
        rows = _lines(compilation, found, passes, most, crop)
    lines = (_cropped(line, crop) for line in rows)
    show(lines, colour=in_colour(colour), pager=not no_pager)


def _lines(
    compilation: Compilation, found: Explanation, passes: dict[int, str], most: int | None, columns: int | None
) -> Iterator[str]:
    survivors = {file for event in found.history.events for file, _ in event.into}
    names = short_names({found.file} | survivors | {frame.file for chain in found.chains for frame in chain})
    yield from _head(compilation, found, names)
    yield from _calls(found, names, most)
    yield ""
    yield from _history(found, passes, names)
    yield ""
    for line in _outcome(compilation, found, passes):
        yield from wrapped(line, columns).split("\n") if columns else [line]
    for kind, label in _LABELS.items():
        if instructions := found.instructions.get(kind):
            yield ""
            rows = _rows(compilation, kind, instructions[:most], columns)
            yield from _instructions(label, instructions, rows, most)
    yield from _remarks(found, names, columns)


def _head(compilation: Compilation, found: Explanation, names: dict[str, str]) -> Iterator[str]:
    yield click.style(f"{names[found.file]}:{found.line}", bold=True) + f"  {compilation.name} for {compilation.target}"
    if found.source:
        yield f"    {found.source.strip()}"


def _value(
    compilation: Compilation, found: Explanation, stages: Stages, value: Value, most: int | None
) -> Iterator[str]:
    passes = {each.index: each.name for each in positions(compilation, stages)}
    yield from _head(compilation, found, short_names({found.file}))
    yield ""
    yield from value_rows(value, [*follow(stages, value.stage, value.line)], passes, most and MOST_TEXTS)


def _remarks(found: Explanation, names: dict[str, str], columns: int | None) -> Iterator[str]:
    if found.remarks:
        yield ""
    for remark in found.remarks:
        by = f" [{remark.analysis}]" if remark.analysis else ""
        place = SourceLocation.parse(remark.location or "")
        if (place.file, place.line) != (found.file, found.line) and place.file:
            by = f", at {names.get(place.file, os.path.basename(place.file))}:{place.line}{by}"
        first, *rest = wrapped(f"{remark.severity}: {remark.message}{by}", columns or 1 << 16).split("\n")
        label, _, message = first.partition(" ")
        yield f"{click.style(label, fg='yellow', bold=True)} {message}"
        yield from rest


def _calls(found: Explanation, names: dict[str, str], most: int | None) -> Iterator[str]:
    def named(frame: CallFrame) -> str:
        return f"{names[frame.file]}:{frame.line} {frame.function}"

    # Those that differ in columns only are one.
    chains = list(dict.fromkeys(" ← ".join(map(named, chain)) for chain in found.chains))
    for chain in chains[:most]:
        yield click.style(f"    in {chain}", dim=True)
    if most and len(chains) > most:
        yield f"    … and {len(chains) - most} more call chains"


def _history(found: Explanation, passes: dict[int, str], names: dict[str, str]) -> Iterator[str]:
    history = found.history
    longest = max([len(passes.get(event.step, "")) for event in history.events] + [len(TRACED)])
    yield f"{min(passes):>4}  {passes[min(passes)]:<{longest}}  {_count(history.traced, 'operation')}"
    for event in history.events:
        name = passes.get(event.step, "")
        is_code = name in CODE_GENERATION and event.kind == "removed"
        what = "code generated" if is_code else ", ".join(_happened(event, found.file, names))
        count = f"{event.before} → {event.after}" if event.before != event.after else f"{event.before}"
        yield f"{event.step:>4}  {name:<{longest}}  {count:<13} {what}".rstrip()


def _happened(event: HistoryEvent, file: str, names: dict[str, str]) -> Iterator[str]:
    for fate, number in event.counts.items():
        is_all = len(event.counts) == 1 and number == max(event.before, event.after)
        if fate == "rewritten" and (len(event.counts) > 1 or number < event.before):
            yield f"rewritten {number} → {event.rewritten_to}"
        elif fate in ("unrolled", "copied") and event.times:
            yield f"{fate} ×{event.times}"
        elif fate == "merged" and event.into:
            yield f"{'' if is_all else f'{number} '}merged into {_listed(event.into, file, names)}"
        else:
            yield fate if is_all or fate == "rewritten" else f"{number} {fate}"


def _listed(into: Sequence[Line], file: str, names: dict[str, str]) -> str:
    lines = [f"line {line}" if each == file else f"{names[each]}:{line}" for each, line in into]
    more = f" and {len(lines) - _MOST_LINES} more" if len(lines) > _MOST_LINES else ""
    return f"{', '.join(lines[:_MOST_LINES])}{more}"


def _outcome(compilation: Compilation, found: Explanation, names: dict[int, str]) -> Iterator[str]:
    history = found.history
    firsts: dict[str, str] = {}
    for event in history.events:
        firsts.setdefault(event.kind, f"first {event.kind} by {names.get(event.step, event.step)}")
    firsts.pop("removed", None)
    if firsts:
        yield "; ".join(firsts.values())
    yield from _copies(found, names)
    made = [
        _count(len(found.instructions[kind]), f"{label} instruction")
        for kind, label in _LABELS.items()
        if found.instructions.get(kind)
    ]
    if made:
        yield f"became {' and '.join(made)}"
    # A loop that Python runs has no operation of its own.
    elif history.events or history.traced:
        yield _left(compilation, found, names)


def _left(compilation: Compilation, found: Explanation, names: dict[int, str]) -> str:
    """What is left of a line that no instruction belongs to."""
    history = found.history
    last = history.events[-1] if history.events else None
    left = last.after if last else history.traced
    if left and CODE_GENERATION & set(names.values()):
        return f"{_count(left, 'operation')} left after the last pass, in the host function"
    if last is None or left:
        return f"{_count(left, 'operation')} left after {names[max(names)]}, the last pass that ran"
    by = names.get(last.step)
    if by in CODE_GENERATION and not (found.instructions and compilation.options.get("preserve-line-info")):
        return "went into the code, which has no lines: compile with --line-info"
    if by in CODE_GENERATION:
        return "no instruction of its own left: folded away, or made part of another line's, while code was generated"
    of_loop = " of the loop's own operations" if any(each.body for each in history.copies) else ""
    return f"nothing left{of_loop}: {last.kind} by {by}"


_CODE_COPIES = {
    "LLVM": ("PTX", "the code generator unrolled its loop, and what is left over counts"),
    "ptxas": ("SASS", "ptxas unrolled its loop, or takes several instructions for one"),
}
"""Counts of code say no more than that."""


def _copies(found: Explanation, names: dict[int, str]) -> Iterator[str]:
    for each in found.history.copies:
        first, last = each.body or (0, 0)
        lines = f"line {first}" if first == last else f"lines {first} to {last}"
        what = f"the loop's body, {lines}, " if each.body else ""
        if each.by in _CODE_COPIES:
            code, why = _CODE_COPIES[each.by]
            yield f"{what}is there ×{each.times} in {code}: {why}"
            continue
        by = names.get(each.step, str(each.step))
        if each.by == "trace":
            by = f"the trace: Python runs the loop, and the first module has {each.times} copies"
        yield f"{what}{'is ' if what else ''}unrolled ×{each.times} by {by}"


def _instructions(label: str, instructions: list[Instruction], rows: Iterable[str], most: int | None) -> Iterator[str]:
    kernels = Counter(short_kernel_name(each.function) for each in instructions)
    yield click.style(f"{label}", bold=True) + f" of {', '.join(kernels)}"
    for each, shown in zip(instructions[:most], rows, strict=False):
        yield f"{shown}  (probably)" if each.inferred else shown
    if most and len(instructions) > most:
        yield f"        … and {len(instructions) - most} more: --all shows them"


def _rows(compilation: Compilation, kind: Kind, instructions: list[Instruction], width: int | None) -> Iterator[str]:
    """Instructions with their lines in the code, those of SASS in the columns of `cutecc show --sass`."""
    if kind != "sass":
        return (f"{each.number:>6}  {' '.join(each.text.split())}" for each in instructions)
    wanted = {(each.function, each.number - 1) for each in instructions}
    rows: dict[tuple[str, int], str] = {}
    for function in annotated_code(compilation):
        numbers = {
            (function.function.name, each.line): number for number, each in enumerate(function.function.instructions)
        }
        chosen = {key: number for key, number in numbers.items() if key in wanted}
        columns = choose_columns(function, chosen.values(), width, margin=len(_INDENT))
        rows |= {key: row(function, number, columns, margin=_INDENT) for key, number in chosen.items()}
    return (rows[each.function, each.number - 1] for each in instructions)


def _count(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _cropped(line: str, columns: int | None) -> str:
    plain = click.unstyle(line)
    if columns is None or len(plain) <= columns:
        return line
    if plain == line:
        return f"{line[: columns - 1]}…"
    return f"{plain[: columns - 1]}…"
