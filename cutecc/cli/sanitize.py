"""`cutecc sanitize`: a thin wrapper over runs on the emulator with checks."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cutecc.cli.arrays import read_arrays
from cutecc.cli.command_lines import sanitize_command
from cutecc.cli.emulation import announce, emulate, emulation_dict, emulator_options, read_options
from cutecc.cli.failures import failures_as_json
from cutecc.cli.harmless import harmless, one_line
from cutecc.cli.headings import points_text, seeds_text, wrapped
from cutecc.cli.main import EXIT_UNCHECKED
from cutecc.cli.options import compile_options, compiler_options, subject_options
from cutecc.cli.sizes import at_sizes, settle, sizes_text

if TYPE_CHECKING:
    from cutecc.cli.subject import Subject
    from cutecc.emulator.checks.finding import Finding
    from cutecc.emulator.checks.stopped import Stopped
    from cutecc.emulator.device import Emulation
    from cutecc.emulator.options import EmulatorOptions

_EPILOG = """\b
Examples:
  cutecc sanitize examples/elementwise_add.py --size M=33,N=132
  cutecc sanitize kernel.py --check races,proxies --runs 10
  cutecc sanitize kernel.cutecc --schedule random --seed 7
  cutecc sanitize kernel.py --size M=1,127,128,129 --runs 3

