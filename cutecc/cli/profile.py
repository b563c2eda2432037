"""`cutecc profile`: a thin wrapper over sampling a kernel, or the kernels of a program."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cutecc.cli import iket
from cutecc.cli.device import open_device
from cutecc.cli.files import check_output, is_record
from cutecc.cli.options import compiler_options, given_compile_options, subject_options
from cutecc.cli.profile_options import refuse_for_kernel, refuse_for_program
from cutecc.cli.sizes import settle
from cutecc.cli.timeline import check_timeline, emulate_timeline, record_timeline, timeline_options
from cutecc.errors import Error, ProfilingError, UsageError
from cutecc.support.output_file import write_output

if TYPE_CHECKING:
    from cutecc.cli.subject import Subject
    from cutecc.kernel import Kernel
    from cutecc.profiling.kernels import ProfiledKernel
    from cutecc.profiling.results import Profiled
    from cutecc.profiling.samples import Samples
    from cutecc.runtime.workspace import Workspace

_EPILOG = """\b
Examples:
  cutecc profile examples/gemm.py --size M=N=K=4096
  cutecc profile gemm.cutecc --size M=N=K=4096 --instructions
  cutecc profile gemm.cutecc --size M=N=K=1024,4096 --roofline gemm.svg
  cutecc profile -- python serve.py --steps 10

A program is any Python program: every kernel that it runs is sampled, whoever compiled it. It has lines where it was
compiled with line information, which cutecc and the DSL's own compiler keep meanwhile.
"""
_SAMPLED_MICROSECONDS = 100_000.0
"""Of kernel time: some millions of samples, which the hardware's buffer holds."""
_MOST_LAUNCHES = 10_000
_PERIOD, _PROGRAM_PERIOD = 11, 15
"""A program runs as long as it likes: of a second there are four million samples."""
_PROGRAM = "cutecc.profile.program"


