"""`cutecc diff`: what differs between two stages of a record."""

from __future__ import annotations

from pathlib import Path

import click

from cutecc.cli.again import with_stages
from cutecc.cli.llvm_passes import check_no_function, code_after, code_before, is_of_llvm
from cutecc.cli.paging import When, in_colour, paging_options, show
from cutecc.cli.records import (
    StageText,
    choose_stage,
    fold_option,
    function_option,
    read_record,
    record_argument,
    target_option,
    text_of,
)
from cutecc.cli.unified import unified as unified_lines
from cutecc.errors import UsageError
from cutecc.record import Compilation
from cutecc.record.stages import stages_of
from cutecc.report.stage_text import Position

_EPILOG = """\b
Examples:
  cutecc diff cutecc-out/gemm-sm_90a cse#1
  cutecc diff cutecc-out/gemm-sm_90a traced canonicalize#1 --function kernel
  cutecc diff cutecc-out/gemm-sm_90a llvm:LICM

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
    if is_of_llvm(before) or (after is not None and is_of_llvm(after)):
        check_no_function(function)
        texts = _of_llvm(read_record(record, target), before, after)
    else:
        texts = _of_pipeline(with_stages(read_record(record, target), record), before, after, function)
    lines = unified_lines(*texts, unified, fold=not no_fold)
    if lines:
        show(iter(lines), colour=in_colour(colour), pager=not no_pager)
    if exit_code and lines:
        click.get_current_context().exit(1)


def _of_llvm(compilation: Compilation, before: str, after: str | None) -> tuple[StageText, StageText]:
    """The code after two passes of LLVM, or before and after one."""
    if after is None:
        return code_before(compilation, before), code_after(compilation, before)[0]
    if not (is_of_llvm(before) and is_of_llvm(after)):
        raise UsageError(f"{before} and {after}: a module is not compared with LLVM's code")
    return code_after(compilation, before)[0], code_after(compilation, after)[0]


def _of_pipeline(
    compilation: Compilation, before: str, after: str | None, function: str | None
) -> tuple[StageText, StageText]:
    """The modules after two passes, or before and after one."""
    stages = stages_of(compilation)
    new = choose_stage(compilation, stages, after or before, function)
    old = choose_stage(compilation, stages, before, function) if after else _before(new)
    return text_of(compilation, stages, old, function), text_of(compilation, stages, new, function)


def _before(position: Position) -> Position:
    if position.before == position.index:
        raise UsageError(f"{position.name} is the first module: no pass made it", hints=["name two to compare"])
    return Position(position.before, f"before {position.name}", position.before)