Several runs take turns at the schedules, each with a seed of its own. Several sizes have each all runs.
"""


@dataclass(frozen=True)
class _Run:
    """One launch and what came of it."""

    sizes: dict[str, int]
    emulation: Emulation


@dataclass(frozen=True)
class _Found:
    """A finding and the command that finds it again."""

    finding: Finding
    command: str


@click.command(epilog=_EPILOG)
@subject_options
@click.option("--check", default="all", show_default=True, metavar="NAMES", help="What to look for, comma-separated.")
@emulator_options
@click.option("--runs", type=click.IntRange(1), default=1, show_default=True, help="Runs, each with its own seed.")
@click.option("--inputs", type=click.Path(path_type=Path), metavar="FILE.npz", help="Take arguments from here.")
@compiler_options
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Print what is found only.")
@click.pass_context
def sanitize(context: click.Context, input_: str, **values: Any) -> None:
    """Run a kernel on the CPU emulator and report races, bad accesses and misused barriers.

    Needs no GPU. Inputs are made as `cutecc run` makes them; results are not compared. Ends with status 1 when
    something is found, and 2 when the kernel could not be checked, or not to its end.
    """
    with failures_as_json(values["as_json"]):
        subject, runs, found = _search(context, input_, values)
    if values["as_json"]:
        click.echo(json.dumps(_as_dict(subject, runs, found), indent=2))
    else:
        _show(subject, runs, found, quiet=values["quiet"])
    if found:
        context.exit(1)
    if any(run.emulation.stopped for run in runs):
        context.exit(EXIT_UNCHECKED)


def _search(context: click.Context, input_: str, values: dict[str, Any]) -> tuple[Subject, list[_Run], list[_Found]]:
    """The kernel, all runs, and what was found. Raises `Error` where the kernel cannot be checked."""
    from cutecc.cli.subject import check_input, load_subject
    from cutecc.trial.arguments import check_memory
    from cutecc.trial.sizes import parse_sizes

    check_input(input_)
    points = parse_sizes(values["sizes"])
    given = read_arrays(values["inputs"]) if values["inputs"] else {}
    options = compile_options(values)
    tries = list(_tries(values))
    subject = load_subject(
        input_,
        None,
        args=values["args"],
        entry=values["entry"],
        target=values["target"],
        options=options,
        cache=False if values["no_cache"] else None,
    )
    subject, points = settle(subject, points, given, quiet=values["quiet"])
    for point in points:
        check_memory(subject.specs, point, on_cpu=True, compared=False)
    runs: list[_Run] = []
    for point in points:
        with at_sizes(point, is_sweep=len(points) > 1):
            runs += _runs(subject, point, given, tries, input_, values["as_json"])
    return subject, runs, _distinct(runs, context, is_sweep=len(points) > 1)


def _tries(values: dict[str, Any]) -> Iterator[EmulatorOptions]:
    """The options of each run. A run does not depend on those before it: its seed and schedule alone repeat it."""
    from cutecc.emulator.options import SCHEDULES

    options = read_options(values, check=values["check"])
    for number in range(values["runs"]):
        schedule = options.schedule if values["schedule"] is not None else SCHEDULES[number % len(SCHEDULES)]
        yield replace(options, schedule=schedule, seed=options.seed + number)


def _runs(
    subject: Subject,
    sizes: dict[str, int],
    given: dict[str, Any],
    tries: Sequence[EmulatorOptions],
    source: str,
    text_to_stderr: bool,
) -> Iterator[_Run]:
    """All runs at these sizes."""
    from cutecc.trial.arguments import make_arguments
    from cutecc.trial.on_device import DeviceArguments, HostMemory

    arguments = make_arguments(subject.specs, subject.workload.outputs, sizes=sizes)
    for options in tries:
        announce(f"making {arguments.bytes / 1e9:.1f} GB of arguments", arguments.bytes)
        arguments.randomize(options.seed)
        arguments.assign(given)
        with HostMemory() as memory:
            on_cpu = DeviceArguments(arguments, memory)
            on_cpu.upload()
            emulation = emulate(subject.kernel, on_cpu.by_name, options, source=source, text_to_stderr=text_to_stderr)
        yield _Run(arguments.sizes, emulation)


def _distinct(runs: Sequence[_Run], context: click.Context, *, is_sweep: bool) -> list[_Found]:
    """What was found, each the first time only."""
    from cutecc.emulator.report import one_a_line

    sizes_of = {id(finding): run.sizes for run in runs for finding in run.emulation.findings}
    found: list[_Found] = []
    for finding in one_a_line(finding for run in runs for finding in run.emulation.findings):
        changed: dict[str, Any] = {"runs": None, "schedule": finding.schedule, "seed": finding.seed}
        if is_sweep:
            sizes = ",".join(f"{name}={value}" for name, value in sizes_of[id(finding)].items())
            changed = {"sizes": [sizes], **changed}
        found.append(_Found(finding, sanitize_command(context, **changed)))
    return found


def _stops(runs: Sequence[_Run]) -> list[Stopped]:
    """What ended too soon, the same under several schedules once."""
    found: dict[tuple[Any, ...], Stopped] = {}
    for run in runs:
        for each in run.emulation.stopped:
            found.setdefault((each.checks, each.reason, each.location), each)
    return list(found.values())


def _as_dict(subject: Subject, runs: Sequence[_Run], found: Sequence[_Found]) -> dict[str, Any]:
    from cutecc.emulator.report import finding_dict, stopped_dict

    return {
        "kernel": subject.name,
        "target": subject.target,
        "ok": not found and not _stops(runs),
        "findings": [{**finding_dict(each.finding), "reproduce": each.command} for each in found],
        "stopped": [stopped_dict(each) for each in _stops(runs)],
        "runs": [
            {"sizes": run.sizes, "seed": run.emulation.options.seed, **emulation_dict(run.emulation)} for run in runs
        ],
    }


def _show(subject: Subject, runs: Sequence[_Run], found: Sequence[_Found], *, quiet: bool) -> None:
    from cutecc.emulator.report import finding_lines, stopped_lines

    width = shutil.get_terminal_size((120, 24)).columns
    colour = False if os.environ.get("NO_COLOR") else None  # None: only on a terminal
    if not quiet:
        for line in _head(subject, runs):
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
    if found and not all(run.emulation.has_lines for run in runs):
        from cutecc.emulator.names import LINE_INFO_HINT

        click.echo(f"\nhint: {LINE_INFO_HINT}")
    if not quiet:
        count = len(found)
        rest = ", and not all was checked" if stops else ""
        click.echo(f"\n{count} problem{'' if count == 1 else 's'} found{rest}" if count else f"nothing found{rest}")


def _head(subject: Subject, runs: Sequence[_Run]) -> Iterator[str]:
    """What ran, and what was looked for."""
    from cutecc.emulator.report import describe_blocks

    by_sizes = {sizes_text(run.sizes): run for run in runs}
    sizes = points_text(list(by_sizes))
    yield f"{subject.name} for {subject.target} on the CPU emulator{f': {sizes}' if sizes else ''}"
    blocks = ", ".join(dict.fromkeys(describe_blocks(run.emulation.launches) for run in by_sizes.values()))
    checked = ", ".join(sorted(runs[0].emulation.options.check))
    yield f"checked: {checked}; {blocks}{_orders([run.emulation for run in runs])}"


def _orders(runs: Sequence[Emulation]) -> str:
    schedules = ", ".join(dict.fromkeys(run.options.schedule for run in runs))
    seeds = seeds_text(runs[0].options.seed, runs[-1].options.seed)
    return f"; {f'{len(runs)} runs, ' if len(runs) > 1 else ''}{schedules}, {seeds}"
