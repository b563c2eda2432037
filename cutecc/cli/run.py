"""`cutecc run`: a thin wrapper over the trial of one kernel."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cutecc.cli.device import NO_GPU, find_cpu, open_device
from cutecc.cli.emulation import emulate, emulation_dict, emulator_options, read_options, show_emulation
from cutecc.cli.files import check_output
from cutecc.cli.options import edit_options, edits, load_option, make_wheel_options, wheel_options
from cutecc.errors import TraceError, UsageError
from cutecc.isolation import ProcessDied, Worker

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.table import Table

    from cutecc.cli.subject import Function, Subject
    from cutecc.emulator.device import Emulation
    from cutecc.emulator.options import EmulatorOptions
    from cutecc.kernel import Kernel
    from cutecc.request import CompileOptions
    from cutecc.runtime.workspace import Workspace
    from cutecc.trial.arguments import Arguments
    from cutecc.trial.comparison import Comparison
    from cutecc.trial.on_device import HostMemory

_EPILOG = """\b
Examples:
  cutecc run examples/elementwise_add.py
  cutecc run examples/gemm.py --size M=4096,N=4096,K=64 --seed 7
  cutecc run gemm.cutecc --reference check.py:expected --save outputs.npz
  cutecc run examples/hopper_gemm.py --device cpu --size M=256,N=128,K=128 --counters

