"""`cutecc compile`: a kernel to the IR after every pass, PTX, cubin and SASS."""

from __future__ import annotations

import functools
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from cutecc import isolation
from cutecc.cache import lookup
from cutecc.cli.inputs import KernelFile, ModuleFile, choose
from cutecc.cli.main import report
from cutecc.cli.options import edits, load_option, make_wheel_options, pipeline_options, split_names, wheel_options
from cutecc.cli.reporter import Outcome, Reporter
from cutecc.config import Settings
from cutecc.contained import lower_in_worker
from cutecc.errors import Error, UsageError
from cutecc.from_file import lower_file, trace_apart
from cutecc.frontend.traced import TracedModule, TraceRequest
from cutecc.passes.dumps import DumpChoice, Stage
from cutecc.passes.named import NAMED
from cutecc.passes.pipeline import Pipeline
from cutecc.record import Compilation, Failure
from cutecc.record.bundle import check_destination, write_bundle
from cutecc.record.folder import RecordFolder, read_folder
from cutecc.record.naming import file_name
from cutecc.request import ALL_ARTIFACTS, CompileOptions, CompileRequest
from cutecc.target import Target
from cutecc.versions import current_versions

_EPILOG = """\b
Examples:
  cutecc compile examples/elementwise_add.py --dump-after=all
  cutecc compile kernel.py:launch --arg a='f16[?,?{div=8}]' --target sm_90a
  cutecc compile gemm.py --entry 'Gemm(tile=(128, 128))' --target sm_90a,sm_100a
  cutecc compile gemm.py --target sm_90a,sm_100a --bundle gemm.cutecc
  cutecc compile cutecc-out/add-sm_90a/14-cse.mlir --start-after=cse#1

Compiling a .py file runs it. A .mlir file is only parsed.
"""


@click.command(name="compile", epilog=_EPILOG)
@click.argument("input_", metavar="FILE.py[:FUNCTION]|FILE.mlir")
@click.option("--arg", "args", multiple=True, metavar="NAME=SPEC", help="An argument spec: a='f16[?,?{div=8}]'.")
@click.option("--entry", metavar="EXPR", help="What to compile, in the file's namespace: 'Gemm(tile=(128, 128))'.")
@click.option("--target", metavar="NAME,…", help="GPU targets, such as sm_90a; 'native' for this machine's GPUs.")
@pipeline_options
@load_option
@wheel_options
@click.option("--ptxas", type=click.Path(path_type=Path), help="Assemble with this ptxas instead of the wheel's own.")
@click.option("--dump-after", multiple=True, metavar="all|PASS,…", help="Write the IR after passes that changed it.")
@click.option("--dump-before", multiple=True, metavar="all|PASS,…", help="Write the IR before passes.")
@click.option("--dump-unchanged", is_flag=True, help="Write dumps also where a pass changed nothing.")
@click.option("--dump-locations", is_flag=True, help="Print source locations in dumps (on with --line-info).")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="The folder to write; default cutecc-out/KERNEL-TARGET."
)
@click.option("--bundle", type=click.Path(path_type=Path), metavar="FILE", help="Write one file to load and run, too.")
@click.option("--bundle-dumps", is_flag=True, help="Put dumps and every artifact into the bundle.")
@click.option("--no-cache", is_flag=True, help="Compile anew, and keep nothing in the cache.")
@click.option("--no-direct", is_flag=True, help="Trace anew, whether or not the file has changed.")
@click.option("--verify-each", is_flag=True, help="Have MLIR verify the module after each pass.")
@click.option("--timing", is_flag=True, help="Show where the time went, longest first.")
@click.option("--json", "as_json", is_flag=True, help="Print the manifest as JSON (a list for several targets).")
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
@click.option("-v", "--verbose", is_flag=True, help="Print the table also into a pipe, with every unchanged pass.")
@click.pass_context
def compile(context: click.Context, input_: str, **values: Any) -> None:
    """Compile a kernel for one or several targets, without a GPU.

    Writes every artifact and a manifest into a folder, and shows what each pass did. With --bundle, a file that
    `cutecc.load` reads: all targets, with what running the kernel needs.
    """
    settings = Settings.from_environment()
    chosen = choose(input_, values["args"], values["entry"], values["target"], settings)
    if values["start_after"] and isinstance(chosen, KernelFile):
        raise UsageError("--start-after goes on from a dump", hints=["name the dump instead of the Python file"])
    _go_on_from_stage(context, values, chosen.stage)
    options = _options(values, settings)
    _check_bundle(values)
    reporter = Reporter(
        as_json=values["as_json"], quiet=values["quiet"], verbose=values["verbose"], timing=values["timing"]
    )

    # Times are asked for to see what this run takes.
    cache = False if values["no_cache"] or values["timing"] else None

    def folder(kernel: str, target: Target) -> Path:
        output = _output(values, kernel, target, several=len(chosen.targets) > 1)
        if Path(input_).resolve().parent == output.resolve():
            raise UsageError(
                f"the output folder {output} holds the input, and a run first removes the earlier one's files",
                hints=["name another folder with --output"],
            )
        return output

    def request(target: Target, traced: TracedModule | ModuleFile, seconds: float = 0.0) -> CompileRequest:
        is_file = isinstance(traced, ModuleFile)
        return CompileRequest(
            traced.data if is_file else traced.bytecode,
            target.name,
            traced.name,
            source=chosen.source,
            signature=None if is_file else traced.signature,
            workload=chosen.workload,
            options=options,
            output=folder(traced.name, target),
            command=["cutecc", *sys.argv[1:]],
            trace_seconds=seconds,
            warnings=() if is_file else traced.warnings,
            cache=lookup.wanted(cache),
        )

    def one(target: Target) -> Outcome:
        reporter.tracing(target)

        def trace(file: TraceRequest) -> TracedModule:
            try:
                return trace_apart(file)
            except Error as error:
                _record_failed_trace(values["output"], chosen.source, target, error)
                raise

        if isinstance(chosen, ModuleFile):
            compilation = lower_in_worker(request(target, chosen), reporter.follow(target))
        else:
            compilation = lower_file(
                replace(chosen.request, target=target.name),
                options,
                functools.partial(request, target),
                trace=trace,
                cache=cache,
                use_direct=not values["no_direct"],
                on_event=reporter.follow(target),
            )
        return Outcome(compilation, folder(compilation.name, target))

    failures: list[Error] = []
    with reporter, ThreadPoolExecutor(min(len(chosen.targets), os.cpu_count() or 1)) as pool:
        jobs = [pool.submit(one, target) for target in chosen.targets]
        try:
            for job in jobs:
                try:
                    reporter.outcomes.append(job.result())
                except Error as error:
                    failures.append(error)
        except KeyboardInterrupt:
            isolation.interrupt()
            raise
    if values["bundle"] and not failures:
        try:
            records = [read_folder(outcome.output) for outcome in reporter.outcomes]
            write_bundle(values["bundle"], records, dumps=values["bundle_dumps"])
            reporter.bundle = values["bundle"]
        except Error as error:
            failures.append(error)
    reporter.show()
    # Several targets often fail for the same reason.
    failures = list({str(failure): failure for failure in failures}.values())
    for failure in failures[1:]:
        report(failure)
    if failures:
        raise failures[0]


