"""`cutecc compare`: two records side by side."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cutecc.cli.again import with_stages
from cutecc.cli.compare_profiles import are_profiles, compare_files
from cutecc.cli.compare_table import echo_json
from cutecc.cli.compare_table import show as show_pair
from cutecc.cli.device import chosen_device
from cutecc.cli.paging import in_colour, paging_options
from cutecc.cli.paging import show as show_lines
from cutecc.cli.records import (
    StageText,
    choose_stage,
    fold_option,
    function_option,
    read_record,
    target_option,
    text_of,
)
from cutecc.cli.streams import output_to_stderr
from cutecc.cli.unified import unified
from cutecc.errors import UsageError
from cutecc.record import Compilation
from cutecc.record.stages import stages_of

if TYPE_CHECKING:
    from cutecc.workbench.compared import Trial

_EPILOG = """\b
Examples:
  cutecc compare cutecc-out/add-sm_90a cutecc-out/add-sm_90a-from-cse-1
  cutecc compare before.cutecc after.cutecc --target sm_90a
  cutecc compare before after --stage cse#1 --function kernel
  cutecc compare before after --run --size M=33,N=132 --device cpu
  cutecc compare before after --report pair.html
  cutecc compare before.json after.json

Status: 0, with --exit-code 1 where passes, modules, code, resources or results differ, of profiles where a line costs
something else.
"""


@click.command(epilog=_EPILOG)
@click.argument("a", metavar="A", type=click.Path(path_type=Path))
@click.argument("b", metavar="B", type=click.Path(path_type=Path))
@target_option
@click.option("--stage", metavar="PASS", help="Print what differs between the modules after PASS.")
@function_option
@click.option(
    "-U", "--unified", "around", type=click.IntRange(0), default=3, help="With --stage, lines around a change."
)
@fold_option
@click.option("--run", is_flag=True, help="Run both on the same inputs; on a GPU, time them too.")
@click.option("--device", metavar="NAME", help="With --run: cuda:0, or cpu, the emulator; by default a GPU if any.")
@click.option("--size", "sizes", multiple=True, metavar="NAME=N,…", help="With --run, named sizes.")
@click.option("--arg", "args", multiple=True, metavar="NAME=SPEC", help="With --run, a value: alpha='f32=0.5'.")
@click.option("--seed", type=click.IntRange(0), default=0, help="With --run, of the inputs.")
@click.option("--tolerance", type=float, metavar="ERROR", help="With --run, the relative error that passes, not A's.")
@click.option("--no-time", is_flag=True, help="With --run on a GPU, do not time.")
@click.option("--report", metavar="FILE", type=click.Path(path_type=Path), help="Also write it all as an HTML page.")
@click.option(
    "--profile",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With --report, what cutecc profile --json wrote of A, and given again of B.",
)
@click.option("--exit-code", is_flag=True, help="Have the status say whether there are differences.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("-v", "--verbose", is_flag=True, help="Print every pass and every class of instructions.")
@paging_options
@click.pass_context
def compare(context: click.Context, a: Path, b: Path, **values: Any) -> None:
    """Set two records side by side: passes, PTX, resources, instructions, and with --run results and times.

    A and B are folders of records or bundles. Modules are compared as in cutecc diff: SSA values that were only
    numbered anew are no difference. So are registers in PTX.

    A and B may be profiles too, which cutecc profile --json wrote: lines by what they cost in A and in B, and what
    their warps wait for.
    """
    if are_profiles(a, b):
        if compare_files(a, b, values) and values["exit_code"]:
            context.exit(1)
        return
    records = [read_record(path, values["target"]) for path in (a, b)]
    names = (str(a), str(b))
    if values["stage"]:
        _refuse_beside_stage(values)
        records = [with_stages(record, path) for record, path in zip(records, (a, b), strict=True)]
        lines = _stage_lines(records, names, values)
        show_lines(lines, colour=in_colour(values["colour"]), pager=not values["no_pager"])
        differs = bool(lines)
    else:
        if values["function"]:
            raise UsageError("--function is for --stage", hints=["name the stage, as in --stage cse#1"])
        differs = _pair(records, names, values)
    if values["exit_code"] and differs:
        context.exit(1)


def _refuse_beside_stage(values: dict[str, Any]) -> None:
    for name in ("run", "as_json", "report"):
        if values[name]:
            raise UsageError(f"--stage prints a difference, and --{name.removeprefix('as_')} something else")


def _stage_lines(records: list[Compilation], names: tuple[str, str], values: dict[str, Any]) -> list[str]:
    texts: list[StageText] = []
    selectors = [values["stage"], _in_second(records, values["stage"], values["function"])]
    for record, name, selector in zip(records, names, selectors, strict=True):
        stages = stages_of(record)
        try:
            position = choose_stage(record, stages, selector, values["function"])
            texts.append(text_of(record, stages, position, values["function"]))
        except UsageError as error:
            error.notes.append(f"in {name}")
            raise
    return unified(texts[0], texts[1], values["around"], fold=not values["no_fold"], names=names)


def _in_second(records: list[Compilation], selector: str, function: str | None) -> str:
    """What the pass that `selector` means in the first record is called in the second: its number there, if it has it.

    Where the first has no such pass, choosing it is what fails.
    """
    from cutecc.report.pair import counterpart

    first, second = records
    if selector == "last":
        return selector
    try:
        index = choose_stage(first, stages_of(first), selector, function).index
    except UsageError:
        return selector
    other = counterpart(first, second, index)
    return selector if other is None else str(other)


def _pair(records: list[Compilation], names: tuple[str, str], values: dict[str, Any]) -> bool:
    """Print the comparison; whether there are differences."""
    from cutecc.report.destination import check_destination
    from cutecc.report.pair_page import write_pair_report
    from cutecc.workbench.compared import compare as compare_records

    _refuse_without_run(values)
    report: Path | None = values["report"]
    profiles = _profiles(values["profile"], report)
    if report:
        check_destination(report)
    with output_to_stderr(values["as_json"]), _trial(values) as trial:
        pair = compare_records(*records, names=names, trial=trial)
    if values["as_json"]:
        echo_json(pair)
    else:
        show_pair(pair, verbose=values["verbose"])
    if report:
        written = write_pair_report(records[0], records[1], report, pair=pair, profiles=profiles)
        click.echo(f"wrote {written}", err=values["as_json"])
    return pair.differs


def _profiles(given: tuple[Path, ...], report: Path | None) -> tuple[Path, Path] | None:
    if not given:
        return None
    if report is None or len(given) != 2:
        raise UsageError(
            "--profile is for the page of both, and wants a profile of each",
            hints=[
                "--report FILE --profile A.json --profile B.json",
                "two profiles alone: cutecc compare A.json B.json",
            ],
        )
    return given[0], given[1]


def _refuse_without_run(values: dict[str, Any]) -> None:
    if values["run"]:
        return
    for name in ("device", "sizes", "args", "tolerance", "no_time"):
        if values[name] or (name == "tolerance" and values[name] is not None):
            option = {"sizes": "size", "args": "arg"}.get(name, name.replace("_", "-"))
            raise UsageError(f"--{option} is for --run")


@contextlib.contextmanager
def _trial(values: dict[str, Any]) -> Generator[Trial | None]:
    """How to run both; `None` when that is not asked for."""
    if not values["run"]:
        yield None
        return
    from cutecc.arguments.grammar import parse_spec
    from cutecc.cli.option_texts import split_arg
    from cutecc.errors import SourceLocation
    from cutecc.harness.sizes import parse_sizes
    from cutecc.workbench.compared import Trial
    from cutecc.workbench.running import Settings

    sizes = parse_sizes(values["sizes"]) if values["sizes"] else ()
    given = dict(split_arg(each) for each in values["args"])
    specs = {
        name: parse_spec(spec, SourceLocation(f"--arg {name}", column=1, text=spec)) for name, spec in given.items()
    }
    with chosen_device(values["device"], quiet=values["as_json"]) as device:
        settings = Settings(timed=not values["no_time"])
        yield Trial(device, sizes, values["seed"], specs, settings, values["tolerance"])
