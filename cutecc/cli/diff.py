"""`cutecc diff`: what differs between two stages of a record."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from cutecc.cli.paging import When, in_colour, paging_options, show
from cutecc.cli.stage_choice import (
    StageText,
    choose_stage,
    fold_option,
    function_option,
    read_record,
    record_argument,
    target_option,
    text_of,
)
from cutecc.errors import UsageError
from cutecc.record.naming import short_kernel_name
from cutecc.record.stages import stages_of
from cutecc.report.comparing import Edit, compare
from cutecc.report.stage_text import Position, fold_types, functions

_EPILOG = """\b
Examples:
  cutecc diff cutecc-out/gemm-sm_90a cse#1
  cutecc diff cutecc-out/gemm-sm_90a traced canonicalize#1 --function kernel

Status: 0, with --exit-code 1 where there are differences.
"""


@click.command(epilog=_EPILOG)
@record_argument
@click.argument("before", metavar="A")
@click.argument("after", metavar="[B]", required=False)
@function_option
@click.option("-U", "--unified", type=click.IntRange(0), default=3, show_default=True, help="Lines around a change.")
@fold_option
@click.option("--exit-code", is_flag=True, help="Have the status say whether there are differences.")
@target_option
@paging_options
def diff(
    record: Path,
    before: str,
    after: str | None,
    function: str | None,
    unified: int,
    no_fold: bool,
    exit_code: bool,
    target: str | None,
    colour: When,
    no_pager: bool,
) -> None:
    """Compare the module after pass A with that after pass B; of A alone, what that pass changed.

    A and B are names of passes, cse#2, numbers, traced or last. SSA values, block labels and aliases that were only
    numbered anew, and indentation, are no differences; another operand is one. Types that are equal are folded as <…>.
    """
    compilation = read_record(record, target)
    stages = stages_of(compilation)
    new = choose_stage(compilation, stages, after or before, function)
    old = choose_stage(compilation, stages, before, function) if after else _before(new)
    texts = [text_of(compilation, stages, position, function) for position in (old, new)]
    edits = compare(texts[0].lines, texts[1].lines, before_module=texts[0].module, after_module=texts[1].module)
    differs = any(edit.tag != "equal" for edit in edits)
    if differs:
        lines = _unified(texts[0], texts[1], edits, unified, fold=not no_fold)
        show(lines, colour=in_colour(colour), pager=not no_pager)
    if exit_code and differs:
        click.get_current_context().exit(1)


def _before(position: Position) -> Position:
    if position.before == position.index:
        raise UsageError(f"{position.name} is the first module: no pass made it", hints=["name two to compare"])
    return Position(position.before, f"before {position.name}", position.before)


def _unified(before: StageText, after: StageText, edits: list[Edit], context: int, *, fold: bool) -> Iterator[str]:
    """The differences as git prints them."""
    yield click.style(f"--- {before.position}", bold=True)
    yield click.style(f"+++ {after.position}", bold=True)
    heads = functions(after.module)
    for hunk in _hunks(edits, context):
        first, last = hunk[0], hunk[-1]
        ranges = (
            f"-{_range(before.first + first.before, last.before_end - first.before)} "
            f"+{_range(after.first + first.after, last.after_end - first.after)}"
        )
        line = after.first + first.after
        within = next((short_kernel_name(each.name) for each in heads if each.first <= line <= each.last), "")
        yield click.style(f"@@ {ranges} @@", fg="cyan") + (f" {within}" if within else "")
        for edit in hunk:
            removed, added = before.lines[edit.before : edit.before_end], after.lines[edit.after : edit.after_end]
            if edit.tag == "equal":
                yield from (f" {fold_types(line) if fold else line}" for line in added)
                continue
            if fold:
                removed, added = _folded(removed, added)
            yield from (click.style(f"-{line}", fg="red") for line in removed)
            yield from (click.style(f"+{line}", fg="green") for line in added)


def _folded(removed: list[str], added: list[str]) -> tuple[list[str], list[str]]:
    """Both sides with short types, but for lines that would then look the same."""
    short = [[fold_types(line) for line in side] for side in (removed, added)]
    both = {*short[0]} & {*short[1]}
    return (
        [line if folded in both else folded for line, folded in zip(removed, short[0], strict=True)],
        [line if folded in both else folded for line, folded in zip(added, short[1], strict=True)],
    )


def _range(start: int, count: int) -> str:
    # An empty range is named by the line before it, as in git.
    start = start + 1 if count else start
    return f"{start}" if count == 1 else f"{start},{count}"


def _hunks(edits: list[Edit], context: int) -> Iterator[list[Edit]]:
    """Edits in groups, with so many equal lines around them."""
    hunk: list[Edit] = []
    for index, edit in enumerate(edits):
        if edit.tag != "equal":
            hunk.append(edit)
            continue
        size = edit.before_end - edit.before
        is_first, is_last = index == 0, index == len(edits) - 1
        if not is_first and not is_last and size <= 2 * context:
            hunk.append(edit)
            continue
        if not is_first:
            kept = min(context, size)
            hunk += [edit._replace(before_end=edit.before + kept, after_end=edit.after + kept)] if kept else []
            yield hunk
        hunk = []
        if not is_last and (kept := min(context, size)):
            hunk = [edit._replace(before=edit.before_end - kept, after=edit.after_end - kept)]
    if any(edit.tag != "equal" for edit in hunk):
        yield hunk
