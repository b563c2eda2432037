"""`cutecc show`: a stage of a record, or its code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click

from cutecc.cli.again import with_stages
from cutecc.cli.llvm_passes import check_no_function, code_after, is_of_llvm, llvm_lines
from cutecc.cli.paging import When, in_colour, paging_options, width
from cutecc.cli.paging import show as show_lines
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
from cutecc.cli.sass_listing import sass_listing
from cutecc.errors import RecordError, UsageError
from cutecc.passes.generation.choice import PASSES
from cutecc.record import ArtifactKind, Compilation
from cutecc.record.stages import Stages, stages_of
from cutecc.report.code import listings_of
from cutecc.report.listings import Listing
from cutecc.report.paths import short_names
from cutecc.report.stage_text import find_named, fold_types, positions
from cutecc.support.locations import Place

_EPILOG = """\b
Examples:
  cutecc show cutecc-out/gemm-sm_90a
  cutecc show cutecc-out/gemm-sm_90a --after cse#1 --function kernel --locations
  cutecc show gemm.cutecc --target sm_90a --sass

Columns of --sass: offset; control code, B--2---:R-:W1:Y:S04 for waits for barrier 2, sets none when its operands
are read, 1 when its results are written, yields, stalls 4 cycles; guard; opcode; operands; live registers; line.

The record has stages when it was compiled with --dump-after=all or --report, into a bundle with --bundle-dumps.
"""
_NAMES: dict[ArtifactKind, str] = {"ptx": "PTX", "sass": "SASS", "llvm-ir": "LLVM IR"}


@click.command(epilog=_EPILOG)
@record_argument
@click.option(
    "--after", metavar="PASS", help="The module after PASS: a name, cse#2, a number, traced, last, llvm:LICM."
)
@function_option
@click.option("--locations", is_flag=True, help="Say beside each operation or instruction where it comes from.")
@click.option("--ptx", is_flag=True, help="The PTX.")
@click.option("--sass", is_flag=True, help="The machine code, in columns.")
@click.option("--llvm", is_flag=True, help="The LLVM IR.")
@click.option("--raw", is_flag=True, help="With --sass: as nvdisasm prints it.")
@fold_option
@target_option
@paging_options
def show(
    record: Path,
    after: str | None,
    function: str | None,
    locations: bool,
    ptx: bool,
    sass: bool,
    llvm: bool,
    raw: bool,
    no_fold: bool,
    target: str | None,
    colour: When,
    no_pager: bool,
) -> None:
    """Print the module after a pass, or the code; without an option, the stages that there are.

    Long types are folded as <…>, and lines have their full length; machine code has the columns that have room.
    """
    kind = _kind({"ptx": ptx, "sass": sass, "llvm-ir": llvm}, after)
    if raw and not sass:
        raise UsageError("--raw is for --sass: all else is printed as it is")
    compilation = read_record(record, target)
    if kind:
        _need(compilation, kind)
        lines = _code(compilation, kind, function, locations, columns=not raw)
    elif after is not None and is_of_llvm(after):
        check_no_function(function)
        text, table = code_after(compilation, after)
        lines = _stage(text, table, locations=locations, fold=False)
    else:
        compilation = with_stages(compilation, record)
        stages = stages_of(compilation)
        if after is None and function is None and not locations:
            lines = _list(compilation, stages)
        else:
            position = choose_stage(compilation, stages, after or "last", function)
            text = text_of(compilation, stages, position, function)
            lines = _stage(text, stages.places, locations=locations, fold=not no_fold)
    show_lines(lines, colour=in_colour(colour), pager=not no_pager)


def _kind(given: dict[ArtifactKind, bool], after: str | None) -> ArtifactKind | None:
    """The code that was asked for. Raises `UsageError` for more than that."""
    wanted: list[ArtifactKind] = [kind for kind, is_wanted in given.items() if is_wanted]
    options = [f"--{kind.removesuffix('-ir')}" for kind in wanted]
    if len(wanted) > 1:
        raise UsageError(f"{' and '.join(options)}: one at a time")
    if wanted and after:
        raise UsageError(f"--after chooses a stage, and {options[0]} what came of the last")
    return wanted[0] if wanted else None


def _list(compilation: Compilation, stages: Stages) -> Iterator[str]:
    """The stages, one a line."""
    if compilation.resumed:
        yield click.style(str(compilation.resumed), bold=compilation.resumed.edited)
    changed = {*stages.indices}
    for position in positions(compilation, stages):
        if position.name == PASSES["llvm"]:
            yield from llvm_lines(compilation)
        count = ""
        if position.index in changed:
            count = f"{stages.after(position.index).text.count(chr(10)):>7} lines"
        line = f"{position.index:>3}  {position.name:<40} {count or '      –'}".rstrip()
        yield line if count else click.style(line, dim=True)
    if compilation.failure:
        yield click.style(f"failed in {compilation.failure.stage}", fg="red")


def _stage(text: StageText, table: Sequence[Place], *, locations: bool, fold: bool) -> Iterator[str]:
    names = _names(table)
    for line, number in zip(text.lines, text.places, strict=True):
        shown = fold_types(line) if fold else line
        place = table[number] if number >= 0 else None
        yield f"{shown}  {_beside(place, names)}" if locations and place else shown


def _names(places: Iterable[Place]) -> dict[str, str]:
    return short_names({frame.file for place in places for frame in place})


def _beside(place: Place, names: dict[str, str]) -> str:
    frames = (f"{names[frame.file]}:{frame.line}" + (f":{frame.column}" if frame.column else "") for frame in place)
    return click.style(f"// {' ← '.join(frames)}", dim=True)


def _need(compilation: Compilation, kind: ArtifactKind) -> None:
    if not any(each.kind == kind and each.file in compilation.files for each in compilation.artifacts):
        raise RecordError(
            f"the record of {compilation.name} has no {_NAMES[kind]}",
            hints=["compile without --emit, which chooses, and into a bundle with --bundle-dumps"],
        )


def _code(
    compilation: Compilation, kind: ArtifactKind, function: str | None, locations: bool, *, columns: bool
) -> Iterator[str]:
    if kind == "sass" and columns:
        room = width() if sys.stdout.isatty() or os.environ.get("COLUMNS") else None
        yield from sass_listing(compilation, function, locations=locations, width=room)
        return
    for listing in listings_of(compilation):
        if listing.kind == kind:
            yield from _listing(listing, function, locations)


def _listing(listing: Listing, function: str | None, locations: bool) -> Iterator[str]:
    lines = listing.text.split("\n")
    first, last = 0, len(lines) - 1 - (not lines[-1])
    if function is not None:
        chosen = find_named(listing.functions, function, f"in {listing.file}")
        first, last = chosen.first, chosen.last
    names = _names(listing.table)
    for number in range(first, last + 1):
        place = listing.table[listing.places[number]] if listing.places[number] >= 0 else None
        yield f"{lines[number]}  {_beside(place, names)}" if locations and place else lines[number]
