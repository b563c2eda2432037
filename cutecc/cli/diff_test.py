"""`cutecc diff-test`: kernels through several pipelines and code generators, run side by side."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import tempfile
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from cutecc.cli.compile_options import edits, make_wheel_options
from cutecc.cli.device import chosen_device, find_cpu
from cutecc.cli.diff_failure import sanitize_hint
from cutecc.cli.diff_table import Report, as_dict
from cutecc.cli.main import EXIT_FAILED
from cutecc.cli.option_texts import split_names
from cutecc.cli.options import LOADED, change_options, load_option, refuse_empty, wheel_options
from cutecc.cli.streams import output_to_stderr
from cutecc.errors import LaunchError, UsageError
from cutecc.passes.generation.choice import PASSES
from cutecc.target import native_target

if TYPE_CHECKING:
    from cutecc.workbench.bisecting import Blame
    from cutecc.workbench.inputs import Input
    from cutecc.workbench.plan import Plan, PlannedKernel
    from cutecc.workbench.preparing import Points
    from cutecc.workbench.running import Device, KernelResult, Run, Settings
    from cutecc.workbench.variants import Choice
    from cutecc.workbench.workers import Workers

Command = Callable[["PlannedKernel", "Run"], str | None]

_EPILOG = """\b
Examples:
  cutecc diff-test examples/softmax.py
  cutecc diff-test examples test/kernels --device cpu
  cutecc diff-test kernel.py --size M=33,N=132 --pipelines nvidia,open --backends nvvm
  cutecc diff-test kernel.py --load my_pass.py --insert-after cse#1=my-pass
  cutecc diff-test --target sm_90a --compile build/diff && cutecc diff-test --run build/diff

