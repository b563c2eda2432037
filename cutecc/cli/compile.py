"""`cutecc compile`: kernels to the IR after every pass, PTX, cubin and SASS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from cutecc.cache import lookup, own_runs
from cutecc.cli.jobs import Job, check_folders, plan, run
from cutecc.cli.main import EXIT_FAILED, EXIT_USAGE, report
from cutecc.cli.operators import operator_files_option
from cutecc.cli.options import (
    backend_option,
    dump_options,
    load_option,
    outcome_options,
    pipeline_options,
    ptxas_option,
    wheel_options,
)
from cutecc.cli.reporter import Outcome, Reporter
from cutecc.cli.reports import check_reports
from cutecc.config import Settings
from cutecc.errors import Error, UsageError
from cutecc.frontend.kernel_file import split_path
from cutecc.record.bundle import check_destination, write_bundle
from cutecc.record.folder import read_folder

_EPILOG = """\b
Examples:
  cutecc compile examples/elementwise_add.py --dump-after=all
  cutecc compile kernel.py:launch --arg a='f16[?,?{div=8}]' --target sm_90a
  cutecc compile gemm.py --entry 'Gemm(tile=(64, 128))' --target sm_90a
  cutecc compile gemm.py --target sm_90a,sm_100a --bundle gemm.cutecc
  cutecc compile gemm.py --target sm_90a --report gemm.html
  cutecc compile softmax.py gemm.py --target sm_80,sm_90a -j 4
  cutecc compile cutecc-out/add-sm_90a/14-cse.mlir --start-after=cse#1
  cutecc compile --operator cluster2x1x1_tile128x256x64 --gemm 4096x4096x4096:f16 --target sm_90a