Running a .py file runs it. A bundle needs neither the DSL nor MLIR.
"""


@dataclass(frozen=True)
class _Run:
    """One launch and what came of it."""

    seed: int
    comparisons: list[Comparison]
    emulation: Emulation | None = None
    """What the CPU emulator says of it."""


@click.command(epilog=_EPILOG)
@click.argument("input_", metavar="FILE.py[:FUNCTION]|FILE.cutecc")
@click.option("--arg", "args", multiple=True, metavar="NAME=SPEC", help="An argument spec: alpha='f32=0.5'.")
@click.option("--entry", metavar="EXPR", help="What to compile, in the file's namespace: 'Gemm(tile=(128, 128))'.")
@click.option("--size", "sizes", multiple=True, metavar="NAME=N,…", help="Values of named sizes: M=100,N=7.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of random inputs and schedules.")
@click.option("--target", metavar="NAME", help="The target to compile for; by default the file's, or the GPU's.")
@click.option("--device", metavar="NAME", help="cuda:0, or cpu, the emulator; by default cuda:0 where there is a GPU.")
@emulator_options
@click.option("--runs", type=click.IntRange(1), default=1, show_default=True, help="Launches, each with its own seed.")
@click.option("--reference", metavar="FILE.py:NAME", help="Compare with this function instead of the file's own.")
@click.option("--inputs", type=click.Path(path_type=Path), metavar="FILE.npz", help="Take arguments from here.")
@click.option("--save", type=click.Path(path_type=Path), metavar="FILE.npz", help="Write the outputs of the last run.")
@edit_options
@load_option
@wheel_options
@click.option("--no-cache", is_flag=True, help="Compile anew, and keep nothing in the cache.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Print what is wrong only.")
@click.pass_context
def run(context: click.Context, input_: str, **values: Any) -> None:
    """Launch a kernel with inputs made from its specs, and compare what it writes with its reference.

    Outputs are poisoned before the launch. Ends with status 1 when an output is wrong.
    """
    from cutecc.cli.subject import check_input, load_subject
    from cutecc.trial.arguments import make_arguments
    from cutecc.trial.sizes import parse_sizes

    check_input(input_)
    points = parse_sizes(values["sizes"])
    if len(points) > 1:
        raise UsageError("a run has one value for each size", hints=["cutecc bench sweeps"])
    options = compile_options(values)
    named = _function(values["reference"]) if values["reference"] else None
    given = read_arrays(values["inputs"]) if values["inputs"] else {}
    check_output(values["save"])
    on_cpu = find_cpu(values["device"])
    emulator = read_options(values)
    if on_cpu is None:
        _refuse_on_gpu(values)
    with on_cpu or open_device(values["device"] or "cuda:0") as device:
        subject = load_subject(
            input_,
            device.compute_capability,
            args=values["args"],
            entry=values["entry"],
            target=values["target"],
            options=options,
            cache=False if values["no_cache"] else None,
        )
        reference = named or subject.reference
        # Where something is counted, tensors lie as allocators of a GPU place them.
        arguments = make_arguments(
            subject.specs, subject.workload.outputs, sizes=points[0], exact_alignment=not values["counters"]
        )
        if on_cpu and values["device"] is None and not values["quiet"]:
            click.echo(NO_GPU, err=values["as_json"])
        seeds = range(values["seed"], values["seed"] + values["runs"])
        on_emulator = functools.partial(emulate, source=input_, text_to_stderr=values["as_json"])
        runs = _try(subject, arguments, device, reference, given, seeds, emulator, on_emulator)
        if values["save"]:
            _save_arrays(values["save"], {tensor.name: tensor.values for tensor in arguments.outputs})
        if values["as_json"]:
            click.echo(json.dumps(_as_dict(subject, arguments, device, reference, runs), indent=2))
        else:
            _show(subject, arguments, device, reference, runs, quiet=values["quiet"])
    if not all(comparison.ok for each in runs for comparison in each.comparisons):
        context.exit(1)


def _refuse_on_gpu(values: dict[str, Any]) -> None:
    for name in ("schedule", "blocks", "processes", "counters"):
        if values[name]:
            raise UsageError(f"--{name} is for the CPU emulator", hints=["run there with --device cpu"])


def compile_options(values: dict[str, Any]) -> CompileOptions:
    """How to compile, from the options that `run` and `bench` share with `compile`."""
    from cutecc.request import CompileOptions

    return CompileOptions(
        pipeline=values["pipeline"] or "nvidia",
        edits=edits(values["insert_after"], values["insert_before"], values["replace"], values["without"]),
        wheel=make_wheel_options(values),
    )


def _try(
    subject: Subject,
    arguments: Arguments,
    device: Workspace | HostMemory,
    reference: Function | None,
    given: dict[str, Any],
    seeds: range,
    emulator: EmulatorOptions,
    on_emulator: Callable[[Kernel, dict[str, Any], EmulatorOptions], Emulation],
) -> list[_Run]:
    from cutecc.trial.on_device import DeviceArguments, HostMemory, compare_outputs

    on_device = DeviceArguments(arguments, device)
    names = [tensor.name for tensor in arguments.outputs]
    runs: list[_Run] = []
    # The file is a program, and may bring the DSL along: it runs in a process of its own.
    worker = Worker() if reference and names else None
    try:
        for current in seeds:
            arguments.randomize(current)
            arguments.assign(given)
            expected = None
            if worker and reference:
                path, name = reference.path, reference.name
                try:
                    expected = worker.call(
                        "cutecc.frontend.companions:call_reference", path, name, arguments.values(), names
                    )
                except ProcessDied as death:
                    raise TraceError(f"the reference {reference} aborted: {death.message}", notes=death.notes) from None
            on_device.upload()
            emulation = None
            if isinstance(device, HostMemory):
                emulation = on_emulator(subject.kernel, on_device.by_name, replace(emulator, seed=current))
            else:
                subject.kernel(**on_device.by_name, stream=device.stream)
                device.synchronize()
            stray = on_device.download()
            sampled = emulation is not None and emulation.blocks < emulation.total_blocks
            compared = (
                []
                if expected is None
                else compare_outputs(arguments, expected, subject.workload.tolerance, stray, sampled=sampled)
            )
            runs.append(_Run(current, compared, emulation))
    finally:
        if worker:
            worker.close()
    return runs


def _function(text: str) -> Function:
    from cutecc.cli.subject import Function
    from cutecc.frontend.kernel_file import split_path

    path, name = split_path(text)
    if name is None:
        raise UsageError(f"--reference takes FILE.py:NAME, not '{text}'")
    if not Path(path).is_file():
        raise UsageError(f"--reference {text}: there is no file {path}")
    return Function(path, name)


def read_arrays(path: Path) -> dict[str, Any]:
    import zipfile

    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except OSError as failure:
        raise UsageError(f"cannot read {path}: {failure.strerror or failure}") from None
    except (ValueError, AttributeError, zipfile.BadZipFile):
        raise UsageError(f"{path} is no .npz file of numbers", hints=["numpy.savez(FILE, x=…) writes one"]) from None


def _save_arrays(path: Path, arrays: dict[str, Any]) -> None:
    import numpy as np

    try:
        # A file and not a path, so that the name stays as it was given.
        with path.open("wb") as file:
            np.savez(file, **arrays)
    except OSError as failure:
        raise UsageError(f"cannot write {path}: {failure.strerror}") from None


def _as_dict(
    subject: Subject, arguments: Arguments, device: Workspace | HostMemory, reference: Function | None, runs: list[_Run]
) -> dict[str, Any]:
    return {
        "kernel": subject.name,
        "target": subject.target,
        "device": device.name,
        "sizes": arguments.sizes,
        "reference": str(reference) if reference else None,
        "ok": all(comparison.ok for each in runs for comparison in each.comparisons) if runs[0].comparisons else None,
        "runs": [
            {
                "seed": each.seed,
                "outputs": [_comparison_dict(comparison) for comparison in each.comparisons],
                **({} if each.emulation is None else {"emulator": emulation_dict(each.emulation)}),
            }
            for each in runs
        ],
    }


def _comparison_dict(comparison: Comparison) -> dict[str, Any]:
    import math
    from dataclasses import asdict

    found: dict[str, Any] = {**asdict(comparison), "ok": comparison.ok, "problems": comparison.problems()}
    # JSON has no infinity.
    for key in ("max_absolute_error", "max_relative_error"):
        found[key] = found[key] if math.isfinite(found[key]) else None
    if comparison.first:
        for key in ("value", "expected"):
            value = found["first"][key]
            found["first"][key] = value if math.isfinite(value) else str(value)
    return found


def _show(
    subject: Subject,
    arguments: Arguments,
    device: Workspace | HostMemory,
    reference: Function | None,
    runs: list[_Run],
    *,
    quiet: bool,
) -> None:
    from rich.console import Console

    console = Console()
    if not quiet:
        sizes = ", ".join(f"{name}={value}" for name, value in arguments.sizes.items())
        seeds = f"seed {runs[0].seed}" if len(runs) == 1 else f"seeds {runs[0].seed} to {runs[-1].seed}"
        head = f"{subject.name} for {subject.target} on {device.name}: {f'{sizes}; ' if sizes else ''}{seeds}"
        console.print(head, highlight=False, markup=False)
        if reference and arguments.outputs:
            console.print(comparison_table([each.comparisons for each in runs]))
        else:
            why = "it has no reference (--reference FILE.py:NAME)" if reference is None else "the file names no outputs"
            console.print(f"ran; nothing was compared: {why}", highlight=False, markup=False)
        if emulation := runs[-1].emulation:
            show_emulation(emulation, console)
    for each in runs:
        for comparison in each.comparisons:
            for problem in comparison.problems():
                place = f"seed {each.seed}: " if len(runs) > 1 else ""
                console.print(f"{place}{problem}", highlight=False, markup=False, style="red", soft_wrap=True)


def comparison_table(runs: list[list[Comparison]]) -> Table:
    """A row for each output, with the worst of all runs."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("output", overflow="fold")
    table.add_column("type", no_wrap=True)
    table.add_column("shape", overflow="fold")
    for heading in ("abs error", "rel error", "tolerance", "differ"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for outputs in zip(*runs, strict=True):
        first = outputs[0]
        ok = all(output.ok for output in outputs)
        table.add_row(
            first.name,
            first.dtype,
            "×".join(map(str, first.shape)) or "1",
            f"{max(output.max_absolute_error for output in outputs):.3g}",
            f"{max(output.max_relative_error for output in outputs):.3g}",
            f"{first.tolerance:g}",
            str(max(output.wrong for output in outputs)),
            Text("ok", style="green") if ok else Text("WRONG", style="bold red"),
        )
    return table
