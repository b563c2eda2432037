"""`cutecc operators`: which operators fit a product on a target, and why others do not."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from cutecc.cli.operator_table import row_of, table_lines
from cutecc.cli.paging import width
from cutecc.config import Settings
from cutecc.errors import NoGpuError, UsageError
from cutecc.operations.gemm_problem import GemmProblem, parse_layouts, parse_types
from cutecc.operations.metadata_filter import MetadataFilter
from cutecc.target import Target, parse_targets

if TYPE_CHECKING:
    from cutecc.operations.operators.discovery import Discovery, Found

_SHOWN = 40
_REASONS = 8
_DEFAULT_TARGET = "sm_90a"

_EPILOG = """\b
Examples:
  cutecc operators --target sm_90a --gemm 4096x4096x4096:f16
  cutecc operators --dtype bf16 --layout tnt --where 'tile.m=128,cluster.n>=2'
  cutecc operators --gemm 100x100x100:f16 --why tile128x128x32

Types are those of A and B, or of A,B,out, or of A,B,out,accumulator; layouts a letter each of A, B and out, t for
contiguous rows and n for contiguous columns, or words: row,column,row. Conditions of --where are separated by commas,
and all have to hold: KEY=VALUE|VALUE, !=, <, <=, >, >=, and ~ for contains. --json shows all keys.
"""

operator_files_option = click.option(
    "--provider", "providers", multiple=True, metavar="FILE.py", help="Know the operators that this file registers."
)


@click.command(epilog=_EPILOG)
@click.option("--target", metavar="NAME", help="The GPU; by default this machine's, or sm_90a.")
@click.option("--gemm", metavar="SIZES[:TYPES[:LAYOUTS]]", help="That take this product: 4096x4096x4096:f16.")
@click.option("--dtype", metavar="TYPES", help="That take these types: f16, or f16,f16,f32.")
@click.option("--layout", metavar="LAYOUTS", help="That take these layouts of A, B and out: row,column,row, or tnt.")
@click.option("--where", metavar="CONDITIONS", help="Whose metadata meet these: tile.m=128,cluster.n>=2.")
@click.option("--why", metavar="NAME", help="Say everything that keeps operators with NAME in their name from fitting.")
@operator_files_option
@click.option("--all", "show_all", is_flag=True, help=f"List all; by default {_SHOWN}.")
@click.option("--json", "as_json", is_flag=True, help="Print all metadata of what fits, and the reasons, as JSON.")
def operators(
    target: str | None,
    gemm: str | None,
    dtype: str | None,
    layout: str | None,
    where: str | None,
    why: str | None,
    providers: tuple[str, ...],
    show_all: bool,
    as_json: bool,
) -> None:
    """List the operators of nvidia-cutlass-operators, and cutecc's own among them, that fit; and why others do not."""
    problem = _problem(gemm, dtype, layout)
    conditions = MetadataFilter.parse(where) if where else MetadataFilter()
    chosen = _target(target)
    from cutecc.frontend.kernel_file import run_file
    from cutecc.operations.operators.discovery import discover, rounding_hints

    for path in providers:
        run_file(path)
    if why is not None:
        _explain(why, chosen, problem, conditions)
        return
    found = discover(chosen, problem, conditions)
    if as_json:
        _print_json(found)
    else:
        _print_table(found, found.fitting if show_all else found.fitting[:_SHOWN])
        for hint in [] if found.fitting else rounding_hints(problem):
            click.echo(f"hint: {hint}")


def _problem(gemm: str | None, dtype: str | None, layout: str | None) -> GemmProblem | None:
    if gemm is None and dtype is None and layout is None:
        return None
    problem = GemmProblem.parse(gemm) if gemm else GemmProblem()
    for option, given, said in (("--dtype", dtype, any(problem.types)), ("--layout", layout, any(problem.layouts))):
        if given and said:
            raise UsageError(f"--gemm {gemm} says that already", hints=[f"leave out {option}"])
    if dtype:
        types, accumulator = parse_types(dtype)
        problem = replace(problem, types=types, accumulator=accumulator)
    return replace(problem, layouts=parse_layouts(layout)) if layout else problem


def _target(name: str | None) -> Target:
    try:
        found = parse_targets(name or Settings.from_environment().target or "native")
    except NoGpuError:
        if name is not None:
            raise
        click.echo(f"note: no target is named, and this machine has no GPU: for {_DEFAULT_TARGET}", err=True)
        return Target.parse(_DEFAULT_TARGET)
    if len(found) > 1:
        raise UsageError("cutecc operators takes one target", hints=[f"for example --target {found[0]}"])
    return found[0]


def _print_table(found: Discovery, shown: Sequence[Found]) -> None:
    columns = width() if sys.stdout.isatty() else None
    rows = [row_of(each.facts) for each in shown]
    if shown:
        lines = table_lines(rows, columns)
        click.echo("\n".join(lines))
        if not all(line.endswith(row[-1]) for line, row in zip(lines[1:], rows, strict=True)):
            click.echo("… stands for the rest of a name: --json has it, and so does a pipe")
    if more := len(found.fitting) - len(shown):
        click.echo(f"… and {more:,} more: narrow it with --where, or list them with --all")
    click.echo(f"{len(found.fitting):,} of {found.considered:,} operators for {found.target} fit")
    reasons = found.rejected.most_common()
    named = reasons if len(reasons) == _REASONS + 1 else reasons[:_REASONS]
    for reason, count in named:
        _print_count(count, reason, columns)
    if others := reasons[len(named) :]:
        total = sum(count for _, count in others)
        _print_count(total, f"for {len(others):,} other reasons: --json lists them", columns)
    if found.newer:
        targets = ", ".join(f"sm_{each}" for each in sorted({*found.newer.values()}))
        click.echo(f"{len(found.newer)} classes are for newer GPUs ({targets}): --json names them")


def _print_count(count: int, text: str, columns: int | None) -> None:
    """How many operators do not fit, and why; over several lines on a terminal that it is too long for."""
    line = f"{count:7,}  {text}"
    indent = " " * (len(line) - len(text))
    click.echo(
        line if columns is None else textwrap.fill(line, columns, subsequent_indent=indent, break_on_hyphens=False)
    )


def _print_json(found: Discovery) -> None:
    data: dict[str, Any] = {
        "target": found.target.name,
        "considered": found.considered,
        "operators": [each.facts for each in found.fitting],
        "rejected": dict(found.rejected.most_common()),
        "newer": list(found.newer),
    }
    click.echo(json.dumps(data, indent=2))


def _explain(name: str, target: Target, problem: GemmProblem | None, conditions: MetadataFilter) -> None:
    from cutecc.operations.operators.discovery import operators_named, reasons_against

    named = operators_named(name, target, problem)
    for operator in named[:_SHOWN]:
        reasons = reasons_against(operator, problem, conditions, target)
        click.echo(f"{operator.metadata.operator_name}: {'does not fit' if reasons else 'fits'}")
        for reason in reasons:
            click.echo(f"  {reason}")
    if len(named) > _SHOWN:
        click.echo(f"… and {len(named) - _SHOWN:,} more with '{name}' in their name")
