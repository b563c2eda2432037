"""`cutecc sanitize`: a thin wrapper over runs on the emulator with checks."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from cutecc.cli.all_orders import check_options, keep_schedules, orders_of, verdict_on
from cutecc.cli.checked_runs import CheckedRun, Plan, run_all
from cutecc.cli.emulation import (
    check_arguments,
    confined_text,
    emulation_dict,
    emulator_options,
    prepare_untrusted,
    read_limits,
)
from cutecc.cli.failures import failures_as_json
from cutecc.cli.files import read_arrays
from cutecc.cli.headings import points_text, seeds_text, wrapped
from cutecc.cli.main import EXIT_UNCHECKED
from cutecc.cli.options import LOADED, compiler_options, given_compile_options, subject_options
from cutecc.cli.ptx import LaunchOptions, launch_options
from cutecc.cli.sizes import at_sizes, settle, sizes_text
from cutecc.support.harmless import harmless, one_line

if TYPE_CHECKING:
    from cutecc.cli.subject import Subject
    from cutecc.emulator.checks.finding import Finding, Stopped

_EPILOG = """\b
Examples:
  cutecc sanitize examples/elementwise_add.py --size M=33,N=132
  cutecc sanitize kernel.py --check races,proxies --runs 10
  cutecc sanitize kernel.cutecc --schedule random --seed 7
  cutecc sanitize kernel.py --schedule all --budget 10min
  cutecc sanitize kernel.py --size M=1,127,128,129 --runs 3
  cutecc sanitize kernel.ptx --grid 4 --block 128 --arg x='f32[512]' --arg n=i32=512

