"""The jobs of `cutecc compile`: inputs times targets, each with a folder of its own, several at a time."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from cutecc.cache import lookup
from cutecc.cli.compile_options import compile_options, dump_choice
from cutecc.cli.inputs import KernelFile, ModuleFile, NamedOperator, choose, choose_operator, compile_request
from cutecc.cli.options import chosen_ptxas, take_options
from cutecc.cli.reporter import Outcome, Reporter
from cutecc.cli.reports import Reporting
from cutecc.compilation.events import Event
from cutecc.compilation.from_file import lower_file, trace_apart
from cutecc.compilation.request import ALL_ARTIFACTS, CompileOptions, CompileRequest
from cutecc.compilation.versions import current_versions
from cutecc.compilation.worker import lower_in_worker
from cutecc.config import Settings
from cutecc.errors import Error, TraceError, UsageError
from cutecc.frontend.kernel_file import split_path
from cutecc.frontend.traced import TracedModule, TraceRequest
from cutecc.passes.named import NAMED
from cutecc.passes.pipeline import Pipeline
from cutecc.record import Compilation, Failure
from cutecc.record.folder import RecordFolder
from cutecc.record.naming import file_name, record_stem
from cutecc.report.destination import numbered
from cutecc.support import isolation
from cutecc.support.harmless import one_line
from cutecc.target import Target

_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Job:
    """One input for one target."""

    text: str
    """The input as the user named it."""
    chosen: KernelFile | ModuleFile | NamedOperator
    target: Target
    options: CompileOptions
    folder: Path | None
    """Where the record goes; `None` for below `cutecc-out`, by the kernel's name, which tracing tells."""
    report: Path | None
    """Where the report goes, if one is asked for."""

    @property
    def label(self) -> str:
        """What the user calls it, in a word."""
        return f"{Path(self.text).name} {self.target}"

    def output(self, kernel: str) -> Path:
        """The folder for the record of a kernel of this name."""
        return self.folder or _folder(kernel, self.target, self.options)


def plan(context: click.Context, values: dict[str, Any], text: str, settings: Settings, *, several: bool) -> list[Job]:
    """The jobs that an input makes; `several` when it is not the only one."""
    if values["operator"]:
        chosen = choose_operator(text, values["gemm"], values["providers"], values["target"], settings)
    else:
        chosen = choose(text, values["args"], values["entry"], values["target"], settings)
    if values["start_after"] and not isinstance(chosen, ModuleFile):
        raise UsageError("--start-after goes on from a dump", hints=["name the dump instead of the kernel"])
    values = dict(values)
    _go_on_from_stage(context, values, chosen)
    options = _options(values, settings)
    output: Path | None = values["output"]
    jobs: list[Job] = []
    for target in chosen.targets:
        if several:
            # By what the user named, which is known before tracing and tells same-named kernels of two files apart.
            folder = _folder(_stem(chosen), target, options)
            folder = output / folder.name if output else folder
        elif output:
            folder = output / target.name if len(chosen.targets) > 1 else output
        else:
            folder = _folder(chosen.name, target, options) if isinstance(chosen, ModuleFile) else None
        report: Path | None = values["report"]
        if report and (several or len(chosen.targets) > 1):
            report = numbered(report, [*([_stem(chosen)] if several else []), target.name])
        jobs.append(Job(text, chosen, target, options, folder, report))
    return jobs


def _stem(chosen: KernelFile | ModuleFile | NamedOperator) -> str:
    if isinstance(chosen, ModuleFile):
        return chosen.name
    if isinstance(chosen, NamedOperator):
        return file_name(chosen.text)
    return record_stem(chosen.path, chosen.request.function)


def _folder(kernel: str, target: Target, options: CompileOptions) -> Path:
    start = f"-after-{file_name(options.start_after)}" if options.start_after else ""
    return Path("cutecc-out") / f"{kernel}-{target.name}{start}"


def check_folders(inputs: Sequence[str], jobs: Sequence[Job]) -> None:
    """Refuse two jobs that would write one folder, and a folder with an input in it."""
    taken: dict[Path, Job] = {}
    for job in jobs:
        if job.folder is None:
            continue
        _check_no_input(job.folder, inputs)
        other = taken.setdefault(job.folder.resolve(), job)
        if other is not job:
            raise UsageError(
                f"{other.text} and {job.text} would both be written to {job.folder}",
                hints=["compile them one after the other, each with an --output of its own"],
            )


def _check_no_input(folder: Path, inputs: Sequence[str]) -> None:
    if folder.resolve() in (Path(split_path(text)[0]).resolve().parent for text in inputs):
        raise UsageError(
            f"the output folder {folder} holds the input, and a run first removes the earlier one's files",
            hints=["name another folder with --output"],
        )