Compiling a .py file runs it. A .mlir file is only parsed.
"""


@click.command(name="compile", epilog=_EPILOG)
@click.argument("inputs", metavar="FILE.py[:FUNCTION]|FILE.mlir …", nargs=-1)
@click.option("--arg", "args", multiple=True, metavar="NAME=SPEC", help="An argument spec: a='f16[?,?{div=8}]'.")
@click.option("--entry", metavar="EXPR", help="What to compile, in the file's namespace: 'Gemm(tile=(128, 128))'.")
@click.option(
    "--operator", metavar="NAME", help="Compile an operator of nvidia-cutlass-operators, by a part of its name."
)
@click.option("--gemm", metavar="SIZES:TYPES", help="What to compile it for: 4096x4096x4096:f16 (cutecc operators -h).")
@operator_files_option
@click.option("--target", metavar="NAME,…", help="GPU targets, such as sm_90a; 'native' for this machine's GPUs.")
@pipeline_options
@load_option
@wheel_options
@backend_option
@ptxas_option
@dump_options
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="The folder to write; default cutecc-out/KERNEL-TARGET."
)
@click.option("-j", "--jobs", type=click.IntRange(min=1), metavar="N", help="Compile N at a time; default: processors.")
@click.option("--bundle", type=click.Path(path_type=Path), metavar="FILE", help="Write one file to load and run, too.")
@click.option("--bundle-dumps", is_flag=True, help="Put dumps and every artifact into the bundle.")
@click.option("--report", type=click.Path(path_type=Path), metavar="FILE.html", help="Write a page to look into, too.")
@click.option("--no-cache", is_flag=True, help="Compile anew, and keep nothing in the cache.")
@click.option("--no-direct", is_flag=True, help="Trace anew, whether or not the file has changed.")
@click.option("--verify-each", is_flag=True, help="Have MLIR verify the module after each pass.")
@outcome_options
@click.pass_context
def compile(context: click.Context, inputs: tuple[str, ...], **values: Any) -> None:
    """Compile kernels for one or several targets, without a GPU.

    Writes every artifact and a manifest into a folder, and shows what each pass did. With --bundle, a file that
    `cutecc.load` reads: all targets, with what running the kernel needs. Of several kernels and targets, each has a
    folder of its own, and options hold for all; one that fails leaves the others alone. With --report, a page for the
    browser that shows every stage beside the source (docs/report.md), also of a failure.
    """
    settings = Settings.from_environment()
    inputs = _check_inputs(context, values, inputs)
    _check_bundle(values, inputs)
    planned = _planned(context, values, inputs, settings)
    jobs = [each for each in planned if isinstance(each, Job)]
    files: tuple[str, ...] = () if values["operator"] else inputs
    check_folders(files, jobs)
    check_reports(jobs, [*(Path(split_path(text)[0]) for text in files), *filter(None, [values["bundle"]])])
    reporter = Reporter(
        [job.label for job in jobs],
        as_list=len(planned) > 1,
        as_json=values["as_json"],
        quiet=values["quiet"],
        verbose=values["verbose"],
        timing=values["timing"],
        brief=len(inputs) > 1,
    )
    failures = _outcomes(planned, run(jobs, values, reporter), reporter, values, several=len(inputs) > 1)
    if values["bundle"] and not failures:
        try:
            records = [read_folder(outcome.output) for outcome in reporter.outcomes]
            write_bundle(values["bundle"], records, dumps=values["bundle_dumps"])
            reporter.bundle = values["bundle"]
        except Error as error:
            failures[str(error)] = _Failed(error, [])
    reporter.show()
    if failures:
        if len(planned) == 1:
            raise next(iter(failures.values())).error
        _tell_failures(list(failures.values()), len(planned) - len(reporter.outcomes), len(planned), values["bundle"])
        wrong = not reporter.outcomes and all(isinstance(each.error, UsageError) for each in failures.values())
        context.exit(EXIT_USAGE if wrong else EXIT_FAILED)


@dataclass(frozen=True)
class _Failed:
    """One reason to fail, which several inputs and targets can have."""

    error: Error
    targets: list[str]
    """Those that failed for it, of inputs for several."""


def _planned(
    context: click.Context, values: dict[str, Any], inputs: tuple[str, ...], settings: Settings
) -> list[Job | Error]:
    """The jobs of all inputs, and in its place why an input has none."""
    planned: list[Job | Error] = []
    for text in inputs:
        try:
            planned += plan(context, values, text, settings, several=len(inputs) > 1)
        except Error as error:
            planned.append(error)
    return planned


def _outcomes(
    planned: Sequence[Job | Error],
    of_jobs: Sequence[Outcome | Error],
    reporter: Reporter,
    values: dict[str, Any],
    *,
    several: bool,
) -> dict[str, _Failed]:
    """Have the reporter take what came of the jobs; what failed, by its text."""
    outcomes = iter(of_jobs)
    failures: dict[str, _Failed] = {}
    for each in planned:
        outcome = next(outcomes) if isinstance(each, Job) else each
        if isinstance(outcome, Outcome):
            reporter.outcomes.append(outcome)
            if not values["operator"] and lookup.wanted(False if values["no_cache"] else None):
                made = outcome.compilation
                own_runs.remember(made.command, split_path(str(made.source))[0], made.name)
            continue
        if several and isinstance(each, Job):
            outcome.notes.append(f"compiling {each.text}")
        # Several targets often fail for the same reason.
        failed = failures.setdefault(str(outcome), _Failed(outcome, []))
        if isinstance(each, Job) and len(each.chosen.targets) > 1:
            failed.targets.append(each.target.name)
    return failures


def _tell_failures(failures: Sequence[_Failed], missing: int, count: int, bundle: Path | None) -> None:
    """Say why jobs failed, and how many of `count`."""
    for each in failures:
        if each.targets:
            each.error.notes.append(f"failed for {', '.join(each.targets)}")
        report(each.error)
    if missing:
        click.echo(f"{missing} of {count} failed", err=True)
        if bundle:
            click.echo(f"{bundle} was not written: it is to hold every target", err=True)


def _check_inputs(context: click.Context, values: dict[str, Any], inputs: tuple[str, ...]) -> tuple[str, ...]:
    """What to compile: the files, or the operator. Raises `UsageError` for both and what belongs to the other."""
    if values["operator"] is None:
        if values["gemm"] or values["providers"]:
            option = "--gemm" if values["gemm"] else "--provider"
            raise UsageError(f"{option} is for --operator", hints=["name the operator with --operator"])
        if not inputs:
            argument = next(each for each in context.command.params if each.name == "inputs")
            raise click.MissingParameter(ctx=context, param=argument)
        return inputs
    if inputs:
        raise UsageError(f"--operator names what to compile, and so does {inputs[0]}", hints=["leave out one of them"])
    if values["args"] or values["entry"]:
        raise UsageError("--arg and --entry are for Python files", hints=["--gemm says what an operator is for"])
    return (values["operator"],)


def _check_bundle(values: dict[str, Any], inputs: Sequence[str]) -> None:
    """Refuse at once what would only fail after compiling."""
    if values["bundle_dumps"] and not values["bundle"]:
        raise UsageError("--bundle-dumps says what --bundle FILE holds", hints=["name the file with --bundle"])
    if not values["bundle"]:
        return
    if len(inputs) > 1:
        raise UsageError("a bundle holds one kernel", hints=["compile each with a --bundle of its own"])
    if values["stop_after"]:
        raise UsageError("--bundle needs the whole pipeline", hints=["leave out --stop-after"])
    check_destination(values["bundle"])