Runs take turns at the schedules, with another seed for each round; those of --schedule have each a seed of their own.
Without --runs the first takes all blocks; the others take a sample if blocks have nothing to do with each other.
--schedule all runs each inequivalent order of what the launch synchronises by, and keeps those that find something.
Several sizes have each all runs. PTX, anybody's, has to be told its launch, and a spec for each parameter in order.
"""


@dataclass(frozen=True)
class _Found:
    """A finding and the command that finds it again."""

    finding: Finding
    command: str


@click.command(epilog=_EPILOG)
@subject_options
@launch_options
@click.option("--check", default="all", show_default=True, metavar="NAMES", help="What to look for, comma-separated.")
@emulator_options
@click.option(
    "--runs",
    type=click.IntRange(1),
    metavar="N",
    help="Runs, which take turns at the schedules; by default each once, or once the one of --schedule.",
)
@click.option("--budget", metavar="60s|N", help="Of --schedule all: so long, or so many orders; 60s by default.")
@click.option(
    "--keep-schedule",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Of --schedule all: where the first order that finds something goes; KERNEL.schedule.json by default.",
)
@click.option("--inputs", type=click.Path(path_type=Path), metavar="FILE.npz", help="Take arguments from here.")
@compiler_options
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Print what is found only.")
@click.pass_context
def sanitize(context: click.Context, input_: str, **values: Any) -> None:
    """Run a kernel on the CPU emulator and report races, bad accesses and misused barriers.

    Needs no GPU. Inputs are made as `cutecc run` makes them; results are not compared. Ends with status 1 when
    something is found, with 2 when the kernel could not be checked, or not to its end, and with 3 when it would take
    more than its limits allow.
    """
    with failures_as_json(values["as_json"]):
        subject, runs, found = _search(context, input_, values)
    if values["as_json"]:
        click.echo(json.dumps(_as_dict(subject, runs, found), indent=2))
    else:
        _show(context, subject, runs, found, quiet=values["quiet"])
    if found:
        context.exit(1)
    if any(run.emulation.stopped for run in runs) or not all(each.complete for each in orders_of(runs)):
        context.exit(EXIT_UNCHECKED)


_OF_OUTPUT = ("quiet", "as_json", "no_cache")
"""Options that change nothing of what is found."""


def sanitize_command(context: click.Context, input_: str | None = None, **changed: Any) -> str:
    """The command line that sanitizes what `context` runs, or `input_`: with the given options that `sanitize` has too.

    `changed` options, by parameter, come last; those that are `None` are left out.
    """
    options = {each.name: each for each in sanitize.params if isinstance(each, click.Option)}
    words = ["cutecc", "sanitize", input_ or context.params["input_"]]
    for name, option in options.items():
        given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if given and name not in changed and name not in _OF_OUTPUT:
            words += _words(option, context.meta[LOADED] if name == "load" else context.params[name])
    for name, value in changed.items():
        words += [] if value is None else _words(options[name], value)
    return shlex.join(words)


def _words(option: click.Option, value: Any) -> list[str]:
    if option.is_flag:
        return [option.opts[0]] if value else []
    return [word for each in (value if option.multiple else [value]) for word in (option.opts[0], str(each))]


def _search(
    context: click.Context, input_: str, values: dict[str, Any]
) -> tuple[Subject, list[CheckedRun], list[_Found]]:
    """The kernel, all runs, and what was found. Raises `Error` where the kernel cannot be checked."""
    check_options(values)
    prepare_untrusted(input_, values)
    from cutecc.cli.loading import load_subject
    from cutecc.cli.subject import check_input
    from cutecc.harness.arguments import check_memory
    from cutecc.harness.sizes import parse_sizes

    check_input(input_)
    points = parse_sizes(values["sizes"])
    given = read_arrays(values["inputs"]) if values["inputs"] else {}
    options = given_compile_options(context, values)
    plan = Plan.read(values)
    subject = load_subject(
        input_,
        None,
        args=values["args"],
        entry=values["entry"],
        target=values["target"],
        options=options,
        cache=False if values["no_cache"] else None,
        untrusted=values["untrusted"],
        limits=read_limits(values),
        launch=LaunchOptions.read(values),
    )
    subject, points = settle(subject, points, given, quiet=values["quiet"])
    check_arguments([check_memory(subject.specs, each, on_cpu=True, compared=False) for each in points], values)
    runs: list[CheckedRun] = []
    for point in points:
        with at_sizes(point, is_sweep=len(points) > 1):
            runs += run_all(subject, point, given, plan, input_, values["as_json"])
    runs = keep_schedules(runs, subject.name, values["keep_schedule"])
    return subject, runs, _distinct(runs, context, is_sweep=len(points) > 1)


def _distinct(runs: Sequence[CheckedRun], context: click.Context, *, is_sweep: bool) -> list[_Found]:
    """What was found, each the first time only."""
    from cutecc.emulator.report import of_all_runs

    # Findings that are one are told as another, at a place that one of them has.
    run_of = {id(finding.place): run for run in runs for finding in run.emulation.findings}
    found: list[_Found] = []
    for finding in of_all_runs([run.emulation.findings for run in runs]):
        changed: dict[str, Any] = {"runs": None, "budget": None, "keep_schedule": None}
        changed |= {"schedule": finding.schedule, "seed": finding.seed}
        run = run_of[id(finding.place)]
        if is_sweep:
            changed = {"sizes": [",".join(f"{name}={value}" for name, value in run.sizes.items())], **changed}
        if (blocks := run.emulation.options.blocks) is not None and context.params["blocks"] is None:
            changed["blocks"] = blocks
        found.append(_Found(finding, sanitize_command(context, **changed)))
    return found


def _stops(runs: Sequence[CheckedRun]) -> list[Stopped]:
    """What ended too soon, the same under several schedules once."""
    found: dict[tuple[Any, ...], Stopped] = {}
    for run in runs:
        for each in run.emulation.stopped:
            found.setdefault((each.checks, each.reason, each.location), each)
    return list(found.values())


def _as_dict(subject: Subject, runs: Sequence[CheckedRun], found: Sequence[_Found]) -> dict[str, Any]:
    from cutecc.emulator.report import finding_dict, stopped_dict

    return {
        "kernel": subject.name,
        "target": subject.target,
        "ok": not found and not _stops(runs) and all(each.complete for each in orders_of(runs)),
        **subject.code_dict(),
        "findings": [{**finding_dict(each.finding), "reproduce": each.command} for each in found],
        "stopped": [stopped_dict(each) for each in _stops(runs)],
        "runs": [
            {"sizes": run.sizes, "seed": run.emulation.options.seed, **emulation_dict(run.emulation)} for run in runs
        ],
    }


def _show(
    context: click.Context, subject: Subject, runs: Sequence[CheckedRun], found: Sequence[_Found], *, quiet: bool
) -> None:
    from cutecc.emulator.report import finding_lines, stopped_lines

    width = shutil.get_terminal_size((120, 24)).columns
    colour = False if os.environ.get("NO_COLOR") else None  # None: only on a terminal
    if not quiet:
        for line in [*_head(subject, runs), *subject.code_lines(), *filter(None, [_more(context, runs)])]:
            click.echo(wrapped(one_line(line), width))
    for each in found:
        if not quiet or each is not found[0]:
            click.echo()
        head, *rest = finding_lines(each.finding, width)
        click.echo(click.style(harmless(head, coloured=False), fg="red", bold=True), color=colour)
        click.echo(harmless("\n".join(rest), coloured=False))
        click.echo(f"  reproduce: {harmless(each.command, coloured=False)}")
    stops = _stops(runs)
    for each in stops:
        click.echo()
        click.echo(harmless("\n".join(stopped_lines(each, width)), coloured=False))
    hint = next(filter(None, (run.emulation.line_hint for run in runs)), None)
    if found and hint:
        click.echo(f"\nhint: {hint}")
    if not quiet:
        if (verdict := verdict_on(runs, len(found), complete=not stops)) is not None:
            click.echo("\n" * bool(found) + wrapped(verdict, width))
        else:
            click.echo(_verdict(len(found), complete=not stops))


def _verdict(count: int, *, complete: bool) -> str:
    rest = "" if complete else ", and not all was checked"
    return f"\n{count} problem{'' if count == 1 else 's'} found{rest}" if count else f"nothing found{rest}"


def _head(subject: Subject, runs: Sequence[CheckedRun]) -> Iterator[str]:
    """What ran, and what was looked for."""
    from cutecc.emulator.report import describe_blocks

    sizes = points_text(list(dict.fromkeys(sizes_text(run.sizes) for run in runs)))
    yield f"{subject.name} for {subject.target} on the CPU emulator{f': {sizes}' if sizes else ''}"
    checked = ", ".join(sorted(runs[0].emulation.options.check))
    # What each schedule took: mostly all the same.
    taken: dict[str, dict[str, None]] = {}
    for run in runs:
        blocks = taken.setdefault(run.emulation.options.schedule, {})
        blocks[describe_blocks(run.emulation.launches)] = None
    orders: dict[str, list[str]] = {}
    for schedule, blocks in taken.items():
        orders.setdefault(", ".join(blocks), []).append(schedule)
    seeds = seeds_text(runs[0].emulation.options.seed, runs[-1].emulation.options.seed)
    count = f"{len(runs)} runs, " if len(runs) > len(taken) else ""
    if len(orders) == 1:
        names = ["all orders" if each == "all" else each for each in taken]
        ran = f"{next(iter(orders))}; {count}{', '.join(names)}, {seeds}"
    else:
        ran = "; ".join(f"{', '.join(schedules)}: {blocks}" for blocks, schedules in orders.items())
        ran += f"; {count}{seeds}"
    yield f"checked: {checked}; {ran}"
    if runs[0].emulation.confined_by:
        yield confined_text(runs[0].emulation)


def _more(context: click.Context, runs: Sequence[CheckedRun]) -> str:
    """How to run more, where nothing was said of it."""
    if context.params["runs"] is not None or context.params["schedule"] is not None:
        return ""
    if any(run.emulation.options.blocks is not None for run in runs) and context.params["blocks"] is None:
        return "--runs 3 takes all blocks under each schedule, --runs 9 three times; --schedule NAME takes one alone"
    return "--runs 9 takes each schedule three times; --schedule NAME takes one alone"
