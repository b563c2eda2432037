"""`cutecc reduce`: the smallest module that still fails."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import sys
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cutecc.cli.checks import (
    CODE_ARTIFACTS,
    callable_with,
    check_options,
    checked,
    device_for_results,
    find_subject,
    one_point,
    other_subject,
    subject_options,
)
from cutecc.cli.files import check_output
from cutecc.cli.inputs import MODULE_SUFFIXES
from cutecc.cli.options import LOADED, edit_options
from cutecc.compilation.request import ALL_ARTIFACTS
from cutecc.compilation.versions import current_versions
from cutecc.errors import Error, UsageError
from cutecc.record.naming import file_name
from cutecc.record.reproducer import MARK, Reproducer, read_reproducer
from cutecc.support import isolation
from cutecc.support.harmless import one_line
from cutecc.workbench.checks import Check
from cutecc.workbench.failing import Failure, failure_apart
from cutecc.workbench.reproduction import expected_of, subject_of
from cutecc.workbench.subjects import Subject

if TYPE_CHECKING:
    from cutecc.workbench.reduction.oracles import Oracle
    from cutecc.workbench.reduction.reducing import Reduced
    from cutecc.workbench.reduction.search import Progress

_EPILOG = """\b
Examples:
  cutecc reduce reproducer-06-expand-copies.mlir
  cutecc reduce kernel.mlir --pipeline open --target sm_80
  cutecc reduce kernel.mlir --check './still_wrong.sh {}' -o small.mlir
  cutecc reduce kernel.mlir --pipeline=my-pass --load my_pass.py --filecheck checks.txt
  cutecc reduce kernel.py --pipeline open --results --size M=33,N=132

Without a check, the failure is that of compiling, in the same pass with the same message, or that of a reproducer. With
one, the module fails as long as the check does: --check ends with the status that it ends with at first (125: it cannot
tell). A check is asked of the module itself; with --pipeline, of what the pipeline makes of it.

The output holds the smallest module so far at any time. The same command goes on from there after an interrupt.

