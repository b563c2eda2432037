"""`cutecc run`: a thin wrapper over the trial of one kernel."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cutecc.cli.emulation import (
    announce,
    check_arguments,
    emulate,
    emulator_options,
    prepare_untrusted,
    read_limits,
    read_options,
)
from cutecc.cli.failures import failures_as_json
from cutecc.cli.files import check_output, read_arrays, save_arrays
from cutecc.cli.main import EXIT_FAILED, EXIT_UNCHECKED, report
from cutecc.cli.option_texts import split_names
from cutecc.cli.options import compiler_options, given_compile_options, subject_options
from cutecc.cli.ptx import LaunchOptions, launch_options
from cutecc.cli.sizes import at_sizes, settle
from cutecc.cli.streams import output_to_stderr
from cutecc.cli.verdict import Trial, Verdict, show
from cutecc.errors import DeadlockError, Error, FaultError, TraceError, UsageError
from cutecc.support.isolation import ProcessDied, Worker

if TYPE_CHECKING:
    from cutecc.cli.subject import Function, Subject
    from cutecc.emulator.device import Emulation
    from cutecc.emulator.options import EmulatorOptions
    from cutecc.harness.arguments import Arguments
    from cutecc.harness.bar import Bar
    from cutecc.harness.on_device import DeviceArguments, HostMemory
    from cutecc.runtime.workspace import Workspace

_EPILOG = """\b
Examples:
  cutecc run examples/elementwise_add.py
  cutecc run examples/gemm.py --size M=4096,N=4096,K=64 --seed 7
  cutecc run examples/elementwise_add.py --size M=1,33,64,N=128
  cutecc run gemm.cutecc --reference check.py:expected --save outputs.npz
  cutecc run examples/hopper_gemm.py --device cpu --size M=256,N=128,K=128 --counters
  cutecc run examples/softmax.py --device cpu --counters --keep softmax
  cutecc run kernel.ptx --grid 4 --block 128 --arg x='f32[512]' --arg n=i32=512

