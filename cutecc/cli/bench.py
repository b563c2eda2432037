"""`cutecc bench`: a thin wrapper over timing a kernel and what does the same work."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cutecc.cli.device import open_device
from cutecc.cli.files import check_output
from cutecc.cli.options import compiler_options, given_compile_options, subject_options
from cutecc.cli.sizes import settle
from cutecc.cli.tables import NAMES, NUMBERS, Row, fitting, print_table
from cutecc.errors import UsageError
from cutecc.support.output_file import write_output

if TYPE_CHECKING:
    from rich.table import Table

    from cutecc.benchmarking.results import Benchmark, Measurement, Rates
    from cutecc.cli.console import Console
    from cutecc.cli.subject import Subject
    from cutecc.compilation.request import CompileOptions
    from cutecc.runtime.timing import Call
    from cutecc.runtime.workspace import Workspace

_EPILOG = """\b
Examples:
  cutecc bench examples/elementwise_add.py --size M=N=4096,8192,16384
  cutecc bench examples/gemm.py --size M=N=K=8192 \\
    --against 'torch:torch.matmul(a, b.T, out=c)'
  cutecc bench kernel.py --against other.py --against open --plot times.svg
"""
_COLUMNS: dict[str, Callable[[Measurement, Measurement], str | None]] = {
    "median µs": lambda each, first: f"{each.median:.2f}",
    "ratio": lambda each, first: f"{each.median / first.median:.2f}",
    "p10 to p90": lambda each, first: f"{each.p10:.2f} to {each.p90:.2f}",
    "IQR": lambda each, first: f"{each.iqr / each.median:.1%}",
    "GB/s": lambda each, first: _number(each.gigabytes_per_second),
    "copy %": lambda each, first: _percent(each.percent_of_copy),
    "TFLOP/s": lambda each, first: _number(each.teraflops),
    "matrix %": lambda each, first: _percent(each.percent_of_matrix),
    "method": lambda each, first: f"{each.samples.method}, {each.cache} L2",
}
"""What a measurement says, beside the first one at the same sizes."""
_DISPENSABLE = ("method", "p10 to p90", "copy %", "matrix %", "IQR", "GB/s", "TFLOP/s")
"""Columns that a narrow terminal does without, these first."""


@dataclass(frozen=True)
class _Contestant:
    """What is timed: `bind` makes a call of it for one set of arguments on the device, by name."""

    name: str
    bind: Callable[[Mapping[str, Any]], Call]


@click.command(epilog=_EPILOG)
@subject_options
@click.option(
    "--against", multiple=True, metavar="WHAT", help="Time this too: a file, a pipeline, or torch:EXPRESSION."
)
@click.option("--no-peers", is_flag=True, help="Leave out the peers that the file names.")
@click.option("--cold-l2", is_flag=True, help="Flush the L2 cache before every sample.")
@click.option("--runs", type=click.IntRange(2), help="Samples of each; by default what fills a second, 20 to 200.")
@click.option("--device", default="cuda:0", show_default=True, help="The GPU to run on.")
@compiler_options
@click.option("--json", "json_file", type=click.Path(path_type=Path), metavar="FILE", help="Write everything here.")
@click.option("--plot", type=click.Path(path_type=Path), metavar="FILE.svg", help="Draw time against size.")
@click.pass_context
def bench(context: click.Context, input_: str, **values: Any) -> None:
    """Time a kernel on a GPU, in turn with others that do the same work.

    Inputs are random, made from the specs as `cutecc run` makes them. Results are not compared: `cutecc run` does.
    """
    from cutecc.benchmarking.plot import check_plot
    from cutecc.benchmarking.running import current_stream, describe_run, measure_rates
    from cutecc.cli.console import Console
    from cutecc.cli.loading import loader
    from cutecc.cli.subject import check_input
    from cutecc.harness.sizes import parse_sizes

    check_input(input_)
    points = parse_sizes(values["sizes"])
    options = given_compile_options(context, values)
    check_output(values["json_file"])
    if values["plot"]:
        check_plot(values["plot"])
        check_output(values["plot"])
    with open_device(values["device"]) as device:
        load = loader(values, device.compute_capability)
        subject, points = settle(load(input_, entry=values["entry"], options=options), points)
        notes: list[str] = []
        contestants = [_kernel_contestant(subject, device, subject.name)]
        for text in values["against"]:
            contestants.append(_against(text, input_, values["entry"], device, options, load, contestants))
        contestants += [] if values["no_peers"] else _peers(subject, device, notes)
        names = [each.name for each in contestants]
        if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
            raise UsageError(f"several are called {', '.join(twice)}: their times could not be told apart")
        with current_stream(device):
            rates = measure_rates(device, matrix=subject.workload.flops is not None)
            measurements: list[Measurement] = []
            for sizes in points:
                measurements += _point(subject, contestants, device, rates, sizes, values, notes)
        result = describe_run(device, rates, measurements, list(dict.fromkeys(notes)))
    console = Console()
    show(result, console)
    if values["json_file"]:
        text = json.dumps(result.to_dict(), indent=2) + "\n"
        write_output(values["json_file"], lambda file: file.write(text.encode()))
    if values["plot"]:
        result.plot(values["plot"])


def _point(
    subject: Subject,
    contestants: Sequence[_Contestant],
    device: Workspace,
    rates: Rates,
    sizes: dict[str, int],
    values: dict[str, Any],
    notes: list[str],
) -> list[Measurement]:
    """Everything timed at one point of the sweep, on memory that is freed afterwards."""
    from cutecc.benchmarking.running import cache_state, run_point, sets_needed
    from cutecc.harness.arguments import make_arguments
    from cutecc.harness.on_device import DeviceArguments

    arguments = make_arguments(subject.specs, subject.workload.outputs, sizes=sizes, exact_alignment=False)
    arguments.randomize(values["seed"])
    with device.scope():
        first = DeviceArguments(arguments, device)
        first.upload()
        count = 1 if values["cold_l2"] else sets_needed(arguments.bytes, device.l2_bytes)
        count = max(1, min(count, 1 + device.free_bytes // 2 // max(1, arguments.bytes)))
        sets = [first, *(DeviceArguments(arguments, device) for _ in range(count - 1))]
        for other in sets[1:]:
            other.copy_from(first)
        cache = cache_state(values["cold_l2"], count, count * arguments.bytes, device.l2_bytes)
        calls: dict[str, list[Call]] = {}
        for contestant in contestants:
            try:
                calls[contestant.name] = [contestant.bind(each.by_name) for each in sets]
            except _LeftOut as reason:
                notes.append(f"left out {contestant.name}: {reason}")
        return run_point(
            calls,
            device,
            rates,
            cache,
            sizes=arguments.sizes,
            runs=values["runs"],
            bytes=subject.bytes_moved(arguments.sizes),
            flops=subject.operations(arguments.sizes),
        )


class _LeftOut(Exception):
    """Why a peer cannot take part."""


def _kernel_contestant(subject: Subject, device: Workspace, name: str, *, positional: bool = False) -> _Contestant:
    from cutecc.benchmarking.running import prepared

    def bind(arguments: Mapping[str, Any]) -> Call:
        if positional:
            return prepared(subject.kernel, device, *arguments.values())
        return prepared(subject.kernel, device, **arguments)

    return _Contestant(name, bind)


def _against(
    text: str,
    input_: str,
    entry: str | None,
    device: Workspace,
    options: CompileOptions | None,
    load: Callable[..., Subject],
    others: Sequence[_Contestant],
) -> _Contestant:
    from cutecc.cli.files import is_record
    from cutecc.frontend.kernel_file import split_path

    if text.startswith("torch:"):
        return _torch_expression(text.removeprefix("torch:"), device)
    if is_record(text):
        subject = load(text, args=(), target=None)
    elif split_path(text)[0].endswith(".py"):
        subject = load(text, options=options)
    elif is_record(input_):
        raise UsageError(f"--against {text}: a bundle cannot be compiled with another pipeline")
    else:
        from cutecc.compilation.request import CompileOptions

        subject = load(input_, entry=entry, options=replace(options or CompileOptions(), pipeline=text))
        return _kernel_contestant(subject, device, f"{subject.name} ({text})")
    taken = {each.name for each in others}
    name = subject.name if subject.name not in taken else text
    return _kernel_contestant(subject, device, name, positional=True)


def _torch_expression(text: str, device: Workspace) -> _Contestant:
    torch = _torch()
    if torch is None:
        raise UsageError(f"--against torch:{text}: torch with CUDA is not installed here")
    try:
        code = compile(text.strip(), "<--against>", "eval")
    except SyntaxError as failure:
        raise UsageError(f"--against torch:{text}: {failure.msg}") from None

    def bind(arguments: Mapping[str, Any]) -> Call:
        names = {"torch": torch, **_as_torch(arguments, torch)}
        call: Call = functools.partial(eval, code, names)
        try:
            call()
        except Exception as failure:
            raise UsageError(f"--against torch:{text}: {type(failure).__name__}: {failure}") from None
        return call

    return _Contestant(f"torch:{text}", bind)


def _peers(subject: Subject, device: Workspace, notes: list[str]) -> list[_Contestant]:
    if not subject.peers:
        return []
    torch = _torch()
    if torch is None:
        names = ", ".join(each.name for each in subject.peers)
        notes.append(f"left out {names}: torch with CUDA is not installed here")
        return []
    from cutecc.frontend.companions import find_function
    from cutecc.harness.reference import bind_by_name

    def contestant(path: str, name: str) -> _Contestant:
        function = find_function(path, name)
        return _Contestant(name, lambda arguments: bind_by_name(function, _as_torch(arguments, torch), name))

    return [contestant(each.path, each.name) for each in subject.peers]


def _torch() -> Any:
    from cutecc.benchmarking.running import import_torch

    return import_torch()


def _as_torch(arguments: Mapping[str, Any], torch: Any) -> dict[str, Any]:
    from cutecc.harness.on_device import DeviceArray

    def convert(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(convert(item) for item in value)  # pyright: ignore[reportUnknownVariableType]
        if not isinstance(value, DeviceArray):
            return value
        tensor = value.to_torch(torch)
        if tensor is None:
            raise _LeftOut(f"torch has no tensors of {value.dtype}")
        return tensor

    return {name: convert(value) for name, value in arguments.items()}


def show(result: Benchmark, console: Console) -> None:
    """Print a benchmark: the device and its rates, the table, the notes."""
    rates = [f"copies at {result.rates.copy:,.0f} GB/s"]
    if result.rates.matrix is not None:
        rates.append(f"multiplies f16 matrices at {result.rates.matrix:,.0f} TFLOP/s")
    console.print(f"{result.device} {' and '.join(rates)}", highlight=False)
    print_table(measurement_table(result.measurements, console), console)
    for note in result.notes:
        console.say(f"note: {note}")


def _sizes_text(sizes: Mapping[str, int]) -> str:
    """`M=N=4096 K=64`: names of one value together."""
    names: dict[int, list[str]] = {}
    for name, value in sizes.items():
        names.setdefault(value, []).append(name)
    return " ".join("=".join([*same, str(value)]) for value, same in names.items())


def measurement_table(measurements: Sequence[Measurement], console: Console) -> Table:
    """A row for each measurement, a section for each point of the sweep."""
    shown = {heading: cell for heading, cell in _COLUMNS.items() if any(cell(each, each) for each in measurements)}
    rows: list[Row] = []
    for sizes, group in groupby(measurements, lambda each: each.sizes):
        same = list(group)
        rows += [_sizes_text(sizes)] if sizes else []
        rows += [
            {"": each.name, **{heading: cell(each, same[0]) or "" for heading, cell in shown.items()}} for each in same
        ]
    return fitting({"": NAMES, **dict.fromkeys(shown, NUMBERS)}, rows, _DISPENSABLE, console)


def _number(value: float | None) -> str | None:
    if value is None:
        return None
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _percent(value: float | None) -> str | None:
    return None if value is None else f"{value:.1f}"