def _go_on_from_stage(context: click.Context, values: dict[str, Any], stage: Stage | None) -> None:
    """Take from a dump's first line what the command line leaves open: position, pipeline and options."""
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
            click.echo(f"note: going on after {stage.after}, as the first line of the file says", err=True)
    for name, value in stage.options.items():
        key = name.replace("-", "_")
        # Tools and libraries come from the command line alone.
        if key in _RESUMABLE and context.get_parameter_source(_RESUMABLE[key]) is ParameterSource.DEFAULT:
            option = next(each for each in context.command.params if each.name == _RESUMABLE[key])
            values[_RESUMABLE[key]] = option.type_cast_value(context, value)


_RESUMABLE = {
    **{name: name for name in ("opt_level", "preserve_line_info", "enable_assertions", "fast_math")},
    "ptx_options": "ptxas_options",
    "nvvm_options": "nvvm_options",
}


def _check_bundle(values: dict[str, Any]) -> None:
    """Refuse at once what would only fail after compiling."""
    if values["bundle_dumps"] and not values["bundle"]:
        raise UsageError("--bundle-dumps says what --bundle FILE holds", hints=["name the file with --bundle"])
    if not values["bundle"]:
        return
    if values["stop_after"]:
        raise UsageError("--bundle needs the whole pipeline", hints=["leave out --stop-after"])
    check_destination(values["bundle"])


def _output(values: dict[str, Any], kernel: str, target: Target, *, several: bool) -> Path:
    choice: Path | None = values["output"]
    if choice is None:
        start = f"-after-{file_name(values['start_after'])}" if values["start_after"] else ""
        return Path("cutecc-out") / f"{kernel}-{target.name}{start}"
    return choice / target.name if several else choice


def _record_failed_trace(output: Path | None, source: str, target: Target, error: Error) -> None:
    """So that a folder the user named never shows an earlier run's results for this one's."""
    if output is None:
        return
    folder = RecordFolder(output)
    folder.save(
        Compilation(
            name=file_name(Path(source).stem),
            target=target.name,
            pipeline="",
            versions=current_versions(),
            status="failed",
            command=["cutecc", *sys.argv[1:]],
            source=source,
            failure=Failure("trace", error.message),
        )
    )
    folder.close()


def _options(values: dict[str, Any], settings: Settings) -> CompileOptions:
    wheel = make_wheel_options(values)
    dumps = DumpChoice(
        (*split_names(values["dump_after"]), *([values["stop_after"]] if values["stop_after"] else [])),
        split_names(values["dump_before"]),
        values["dump_unchanged"],
        values["dump_locations"] or wheel.preserve_line_info,
    )
    ptxas: Path | None = values["ptxas"] or settings.ptxas
    if ptxas and not ptxas.is_file():
        raise UsageError(f"--ptxas: there is no program {ptxas}")
    return CompileOptions(
        pipeline=values["pipeline"] or "nvidia",
        edits=edits(values["insert_after"], values["insert_before"], values["replace"], values["without"]),
        start_after=values["start_after"],
        stop_after=values["stop_after"],
        wheel=wheel,
        ptxas=ptxas,
        artifacts=ALL_ARTIFACTS,
        observe=True,
        dumps=dumps,
        verify_each=values["verify_each"],
    )
