"""A record's kernel compiled once more, for what the record does not keep: its stages, and what analyses found.

A record may come from anybody, and compiling runs a Python file and what the options name. So it is done for the
folder of a record only, whose command line this user has run in this folder, on the text that the files still have.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cutecc.cache import own_runs
from cutecc.errors import RecordError
from cutecc.frontend.kernel_file import split_path
from cutecc.passes.dumps import DumpChoice
from cutecc.record import Compilation
from cutecc.record.folder import MANIFEST
from cutecc.record.stages import KEEPING, stages_of
from cutecc.support.harmless import message_text

if TYPE_CHECKING:
    from cutecc.cli.jobs import Job


def with_stages(record: Compilation, path: Path) -> Compilation:
    """The record, which `path` names, with its stages: itself, or its kernel compiled again, which is said.

    Raises `RecordError` where there are none and that cannot be done, with what to run instead.
    """
    if record.has_stages:
        return record
    try:
        stages_of(record)
    except RecordError as error:
        return compiled_again(record, path, error)
    return record


def compiled_again(
    record: Compilation, path: Path, missing: RecordError, keeping: Sequence[str] = KEEPING
) -> Compilation:
    """The kernel of a record compiled as its manifest says, with all that a report shows.

    `keeping` are the options that have a record keep what is `missing`, which says in its first clause what that is.

    Raises `missing`, what the record lacks, where that cannot be done, with the reason and what to run instead.
    """
    if record.status not in ("ok", "stopped") or not (path.is_dir() or path.name == MANIFEST):
        raise missing
    if [*record.command[:2]] != ["cutecc", "compile"] or record.source is None:
        raise missing
    if reason := _reason_against(record.command, record.source):
        missing.notes.append(f"it is not compiled again: {reason}")
        raise missing
    job = _job(record)
    if job is None:
        raise missing
    lacks, _, _ = missing.message.partition(": ")
    said = f"{lacks}: compiling {record.source} again, as it was; {' '.join(keeping)} keeps them"
    click.echo(message_text(said), err=True)
    made = _compile(job, record)
    if difference := _difference(record, made):
        click.echo(message_text(f"warning: {difference}"), err=True)
    return made


def _reason_against(command: Sequence[str], source: str) -> str | None:
    """Why the file of a record is not run; `None` where it may be."""
    path, _ = split_path(source)
    known = own_runs.recall(command, path)
    if known is None:
        beside = " and ".join(own_runs.code_of(command))
        return f"nobody knows that you compiled {path} so, in this folder{f', with {beside} as now' if beside else ''}"
    try:
        text = Path(path).read_bytes()
    except OSError:
        return f"{path} is gone"
    return None if text == known else f"{path} has changed since: {_first_change(known, text)}"


def _first_change(before: bytes, after: bytes) -> str:
    old, new = (text.decode(errors="replace").splitlines() for text in (before, after))
    for tag, first, last, start, end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            was = f"was '{old[first].strip()}'" if last > first else "was not there"
            now = f"is '{new[start].strip()}'" if end > start else "is gone"
            return f"line {(start if end > start else first) + 1} {now}, and {was}"
    return "in the ends of its lines"


def _job(record: Compilation) -> Job | None:
    """What the record's command line compiles, of that what the record is of."""
    from cutecc.cli.compile import compile as command
    from cutecc.cli.jobs import plan
    from cutecc.config import Settings

    words = [word for word in record.command[2:] if word != "--debug"]
    context = command.make_context("compile", words)
    values = dict(context.params)
    inputs: tuple[str, ...] = values.pop("inputs")
    named = next((text for text in inputs if split_path(text)[0] == split_path(str(record.source))[0]), None)
    if named is None or values["start_after"]:
        return None
    jobs = plan(context, values, named, Settings.from_environment(), several=False)
    return next((job for job in jobs if job.target.name == record.target), None)


def _compile(job: Job, record: Compilation) -> Compilation:
    """The kernel, with everything kept, in memory. Raises `Error`."""
    from cutecc.cli.inputs import ModuleFile, NamedOperator, compile_request
    from cutecc.compilation.from_file import lower_file
    from cutecc.compilation.worker import lower_in_worker

    chosen = job.chosen
    assert not isinstance(chosen, NamedOperator)
    options = replace(job.options, report=True, dumps=DumpChoice())
    request = replace(compile_request(chosen, job.target, options), name=record.name, command=record.command)
    if isinstance(chosen, ModuleFile):
        return lower_in_worker(request)
    return lower_file(chosen.request, request, cache=False)


def _difference(record: Compilation, made: Compilation) -> str | None:
    """What tells the two apart although the file is the same; `None` where nothing does."""
    from cutecc.report.pair import compare_ptx

    code = compare_ptx(record, made)
    if code is None or not code.lines:
        return None
    return "its PTX is another than the record's: something beside the file has changed, a module of yours or a version"
