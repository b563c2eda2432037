"""`cutecc profile`: a thin wrapper over sampling a kernel."""

from __future__ import annotations

import functools
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cutecc.cli.device import open_device
from cutecc.cli.files import check_output, is_record
from cutecc.cli.options import compiler_options, given_compile_options, subject_options
from cutecc.cli.sizes import settle
from cutecc.support.output_file import write_output

if TYPE_CHECKING:
    from cutecc.cli.subject import Subject
    from cutecc.profiling.limits import Limits
    from cutecc.profiling.profile import Profile
    from cutecc.runtime.workspace import Workspace

_EPILOG = """\b
Examples:
  cutecc profile examples/gemm.py --size M=N=K=4096
  cutecc profile gemm.cutecc --size M=N=K=4096 --instructions
"""
_SAMPLED_MICROSECONDS = 100_000.0
"""Of kernel time: some millions of samples, which the hardware's buffer holds."""
_MOST_LAUNCHES = 10_000


@click.command(epilog=_EPILOG)
@subject_options
@click.option("--device", default="cuda:0", show_default=True, help="The GPU to run on.")
@click.option("--period", type=click.IntRange(5, 31), default=11, help="Sample every 2**N cycles; default 11.")
@click.option("--top", type=click.IntRange(1), default=12, show_default=True, help="Lines to show.")
@click.option("--instructions", is_flag=True, help="Show the most sampled instructions of each line.")
@compiler_options
@click.option("--json", "json_file", type=click.Path(path_type=Path), metavar="FILE", help="Write everything here.")
@click.pass_context
def profile(context: click.Context, input_: str, **values: Any) -> None:
    """Sample what the warps of a kernel wait for, and show it by lines of Python.

    Inputs are random, made from the specs as `cutecc run` makes them.
    """
    from cutecc.cli.console import Console
    from cutecc.cli.loading import load_subject
    from cutecc.cli.profile_table import show
    from cutecc.cli.subject import check_input
    from cutecc.compilation.request import CompileOptions
    from cutecc.harness.sizes import parse_sizes
    from cutecc.profiling.results import profile_dict

    check_input(input_)
    points = parse_sizes(values["sizes"])
    options = given_compile_options(context, values)
    if not is_record(input_):
        # Lines, their source, and what tells whose an instruction is.
        options = replace(options or CompileOptions(), report=True)
    check_output(values["json_file"])
    with open_device(values["device"]) as device:
        load = functools.partial(
            load_subject,
            capability=device.compute_capability,
            args=values["args"],
            target=values["target"],
            cache=False if values["no_cache"] else None,
        )
        subject, points = settle(load(input_, entry=values["entry"], options=options), points)
        for sizes in points:
            found, limits, launches = _sample(subject, device, sizes, values)
            show(found, limits, Console(), top=values["top"], instructions=values["instructions"], launches=launches)
            if values["json_file"]:
                text = json.dumps(profile_dict(found, limits), indent=2) + "\n"
                write_output(values["json_file"], lambda file: file.write(text.encode()))


def _sample(
    subject: Subject, device: Workspace, sizes: dict[str, int], values: dict[str, Any]
) -> tuple[Profile, Limits, int]:
    """A kernel timed, then sampled, at one point of a sweep; also how many launches were sampled."""
    from cutecc.benchmarking.running import cache_state, current_stream, measure_rates, prepared, run_point
    from cutecc.harness.arguments import make_arguments
    from cutecc.harness.on_device import DeviceArguments
    from cutecc.profiling.limits import fillings, limits_of
    from cutecc.profiling.profile import Profile

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
        with Profile(period=values["period"]) as found:
            for _ in range(launches):
                call()
            device.synchronize()
        filled = fillings(subject.kernel.compilation, getattr(call, "launches", ()), device.multiprocessors)
    return found, limits_of(measured, filled), launches