class _Command(click.Command):
    """Tells a program behind `--` from a file."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        ctx.meta[_PROGRAM] = tuple(args[end + 1 :])
        if end < len(args) and not args[end + 1 :]:
            raise UsageError("no program after --", hints=["cutecc profile -- python program.py"])
        rest = args[:end]
        return super().parse_args(ctx, rest if end == len(args) else [*rest, "--", ""])


@click.command(cls=_Command, epilog=_EPILOG)
@subject_options
@click.option("--device", default="cuda:0", show_default=True, help="The GPU to run on.")
@click.option("--period", type=click.IntRange(5, 31), help="Sample every 2**N cycles; default 11, of a program 15.")
@click.option("--top", type=click.IntRange(1), default=12, show_default=True, help="Lines to show.")
@timeline_options
@click.option("--instructions", is_flag=True, help="Show the most sampled instructions of each line.")
@compiler_options
@click.option(
    "--roofline",
    type=click.Path(path_type=Path),
    metavar="FILE.svg",
    help="Draw the kernel's rates under the device's.",
)
@click.option("--json", "json_file", type=click.Path(path_type=Path), metavar="FILE", help="Write everything here.")
@click.pass_context
def profile(context: click.Context, input_: str, **values: Any) -> None:
    """Sample what the warps of a kernel wait for, and show it by lines of Python.

    Inputs of a kernel are random, made from the specs as `cutecc run` makes them.
    """
    check_output(values["json_file"])
    check_output(values["roofline"])
    program: tuple[str, ...] = context.meta[_PROGRAM]
    if program:
        refuse_for_program(context)
        from cutecc.cli.main import report
        from cutecc.watching.running import NotStartedError, end_as

        try:
            status = _profile_program(program, values)
        except NotStartedError as error:
            report(error)
            status = error.status
        context.exit(end_as(status))
    _profile_kernel(context, input_, values)


def _profile_kernel(context: click.Context, input_: str, values: dict[str, Any]) -> None:
    from cutecc.cli.loading import loader
    from cutecc.cli.subject import check_input
    from cutecc.compilation.request import CompileOptions, recording_timeline
    from cutecc.harness.sizes import parse_sizes

    check_input(input_)
    refuse_for_kernel(context, input_, values)
    check_timeline(values)
    points = parse_sizes(values["sizes"])
    options = given_compile_options(context, values)
    if not is_record(input_):
        # Lines, their source, and what tells whose an instruction is.
        options = replace(options or CompileOptions(), report=True)
    if values["timeline"] == iket.NAME:
        context.exit(iket.record_by_iket(input_, values, options))
    if values["timeline"] and values["device"] == "cpu":
        load = partial(loader(values, None), input_, entry=values["entry"])
        subject, points = settle(load(options=options and replace(options, line_info=True)), points)
        _tell([_emulated(subject, input_, sizes, values) for sizes in points], values)
        return
    with open_device(values["device"]) as device:
        load = partial(loader(values, device.compute_capability), input_, entry=values["entry"])
        subject, points = settle(load(options=options), points)
        recording = subject.kernel if values["timeline"] else None
        if recording and options:
            recording = load(options=recording_timeline(options, values["sites"])).kernel
        found = [_sample(subject, recording, device, sizes, values) for sizes in points]
    _tell(found, values)
    if values["roofline"]:
        from cutecc.profiling.results import write_roofline

        write_roofline(found, values["roofline"])


def _sample(
    subject: Subject, recording: Kernel | None, device: Workspace, sizes: dict[str, int], values: dict[str, Any]
) -> Profiled:
    """A kernel timed, then sampled, at one point of a sweep, and its timeline by `recording`, which may be the same."""
    from cutecc.benchmarking.running import cache_state, current_stream, measure_rates, prepared, run_point
    from cutecc.harness.arguments import make_arguments
    from cutecc.harness.on_device import DeviceArguments
    from cutecc.profiling.limits import fillings, limits_of
    from cutecc.profiling.results import Profiled

    arguments = make_arguments(subject.specs, subject.workload.outputs, sizes=sizes, exact_alignment=False)
    arguments.randomize(values["seed"])
    with device.scope(), current_stream(device):
        memory = DeviceArguments(arguments, device)
        memory.upload()
        call = prepared(subject.kernel, device, **memory.by_name)
        rates = measure_rates(device, matrix=subject.workload.flops is not None)
        (measured,) = run_point(
            {subject.name: [call]},
            device,
            rates,
            cache_state(False, 1, arguments.bytes, device.l2_bytes),
            sizes=arguments.sizes,
            bytes=subject.bytes_moved(arguments.sizes),
            flops=subject.operations(arguments.sizes),
        )
        launches = max(1, min(_MOST_LAUNCHES, round(_SAMPLED_MICROSECONDS / measured.median)))
        timeline = None
        if recording:
            recorded = prepared(recording, device, **memory.by_name)
            timeline = record_timeline(recorded, None if recording is subject.kernel else call, device, values)
        samples, kernels = sampled(call, launches, device, values["period"] or _PERIOD, is_needed=timeline is None)
        filled = fillings(subject.kernel.compilation, getattr(call, "launches", ()), device.multiprocessors)
    return Profiled(_title(arguments.sizes), samples, kernels, limits_of(measured, filled), launches, timeline)


def sampled(
    call: Callable[[], object], launches: int, device: Workspace, period: int, *, is_needed: bool
) -> tuple[Samples, Sequence[ProfiledKernel]]:
    """Samples of so many launches, and their kernels; where there can be none, a note, or the error if `is_needed`."""
    from cutecc.profiling.profile import Profile
    from cutecc.profiling.samples import Samples

    try:
        with Profile(period=period) as found:
            for _ in range(launches):
                call()
            device.synchronize()
        return found.samples, found.kernels
    except ProfilingError as error:
        if is_needed:
            raise
        click.echo(f"note: nothing is sampled: {error.message}", err=True)
        return Samples(device.name, device.compute_capability, 1 << period, 0.0, os.getpid(), []), []


def _emulated(subject: Subject, input_: str, sizes: dict[str, int], values: dict[str, Any]) -> Profiled:
    """The timeline of a kernel on the emulator, at one point of a sweep: nothing is sampled there."""
    from cutecc.frontend.files import as_given
    from cutecc.frontend.kernel_file import split_path
    from cutecc.harness.arguments import make_arguments
    from cutecc.profiling.results import Profiled
    from cutecc.profiling.samples import Samples

    arguments = make_arguments(subject.specs, subject.workload.outputs, sizes=sizes)
    arguments.randomize(values["seed"])
    timeline, path = emulate_timeline(subject, arguments, values), split_path(input_)[0]
    timeline = replace(timeline, deadlock=[as_given(each, path) for each in timeline.deadlock])
    return Profiled(
        _title(arguments.sizes), Samples(timeline.device, (0, 0), 0, 0.0, os.getpid(), []), [], timeline=timeline
    )


def _title(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sizes.items())


def _profile_program(command: Sequence[str], values: dict[str, Any]) -> int:
    """Run a program and show what its processes sampled; its exit status."""
    from cutecc.cli.main import report
    from cutecc.profiling.folder import kernels_of, read_processes
    from cutecc.profiling.program import environment
    from cutecc.profiling.results import Profiled
    from cutecc.support.forks import TemporaryFolder
    from cutecc.watching.running import check_program, ignoring_option, run
    from cutecc.watching.settings import HOOK

    check_program(command, os.environ)
    if option := ignoring_option(command):
        click.echo(f"cutecc profile: python {option} does not read PYTHONPATH: nothing will be sampled", err=True)
    with TemporaryFolder() as name:
        folder = Path(name)
        status = run(command, environment(folder, HOOK, values["period"] or _PROGRAM_PERIOD, os.environ))
        try:
            processes = read_processes(folder)
            found = [Profiled(f"process {each.pid}", each, kernels_of(folder, each)) for each in processes]
            if not found:
                click.echo("cutecc profile: no process of the program ran a kernel that could be sampled", err=True)
            _tell(found, values, err=True)
        except Error as error:
            # What became of the program is what this command ends with.
            report(error)
    return status


def _tell(found: Sequence[Profiled], values: dict[str, Any], *, err: bool = False) -> None:
    """Show profiles, on standard error where standard output is the program's, and write them."""
    from cutecc.cli import timeline_text
    from cutecc.cli.console import Console
    from cutecc.cli.profile_text import show
    from cutecc.profiling.results import profile_dict
    from cutecc.timelines.writing import write_timeline

    console = Console(stderr=err)
    for number, each in enumerate(found):
        if number:
            console.say("")
        show(each, console, top=values["top"], instructions=values["instructions"])
        if each.timeline is not None:
            file = _numbered(values["timeline"], number)
            write_timeline(each.timeline, file)
            timeline_text.show(each.timeline, file, console)
    if values["json_file"]:
        text = json.dumps([profile_dict(each) for each in found], indent=2) + "\n"
        write_output(values["json_file"], lambda file: file.write(text.encode()))


def _numbered(file: Path, number: int) -> Path:
    """A file for each point of a sweep: `gemm.pftrace`, `gemm-1.pftrace`, …"""
    return file.with_stem(f"{file.stem}-{number}") if number else file