Status 0: the same everywhere, within bounds; 1: something differs, fails or does not compile, or a kernel that was
named is left out, for open does not lower it or the emulator does not model its target; 2: the request is wrong, or
nothing differs and a kernel fails in every variant, so that it cannot be compared.
"""
_DEFAULT = ("examples", "test/kernels")


@click.command(epilog=_EPILOG)
@click.argument("kernels", nargs=-1, metavar="[KERNEL…]")
@click.option(
    "--pipelines",
    default="nvidia,open",
    show_default=True,
    metavar="NAME,…",
    callback=refuse_empty,
    help="The first is the norm.",
)
@click.option("--backends", default="nvvm,llvm", show_default=True, metavar="NAME,…", help="Code generators.")
@change_options
@click.option("--arg", "args", multiple=True, metavar="NAME=SPEC", help="An argument spec: alpha='f32=0.5'.")
@click.option("--entry", metavar="EXPR", help="What to compile, in the file's namespace: 'Gemm(tile=(128, 128))'.")
@click.option("--target", metavar="NAME", help="The target to compile for; by default the file's, or the device's.")
@click.option("--size", "sizes", multiple=True, metavar="NAME=N,…", help="Named sizes; by default its own, and ragged.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the inputs.")
@click.option(
    "--runs", type=click.IntRange(1), default=1, show_default=True, help="At each of the sizes, other inputs."
)
@click.option("--device", metavar="NAME", help="cuda:0, or cpu, the emulator; by default cuda:0 where there is a GPU.")
@click.option("--check", metavar="NAMES", help="On the emulator, look for races, bad accesses, …: all, or names.")
@click.option("--processes", type=click.IntRange(1), metavar="N", help="On the emulator, at most so many.")
@click.option("--no-time", is_flag=True, help="On a GPU, do not time.")
@click.option("--no-bisect", is_flag=True, help="Do not look for the pass that makes a difference.")
@click.option("--compile", "to", type=click.Path(path_type=Path), metavar="DIR", help="Compile into DIR, run nothing.")
@click.option("--run", "of", type=click.Path(path_type=Path), metavar="DIR", help="Run what was compiled into DIR.")
@load_option
@wheel_options
@click.option("-j", "--jobs", type=click.IntRange(1), default=os.cpu_count() or 1, help="Processes that compile.")
@click.option("--no-cache", is_flag=True, help="Compile anew, and keep nothing in the cache.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Print differences and the sum only.")
@click.pass_context
def diff_test(context: click.Context, kernels: tuple[str, ...], **values: Any) -> None:
    """Compile kernels through several pipelines and code generators, run all on the same inputs, and compare.

    Results have to be the bits of the first pipeline's through the same code generator, or within the bounds of the
    kernel's file. Where they are not, it looks for the pass. KERNEL is a kernel file, or a folder of these; by default
    the examples and test kernels here. What is inserted, replaced or left out is so in all pipelines but the first.

    With --compile and --run a machine without the DSL runs what another compiled.
    """
    command = functools.partial(sanitize_hint, context)
    if values["of"]:
        status = _run_folder(kernels, values, command)
    elif values["to"]:
        status = _compile_folder(kernels, values)
    else:
        with tempfile.TemporaryDirectory(prefix="cutecc-") as folder:
            status = _run_here(kernels, values, Path(folder), _changes(context, values), command)
    context.exit(status)


def _changes(context: click.Context, values: dict[str, Any]) -> list[str]:
    """The options that change pipelines, for a command that does the same."""
    found = [word for file in context.meta.get(LOADED, ()) for word in ("--load", str(file))]
    for name in ("insert_after", "insert_before", "replace", "without"):
        found += [word for text in values[name] for word in (f"--{name.replace('_', '-')}", text)]
    return found


def _run_here(
    kernels: tuple[str, ...], values: dict[str, Any], folder: Path, changes: list[str], command: Command
) -> int:
    from cutecc.runtime.workspace import Workspace
    from cutecc.workbench.workers import Workers

    settings = _settings(values)
    with _device(values) as device:
        on_cpu = device.kind == "cpu"
        target = values["target"]
        if target is None and isinstance(device, Workspace):
            target = native_target(device.compute_capability)
        inputs = _inputs(kernels, values, target)
        choice = _choice(values, on_cpu=on_cpu)
        points = _points(values, on_cpu=on_cpu, run_on="cpu" if on_cpu else "cuda")
        report = Report(values["quiet"], values["as_json"], changes, choice.edits, _named(inputs), command)
        results: list[KernelResult] = []
        blames: dict[int, list[Blame]] = {}
        with Workers(values["jobs"], len(inputs)) as workers:
            plan = _prepare(inputs, folder, choice, points, workers, report)
            for kernel in plan.kernels:
                result = _result(kernel, folder, device, settings, report)
                if not result.ok and not values["no_bisect"]:
                    blames[len(results)] = _bisect(result, folder, choice, device, settings, workers, report)
                report.kernel(result, blames.get(len(results), []))
                results.append(result)
        return _end(results, blames, device.name, report)


def _named(inputs: Sequence[Input]) -> frozenset[tuple[str, str]]:
    """Files that the user named themselves, and their targets."""
    return frozenset((each.file, each.target) for each in inputs if each.named)


def _compile_folder(kernels: tuple[str, ...], values: dict[str, Any]) -> int:
    from cutecc.workbench.workers import Workers

    folder: Path = values["to"]
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"--compile {folder}: it is there already", hints=["name a new folder, or an empty one"])
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as failure:
        raise UsageError(f"--compile: cannot create the folder {folder}: {failure.strerror}") from None
    inputs, on_cpu = _inputs(kernels, values, values["target"]), values["device"] == "cpu"
    choice = _choice(values, on_cpu=on_cpu)
    report = Report(values["quiet"], values["as_json"], edits=choice.edits, named=_named(inputs))
    points = _points(values, on_cpu=on_cpu, run_on=None)
    with Workers(values["jobs"], len(inputs)) as workers:
        plan = _prepare(inputs, folder, choice, points, workers, report)
    return 0 if report.compiled(plan, folder) else EXIT_FAILED


def _run_folder(kernels: tuple[str, ...], values: dict[str, Any], command: Command) -> int:
    from cutecc.workbench.plan import read_plan

    if kernels:
        raise UsageError(f"--run {values['of']} runs what is in the folder: name no kernels")
    plan, settings = read_plan(values["of"]), _settings(values)
    report = Report(values["quiet"], values["as_json"], command=command)
    results: list[KernelResult] = []
    if not values["as_json"] and not values["quiet"]:
        click.echo(f"kernels, inputs, what is expected and tolerances: {values['of']}")
    with _device(values) as device:
        for kernel in plan.kernels:
            results.append(_result(kernel, values["of"], device, settings, report))
            report.kernel(results[-1], [])
        return _end(results, {}, device.name, report)


def _end(results: Sequence[KernelResult], blames: dict[int, list[Blame]], device: str, report: Report) -> int:
    if report.as_json:
        click.echo(json.dumps(as_dict(results, blames, device, ok=report.ok(results)), indent=2))
    return report.end(results, device)


def _result(kernel: Any, folder: Path, device: Device, settings: Settings, report: Report) -> KernelResult:
    from cutecc.workbench.running import run_kernel

    with output_to_stderr(report.as_json):
        try:
            return run_kernel(kernel, folder, device, settings)
        except LaunchError as failure:
            failure.hints.append("on the CPU a fault ends one run only, and its line is told: --device cpu")
            raise


def _bisect(
    result: KernelResult,
    folder: Path,
    choice: Choice,
    device: Device,
    settings: Settings,
    workers: Workers,
    report: Report,
) -> list[Blame]:
    from cutecc.workbench.bisecting import Bisection
    from cutecc.workbench.preparing import source_of

    source = source_of(result.kernel, folder)
    if source is None:
        return []
    with output_to_stderr(report.as_json):
        return Bisection(source, result, folder, choice, device, settings, workers).blames(report.tried)


def _prepare(
    inputs: Sequence[Input], folder: Path, choice: Choice, points: Points, workers: Workers, report: Report
) -> Plan:
    from cutecc.workbench.preparing import prepare

    # Before anything is traced or compiled, which takes minutes for many kernels.
    workers.check(choice, [each.target for each in inputs if each.request])
    report.begin(choice.pipelines)
    with report.progress(len(inputs)) as advance:
        return prepare(inputs, folder, choice, points, workers=workers, on_kernel=advance)


def _inputs(kernels: tuple[str, ...], values: dict[str, Any], target: str | None) -> list[Input]:
    from cutecc.cli.option_texts import split_arg
    from cutecc.workbench.inputs import find_inputs

    paths = kernels or tuple(path for path in _DEFAULT if Path(path).is_dir())
    if not paths:
        raise UsageError("name the kernels to run", hints=[f"without any, those of {' and '.join(_DEFAULT)} here"])
    args = dict(split_arg(each) for each in values["args"])
    return find_inputs(paths, target, entry=values["entry"], args=args, modules=False)


def _choice(values: dict[str, Any], *, on_cpu: bool) -> Choice:
    from cutecc.cache import lookup
    from cutecc.compilation.request import CompileOptions, with_line_info
    from cutecc.workbench.variants import Choice

    pipelines = split_names((values["pipelines"],))
    backends: list[Any] = list(split_names((values["backends"],)))
    for name, given in (("pipelines", pipelines), ("backends", backends)):
        if not given or len(set(given)) < len(given):
            raise UsageError(f"--{name} {values[name]}: names one or several, each once")
    if wrong := [each for each in backends if each not in PASSES]:
        raise UsageError(f"--backends: there is no '{wrong[0]}'", hints=[f"there are {' and '.join(sorted(PASSES))}"])
    _check_pipelines(pipelines)
    changes = edits(values)
    if changes and len(pipelines) == 1:
        raise UsageError("passes are put into all pipelines but the first, and --pipelines names one alone")
    options = CompileOptions(wheel=make_wheel_options(values))
    return Choice(
        pipelines,
        backends,
        with_line_info(options) if on_cpu else options,
        changes,
        lookup.wanted(False if values["no_cache"] else None),
    )


def _check_pipelines(names: Sequence[str]) -> None:
    """Raise `UsageError` for what is neither a pipeline's name nor a file."""
    from cutecc.passes.named import NAMED, unknown_pipeline

    for name in names:
        if name not in NAMED and not Path(name).is_file():
            from cutecc.passes.pipelines import named_pipelines

            if name not in (known := named_pipelines()):
                raise unknown_pipeline(name, known)


def _points(values: dict[str, Any], *, on_cpu: bool, run_on: Literal["cpu", "cuda"] | None) -> Points:
    from cutecc.harness.points import SMALL_BYTES
    from cutecc.harness.sizes import parse_sizes
    from cutecc.workbench.preparing import Points

    sizes = parse_sizes(values["sizes"]) if values["sizes"] else ()
    return Points(sizes, values["seed"], values["runs"], SMALL_BYTES if on_cpu else None, run_on)


def _settings(values: dict[str, Any]) -> Settings:
    from cutecc.workbench.running import Settings

    return Settings(values["check"], values["processes"], timed=not values["no_time"])


@contextlib.contextmanager
def _device(values: dict[str, Any]) -> Generator[Device]:
    """The device that the user names, or the one there is."""
    if (values["check"] or values["processes"]) and find_cpu(values["device"]) is None:
        raise UsageError("--check and --processes are for the CPU emulator", hints=["run there with --device cpu"])
    with chosen_device(values["device"], quiet=values["quiet"], err=values["as_json"]) as device:
        yield device