Running a .py file runs it. A bundle needs neither the DSL nor MLIR. Several sizes run in turn. PTX, anybody's, has
to be told its launch, and a spec for each parameter in order.
"""


@click.command(epilog=_EPILOG)
@subject_options
@launch_options
@click.option("--device", metavar="NAME", help="cuda:0, or cpu, the emulator; by default cuda:0 where there is a GPU.")
@emulator_options
@click.option("--counters", is_flag=True, help="On the emulator, count instructions, sectors, bank conflicts, …")
@click.option(
    "--keep",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="With --counters: put them into the record in DIR, for cutecc report.",
)
@click.option("--runs", type=click.IntRange(1), default=1, show_default=True, help="Launches, each with its own seed.")
@click.option("--reference", metavar="FILE.py:NAME", help="Compare with this function instead of the file's own.")
@click.option("--outputs", metavar="NAME,…", help="The parameters that the kernel writes, instead of the file's.")
@click.option("--tolerance", type=float, metavar="ERROR", help="The relative error that passes, instead of the file's.")
@click.option("--inputs", type=click.Path(path_type=Path), metavar="FILE.npz", help="Take arguments from here.")
@click.option("--save", type=click.Path(path_type=Path), metavar="FILE.npz", help="Write the outputs of the last run.")
@compiler_options
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Print what is wrong only.")
@click.pass_context
def run(context: click.Context, input_: str, **values: Any) -> None:
    """Launch a kernel with inputs made from its specs, and compare what it writes with its reference.

    Outputs are poisoned before the launch. Ends with status 1 when an output is wrong, and with 2 when one could not be
    checked: it has no element, though --size does not say so.

    On the emulator, a kernel that would take more than its limits allow ends with status 3.
    """
    with failures_as_json(values["as_json"]), output_to_stderr(values["as_json"]):
        verdict = _verdict(context, input_, values)
    if values["as_json"]:
        click.echo(json.dumps(verdict.to_dict(), indent=2))
    else:
        show(verdict, context, quiet=values["quiet"])
    try:
        _write(input_, verdict, values)
    except Error as error:
        if verdict.ok is not False:
            raise
        report(error)
    if verdict.ok is False:
        context.exit(EXIT_FAILED)
    if verdict.unchecked:
        context.exit(EXIT_UNCHECKED)


def _write(input_: str, verdict: Verdict, values: dict[str, Any]) -> None:
    """Write the files that the user names. Raises `Error`: comes behind the verdict, which no full disk takes away."""
    from cutecc.cli.keeping import keep

    if values["keep"]:
        keep(input_, verdict.subject.kernel.compilation, verdict.trials[-1], values["keep"])
    if values["save"]:
        save_arrays(values["save"], verdict.outputs)


def _verdict(context: click.Context, input_: str, values: dict[str, Any]) -> Verdict:
    """What came of all launches. Raises `Error`."""
    prepare_untrusted(input_, values)
    from cutecc.cli.device import NO_GPU, find_cpu, open_device
    from cutecc.cli.keeping import check_keeping
    from cutecc.cli.loading import load_subject
    from cutecc.cli.subject import check_input
    from cutecc.frontend.kernel_file import split_path
    from cutecc.harness.arguments import check_memory
    from cutecc.harness.sizes import parse_sizes

    check_input(input_)
    points = parse_sizes(values["sizes"])
    options = given_compile_options(context, values)
    named = _function(values["reference"])
    given = read_arrays(values["inputs"]) if values["inputs"] else {}
    check_output(values["save"])
    check_keeping(input_, values)
    on_cpu = find_cpu("cpu" if values["untrusted"] and values["device"] is None else values["device"])
    emulator = read_options(values, counters=values["counters"])
    if on_cpu is None:
        _refuse_on_gpu(values)
    with on_cpu or open_device("cuda:0" if values["device"] is None else values["device"]) as device:
        subject = load_subject(
            input_,
            device.compute_capability,
            args=values["args"],
            entry=values["entry"],
            target=values["target"],
            options=options,
            cache=False if values["no_cache"] else None,
            output=values["keep"],
            untrusted=values["untrusted"],
            limits=read_limits(values),
            launch=LaunchOptions.read(values),
        )
        subject, points = settle(subject, points, given, quiet=values["quiet"])
        reference, path = named or subject.reference, split_path(input_)[0]
        if reference is None:
            _refuse_bounds(values)
        bar = None if reference is None else _bar(path, subject, named, values)
        if bar is not None:
            subject = replace(subject, workload=bar.workload)
        compared = bar is not None and bool(bar.workload.outputs or subject.record)
        needed = [check_memory(subject.specs, each, on_cpu=bool(on_cpu), compared=compared) for each in points]
        check_arguments(needed, values)
        if on_cpu and not any(values[each] for each in ("device", "quiet", "untrusted")):
            click.echo(NO_GPU, err=values["as_json"])
        # The file is a program, and may bring the DSL along: it runs in a process of its own.
        with contextlib.closing(Worker()) if compared else contextlib.nullcontext() as worker:
            trier = _Trier(subject, device, reference, worker, given, emulator, input_, values)
            trials = _trials(context, trier, points, needed)
        sources = {} if bar is None else {**bar.sources, "arguments": path}
        return Verdict(subject, device.name, reference, trials, sources, trier.outputs)


def _trials(
    context: click.Context, trier: _Trier, points: Sequence[dict[str, int]], needed: Sequence[int]
) -> list[Trial]:
    """The trials at each point of the sweep, whose arguments need so many bytes."""
    trials: list[Trial] = []
    for point, size in zip(points, needed, strict=True):
        announce(f"making {size / 1e9:.1f} GB of arguments", size)
        with at_sizes(point, is_sweep=len(points) > 1), _hint_at_sanitize(context):
            trials += trier.trials(point)
    return trials


def _bar(path: str, subject: Subject, named: Function | None, values: dict[str, Any]) -> Bar:
    """What the kernel has to get over: the command line says it, or its own file at `path`, or that of its reference.

    A record is not asked: whoever made it would judge themselves.
    """
    from cutecc.frontend.header import read_header
    from cutecc.harness.bar import choose_bar
    from cutecc.record import Workload

    outputs = [*split_names((values["outputs"] or "",))]
    said = [("the command line", Workload(outputs, values["tolerance"]))]
    if subject.record is None:
        said.append((path, subject.workload))
    if named is not None:
        said.append((named.path, read_header(named.path).workload or Workload()))
    bar = choose_bar(said)
    if values["blocks"] and subject.record and not bar.workload.outputs:
        raise UsageError(
            "of a sample of blocks nobody knows what it has to write, unless the outputs are named",
            hints=[_NAME_OUTPUTS],
        )
    return bar


def _refuse_bounds(values: dict[str, Any]) -> None:
    for name in ("outputs", "tolerance"):
        if values[name] is not None:
            raise UsageError(
                f"--{name} is of a comparison, and there is no reference",
                hints=["name one with --reference FILE.py:NAME, or leave it out"],
            )


@contextlib.contextmanager
def _hint_at_sanitize(context: click.Context) -> Generator[None]:
    """Has what a kernel does wrong on the emulator name the command that tells more of it."""
    try:
        yield
    except (FaultError, DeadlockError) as error:
        from cutecc.cli.sanitize import sanitize_command

        error.hints.append(f"{sanitize_command(context)} looks for all that is wrong, and for races")
        raise


def _refuse_on_gpu(values: dict[str, Any]) -> None:
    names = ("schedule", "blocks", "shared", "processes", "limits", "counters", "keep", "untrusted")
    for name in names:
        if values[name] not in (None, False, ()):
            option = "limit" if name == "limits" else name
            raise UsageError(f"--{option} is for the CPU emulator", hints=["run there with --device cpu"])


@dataclass(frozen=True)
class _Trier:
    """Launches a kernel and compares."""

    subject: Subject
    device: Workspace | HostMemory
    reference: Function | None
    worker: Worker | None
    """Where the reference runs; `None` when nothing is compared."""
    given: dict[str, Any]
    """Tensors of the user's, by name."""
    emulator: EmulatorOptions
    source: str
    values: dict[str, Any]
    """The options of the command line."""
    outputs: dict[str, Any] = field(default_factory=dict[str, Any])
    """What the last launch wrote, when that is to be saved."""

    def trials(self, sizes: dict[str, int]) -> list[Trial]:
        """A launch with each seed; `sizes` are the user's."""
        from cutecc.harness.arguments import make_arguments
        from cutecc.harness.comparison import bounds_of
        from cutecc.harness.on_device import DeviceArguments
        from cutecc.harness.sizes import emptied_by

        values, found = self.values, list[Trial]()
        workload = self.subject.workload
        with self.device.scope():
            # Where something is counted, tensors lie as allocators of a GPU place them.
            arguments = make_arguments(
                self.subject.specs,
                workload.outputs,
                sizes=sizes,
                exact_alignment=not values["counters"],
            )
            for tensor in arguments.compared if self.worker else ():
                bounds_of(tensor.elements, workload)  # refused before there is a run, not after
            on_device = DeviceArguments(arguments, self.device)
            for seed in range(values["seed"], values["seed"] + values["runs"]):
                trial = self._trial(arguments, on_device, seed)
                empty = {each.name for each in trial.comparisons if each.ok is None}
                unchecked = sorted(empty - emptied_by(sizes, self.subject.specs))
                found.append(replace(trial, unchecked=unchecked))
        if values["save"]:
            self.outputs.update({tensor.name: tensor.values for tensor in arguments.compared})
        return found

    def _trial(self, arguments: Arguments, on_device: DeviceArguments, seed: int) -> Trial:
        from cutecc.harness.on_device import compare_outputs

        arguments.randomize(seed)
        arguments.assign(self.given)
        expected = self._expected(self.worker, arguments) if self.worker else None
        on_device.upload()
        emulation = self._launch(on_device, seed)
        announce("reading what the kernel wrote", arguments.bytes)
        stray = on_device.download()
        sampled = emulation is not None and emulation.blocks < emulation.total_blocks
        workload = self.subject.workload
        compared = [] if expected is None else compare_outputs(arguments, expected, workload, stray, sampled=sampled)
        return Trial(arguments.sizes, seed, compared, emulation)

    def _launch(self, on_device: DeviceArguments, seed: int) -> Emulation | None:
        from cutecc.runtime.workspace import Workspace

        kernel = self.subject.kernel
        if isinstance(self.device, Workspace):
            kernel(**on_device.by_name, stream=self.device.stream)
            self.device.synchronize()
            return None
        options = replace(self.emulator, seed=seed)
        to_stderr = self.values["as_json"]
        return emulate(kernel, on_device.by_name, options, source=self.source, text_to_stderr=to_stderr)

    def _expected(self, worker: Worker, arguments: Arguments) -> list[Any]:
        reference = self.reference
        assert reference is not None
        announce(f"computing {reference.name}", arguments.bytes)
        names = [tensor.name for tensor in arguments.compared]
        function = "cutecc.frontend.companions:call_reference"
        try:
            return worker.call(function, reference.path, reference.name, arguments.values(), names)
        except UsageError as error:
            if not arguments.outputs:
                error.hints.append(_NAME_OUTPUTS)
            raise
        except ProcessDied as death:
            raise TraceError(f"the reference {reference} aborted: {death.message}", notes=death.notes) from None


_NAME_OUTPUTS = 'name what the kernel writes: --outputs c, or in the file of the reference # cutecc: outputs = ["c"]'


def _function(text: str | None) -> Function | None:
    from cutecc.cli.subject import Function
    from cutecc.frontend.files import check_file
    from cutecc.frontend.kernel_file import split_path

    if text is None:
        return None
    path, name = split_path(text)
    if name is None:
        raise UsageError(f"--reference takes FILE.py:NAME, not '{text}'")
    check_file(path)
    return Function(path, name)