Status 0: it is reduced; 1: it does not fail, or not within --timeout, and nothing is written; 2: the request is wrong.
"""
_ANY_TARGET = "sm_90a"


@contextlib.contextmanager
def _leaving_when_terminated() -> Generator[None]:
    """Have SIGTERM end what is inside as an exception does: the folders of its processes go with them."""
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@click.command(epilog=_EPILOG)
@click.argument("input_", metavar="FILE.mlir|FILE.py[:FUNCTION]")
@edit_options
@click.option(
    "--against", metavar="NAME|TEXT|FILE", help="For --ptx and --results, the other pipeline; default nvidia."
)
@check_options
@subject_options
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE.mlir", help="Default: NAME-reduced.mlir."
)
@click.option("-j", "--jobs", type=click.IntRange(1), default=os.cpu_count() or 1, help="Modules tried at a time.")
@click.option(
    "--timeout", type=click.FloatRange(0.1), metavar="SECONDS", help="Stop after this time, with what there is."
)
@click.option("--json", "as_json", is_flag=True, help="Print what came of it as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
@click.pass_context
@_leaving_when_terminated()
def reduce(context: click.Context, input_: str, **values: Any) -> None:
    """Make a module smaller while a check keeps failing on it.

    Takes out operations, regions, branches, arguments, operands and attributes, and simplifies constants, layouts,
    sizes and names. Writes a valid module, never a larger one than the input as MLIR prints it.
    """
    from cutecc.workbench.reduction.reducing import reduce as reduce_module  # loads the bindings

    check = checked(values)
    path: Path = values["output"] or Path(f"{file_name(Path(input_.partition(':')[0]).stem)}-reduced.mlir")
    check_output(path)
    if path.exists() and Path(input_).exists() and path.samefile(input_):
        raise UsageError(f"{path} is the module to reduce", hints=["name another file with --output"])
    subject, oracle, reproducer = _task(input_, check, values)
    quiet = values["quiet"] or values["as_json"]
    with _progress(quiet) as tell:
        found = reduce_module(
            subject.module,
            oracle,
            path,
            source=subject.source,
            jobs=values["jobs"],
            seconds=values["timeout"],
            reproducer=reproducer,
            tell=tell,
        )
    loaded = [f"--load={file}" for file in context.meta.get(LOADED, ())]
    command = ["cutecc", "repro", str(path), *loaded] if reproducer else None
    if values["as_json"]:
        click.echo(json.dumps(_as_dict(found, path, command), indent=2))
    elif not quiet:
        for line in _lines(found, path, command):
            click.echo(one_line(line))


def _task(text: str, check: Check | None, values: dict[str, Any]) -> tuple[Subject, Oracle, Reproducer | None]:
    """The module to reduce, what says that it fails, and the first lines of the output where it is a reproducer."""
    if check is not None and text.endswith(MODULE_SUFFIXES) and not (values["pipeline"] or values["emit"]):
        # Nothing is compiled.
        values = values | {"target": values["target"] or _ANY_TARGET}
    subject = find_subject(text, values)
    if check is not None:
        return subject, _check_fails(subject, check, values), None
    if values["ptx"] or values["results"]:
        return subject, _differs(subject, values), None
    if subject.module.startswith(MARK.encode()) and not values["pipeline"]:
        given = read_reproducer(subject.module.decode(errors="replace"))
        own = subject_of(given, subject.module, subject.source)
        return subject, _fails_alike(own, expected_of(given), values["message"]), given
    # As `cutecc compile` does, and `cutecc repro` of what comes of it.
    subject = replace(subject, options=replace(subject.options, artifacts=ALL_ARTIFACTS))
    expected = failure_apart(subject)
    if expected is None:
        raise Error(
            f"there is nothing to reduce: {text} compiles",
            hints=["say what fails: another --pipeline, or a check (--check, --filecheck, --ptx, --results)"],
        )
    if expected.is_of_input and not expected.pass_name:
        raise UsageError(expected.message)
    return subject, _fails_alike(subject, expected, values["message"]), _reproducer(subject, expected)


def _fails_alike(subject: Subject, expected: Failure, message: str | None) -> Oracle:
    from cutecc.workbench.reduction.oracles import FailsAlike

    options = subject.options
    if expected.pass_name:
        # What comes behind says nothing of it.
        stop = isolation.call("cutecc.workbench.reduction.oracles:last_selector", subject, expected.pass_name)
        options = replace(options, stop_after=stop)
    return FailsAlike(replace(_empty(subject), options=options), expected, message)


def _empty(subject: Subject) -> Subject:
    """How it is compiled, without the module, which changes."""
    return replace(subject, module=b"", lines=None, source="-")


def _check_fails(subject: Subject, check: Check, values: dict[str, Any]) -> Oracle:
    from cutecc.workbench.reduction.oracles import CheckFails

    if not values["pipeline"] and not values["emit"]:
        return CheckFails(check)
    form = values["emit"]
    artifact = CODE_ARTIFACTS[form] if form else None
    options = replace(subject.options, artifacts=("cubin", artifact) if artifact else ())
    return CheckFails(check, replace(_empty(subject), options=options), artifact, f".{form or 'mlir'}")


def _differs(subject: Subject, values: dict[str, Any]) -> Oracle:
    from cutecc.workbench.reduction.oracles import Differs

    if values["results"]:
        signature, chosen = callable_with(subject, one_point(values))
        subject = replace(subject, signature=signature)
        if chosen and not values["quiet"]:
            click.echo(chosen, err=True)
    subject = replace(_empty(subject), options=replace(subject.options, artifacts=("ptx", "cubin", "host-program")))
    against = other_subject(subject, values["against"])
    if not values["results"]:
        return Differs(subject, against)
    return Differs(subject, against, device_for_results(values), tuple(one_point(values).items()), values["seed"])


def _reproducer(subject: Subject, expected: Failure) -> Reproducer | None:
    """The first lines of a module that fails to compile; `None` where they cannot say how it is compiled."""
    options = subject.options
    if options.edits or options.start_after or options.changed().keys() - {"opt-level", "backend"}:
        return None
    pipeline = options.pipeline
    if isinstance(pipeline, str) and Path(pipeline).is_file():
        return None
    named: dict[str, str | bool | int] = {"pipeline": str(pipeline), "target": subject.target}
    for name, value in options.changed().items():
        named[name] = value
    how = "aborted" if expected.kind == "abort" else "failed"
    return Reproducer("compile", named, how, expected.pass_name, expected.message, current_versions())


@contextlib.contextmanager
def _progress(quiet: bool) -> Generator[Callable[[Progress], None]]:
    """On a terminal, a line that says how far it is."""
    from cutecc.cli.console import Console

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield lambda progress: None
        return
    with console.status("reading the module") as status:

        def tell(progress: Progress) -> None:
            best = progress.best
            status.update(
                # One line of 80 columns, whatever there is.
                f"{best.lines:,} lines, {best.operations:,} operations, {progress.tried:,} tried: "
                f"{progress.kind} × {progress.at_once:,}"
            )

        yield tell


def _lines(found: Reduced, path: Path, command: Sequence[str] | None) -> list[str]:
    start, result = found.start, found.result
    begun = "went on: " if found.went_on else ""
    end = "" if found.finished else "; its time is up, and the same command goes on"
    lines = [
        f"{path}: {begun}{start.lines:,} lines to {result.lines:,}, {start.operations:,} operations to "
        f"{result.operations:,}; {found.tried:,} modules in {found.seconds:.0f} s{end}"
    ]
    if found.finding.line:
        lines.append(f"fails: {found.finding.line}")
    if command:
        lines.append(f"see it again: {shlex.join(command)}")
    return lines


def _as_dict(found: Reduced, path: Path, command: Sequence[str] | None) -> dict[str, Any]:
    return {
        "ok": True,
        "output": str(path),
        "finished": found.finished,
        "went_on": found.went_on,
        "lines": {"before": found.start.lines, "after": found.result.lines},
        "operations": {"before": found.start.operations, "after": found.result.operations},
        "tried": found.tried,
        "seconds": round(found.seconds, 3),
        "finding": found.finding.text,
        "command": command,
    }