def run(jobs: Sequence[Job], values: dict[str, Any], reporter: Reporter) -> list[Outcome | Error]:
    """Do all jobs, some at a time; what came of each, in their order."""

    def one(number: int) -> Outcome | Error:
        reporter.begin(number)
        try:
            return _compile(jobs[number], values, reporter.follow(number))
        except Error as error:
            return error
        finally:
            reporter.end(number)

    most = values["jobs"] or os.cpu_count() or 1
    with reporter, ThreadPoolExecutor(max(1, min(len(jobs), most))) as pool:
        futures: list[Future[Outcome | Error]] = []
        try:
            futures += [pool.submit(one, number) for number in range(len(jobs))]
            return [future.result() for future in futures]
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            # A job may be between two of its processes.
            while not all(future.done() for future in futures):
                isolation.interrupt()
                time.sleep(_POLL_SECONDS)
            raise


def _compile(job: Job, values: dict[str, Any], on_event: Callable[[Event], None]) -> Outcome:
    chosen = job.chosen
    reporting = Reporting(job.report, job.output, on_event) if job.report else None
    # Times are asked for to see what this run takes.
    cache = False if values["no_cache"] or values["timing"] else None
    request = compile_request(chosen, job.target, job.options)

    def output_of(kernel: str) -> Path:
        output = job.output(kernel)
        if not isinstance(chosen, NamedOperator):
            _check_no_input(output, [job.text])
        return output

    def lower(whole: CompileRequest) -> Compilation:
        whole = replace(whole, output=output_of(whole.name), cache=lookup.wanted(cache))
        return lower_in_worker(whole, reporting or on_event)

    def trace(file: TraceRequest) -> TracedModule:
        with _failure_recorded(job):
            return trace_apart(file)

    with reporting.whole(functools.partial(_failed, job)) if reporting else contextlib.nullcontext():
        if isinstance(chosen, ModuleFile):
            compilation = lower(request)
        elif isinstance(chosen, NamedOperator):
            start = time.perf_counter()
            with _failure_recorded(job):
                traced = chosen.trace(job.target, job.options)
            compilation = lower(request.of(traced, time.perf_counter() - start))
        else:
            compilation = lower_file(
                chosen.request,
                request,
                output_of=output_of,
                trace=trace,
                cache=cache,
                use_direct=not values["no_direct"],
                on_event=reporting or on_event,
            )
    return Outcome(compilation, job.output(compilation.name), reporting and reporting.report)


def _go_on_from_stage(
    context: click.Context, values: dict[str, Any], chosen: KernelFile | ModuleFile | NamedOperator
) -> None:
    """Take from a dump's first line what the command line leaves open: position, pipeline and options."""
    stage = chosen.stage
    if stage is None:
        return
    if context.params.get("target") and values["target"] != stage.target:
        raise UsageError(
            f"the dump is of a run for {stage.target}, not {values['target']}: it was traced for that GPU",
            hints=["leave out --target, or compile the kernel itself"],
        )
    if values["start_after"] not in (None, stage.after):
        raise UsageError(
            f"the dump was made after {stage.after or 'tracing'}, not after {values['start_after']}",
            hints=["leave out --start-after; without its first line, the file goes on from where you say"],
        )
    if values["pipeline"]:
        return
    # The header is the file's word, not the user's: it may name a pipeline or spell one, but no file to read.
    values["pipeline"] = stage.pipeline if stage.pipeline in NAMED else Pipeline.parse(stage.pipeline)
    if values["start_after"] is None and stage.after:
        values["start_after"] = stage.after
        if not values["quiet"]:
            after = one_line(stage.after)
            click.echo(f"note: going on after {after}, as the first line of the file says", err=True)
    take_options(context, values, stage.options)


@contextlib.contextmanager
def _failure_recorded(job: Job) -> Generator[None]:
    """So that a folder never shows an earlier run's results for a trace that fails."""
    try:
        yield
    except Error as error:
        if job.folder is not None:
            folder = RecordFolder(job.folder)
            folder.save(_failed(job, error))
            folder.close()
        raise


def _failed(job: Job, error: Error) -> Compilation:
    """The record of a job that came to no passes."""
    return Compilation(
        name=file_name(Path(job.chosen.source).stem),
        target=job.target.name,
        pipeline="",
        versions=current_versions(),
        status="failed",
        command=["cutecc", *sys.argv[1:]],
        source=job.chosen.source,
        failure=Failure.of("trace" if isinstance(error, TraceError) else "parse", error),
    )


def _options(values: dict[str, Any], settings: Settings) -> CompileOptions:
    return replace(
        compile_options(values),
        start_after=values["start_after"],
        stop_after=values["stop_after"],
        ptxas=chosen_ptxas(values, settings),
        artifacts=ALL_ARTIFACTS,
        observe=True,
        dumps=dump_choice(values, locations=values["preserve_line_info"]),
        verify_each=values["verify_each"],
        report=values["report"] is not None,
    )
