"""Two records side by side, run on the same inputs too."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from cutecc.arguments.specs import Spec
from cutecc.errors import LaunchError, UsageError
from cutecc.harness.arguments import make_arguments, specs_of
from cutecc.harness.bar import choose_bar
from cutecc.harness.choosing import Chosen, choose_values, valued_signature
from cutecc.harness.comparison import bounds_of
from cutecc.harness.points import SMALL_BYTES, ragged_points
from cutecc.kernel import Kernel
from cutecc.record import Compilation, Signature, Workload
from cutecc.report.pair import OutputPair, Pair, Results, RunPair, Times, pair_of
from cutecc.report.writing import Compiled
from cutecc.runtime.workspace import Workspace
from cutecc.workbench.host_memory import Needs, check_memory
from cutecc.workbench.plan import Point, inputs_checksum
from cutecc.workbench.running import Device, Run, Settings, median_times, run_point

_A, _B = "A", "B"


@dataclass(frozen=True)
class Trial:
    """How to run both."""

    device: Device
    """A `Workspace` of a GPU, or `HostMemory()` for the emulator."""
    sizes: Sequence[dict[str, int]] = ()
    """By name, for one run after the other; without, the kernel's own, the smallest and ragged ones."""
    seed: int = 0
    """Of the inputs."""
    values: Mapping[str, Spec] | None = None
    """Specs with values for parameters whose own have none."""
    settings: Settings = field(default_factory=Settings)
    tolerance: float | None = None
    """The relative error that the results may be apart, whatever the first record says."""


def compare(
    a: Compiled | Compilation,
    b: Compiled | Compilation,
    *,
    names: tuple[str, str] = ("A", "B"),
    trial: Trial | None = None,
) -> Pair:
    """Set two kernels or records side by side: what they are, passes, code, resources, instructions.

    With `trial` both run on the same inputs, and every tensor that the second leaves is compared with the first one's;
    on a GPU they are timed, in turn. `names` are what the result calls them. Needs neither the DSL nor MLIR.

    Raises `RecordError` for a damaged record; for a trial `UsageError` for kernels that take other arguments or cannot
    be launched, and `LaunchError` for a fault on a GPU.
    """
    ours, theirs = (each if isinstance(each, Compilation) else each.compilation for each in (a, b))
    pair = pair_of(ours, theirs, names)
    return pair if trial is None else msgspec.structs.replace(pair, results=_results(ours, theirs, names, trial))


@dataclass(frozen=True)
class Runnable:
    """Records of one kernel, ready to run on the same inputs."""

    kernels: dict[str, Kernel]
    """By what runs are to call them. The first one's workload has the bar for all."""
    points: list[Point]
    chosen: str | None
    """What nobody has given of the values that they run with, in words."""
    tolerance_from: str
    """Who says how far results may be apart: `as given`, what the first record is called, or `by type`."""


def runnable(records: Mapping[str, Compilation], trial: Trial, *, names: Sequence[str] = ()) -> Runnable:
    """Make inputs that fit all of the `records`; errors call them by `names`, or as `records` does.

    Raises `UsageError` for kernels that take other arguments or cannot be launched.
    """
    names = names or [*records]
    valued = [_valued(record, name, trial) for record, name in zip(records.values(), names, strict=True)]
    (first, chosen), *_ = valued
    said = first.workload or Workload()
    norm = next(iter(records))
    bar = choose_bar([("as given", Workload(tolerance=trial.tolerance)), (norm, said)])
    first.workload = msgspec.structs.replace(said, tolerance=bar.workload.tolerance, ulp=bar.workload.ulp)
    kernels = {name: Kernel(record) for name, (record, _) in zip(records, valued, strict=True)}
    specs = specs_of(_signature(kernels[norm].compilation, names[0]))
    for kernel, name in zip(kernels.values(), names, strict=True):
        if specs_of(_signature(kernel.compilation, name)) != specs:
            raise UsageError(f"{names[0]} and {name} take other arguments: there are no inputs for both")
    on_cpu = trial.device.kind == "cpu"
    points: list[Point] = []
    for sizes in trial.sizes or ragged_points(specs, SMALL_BYTES if on_cpu else None):
        check_memory(first.name, specs, sizes, (), Needs(variants=len(records), on_cpu=on_cpu))
        arguments = make_arguments(specs, (), sizes=sizes)
        for tensor in arguments.compared:
            bounds_of(tensor.elements, bar.workload)  # refused before there is a run, not after
        arguments.randomize(trial.seed)
        points.append(Point(arguments.sizes, trial.seed, inputs_checksum(arguments)))
    return Runnable(kernels, points, chosen.text, bar.sources["tolerance"])


def run_all(subject: Runnable, trial: Trial) -> Generator[list[Run]]:
    """The runs of all records at each point, in turn. Raises `LaunchError` for a fault on a GPU."""
    for point in subject.points:
        try:
            yield run_point(subject.kernels, point, Path(), trial.device, trial.settings)
        except LaunchError as failure:
            failure.hints.append("on the CPU a fault ends one run only: --device cpu")
            raise


def times(subject: Runnable, trial: Trial) -> dict[str, float] | None:
    """Each record's median in microseconds, taking turns, at the first point; `None` where no time is asked for."""
    if not isinstance(trial.device, Workspace) or not trial.settings.timed:
        return None
    return median_times(subject.kernels, subject.points[0], trial.device, trial.settings)


def _results(a: Compilation, b: Compilation, names: tuple[str, str], trial: Trial) -> Results:
    subject = runnable({_A: a, _B: b}, trial, names=names)
    runs = [_run_pair(*each) for each in run_all(subject, trial)]
    medians = times(subject, trial)
    microseconds = Times(medians[_A], medians[_B]) if medians else None
    return Results(trial.device.name, runs, microseconds, subject.chosen, subject.tolerance_from)


def _valued(record: Compilation, name: str, trial: Trial) -> tuple[Compilation, Chosen]:
    """The record with a value for everything, and what was chosen. Raises `UsageError` for one that cannot run."""
    signature = _signature(record, name)
    if record.host_program is None:
        raise UsageError(
            f"{name} cannot be launched: it has no host program",
            notes=[each.message for each in record.warnings],
        )
    values = trial.values or {}
    specs = specs_of(signature)
    if unknown := [each for each in values if each not in specs]:
        raise UsageError(f"{name} has no parameter '{unknown[0]}'")
    chosen = choose_values({**specs, **values}, trial.sizes[0] if trial.sizes else ())
    valued = replace(record, signature=valued_signature(signature, chosen.specs))
    # A stored record reads its files when they are asked for, and a copy of it knows neither them nor where they are.
    valued.files, valued.read_from = record.files, record.read_from
    return valued, chosen


def _signature(record: Compilation, name: str) -> Signature:
    if record.signature is None:
        raise UsageError(f"{name} does not say what arguments the kernel takes", hints=["compile the Python file"])
    return record.signature


def _run_pair(a: Run, b: Run) -> RunPair:
    outputs = [
        OutputPair(
            each.name,
            each.dtype,
            [*each.shape],
            each.same_bits,
            each.absolute_error,
            each.relative_error,
            each.tolerance,
            each.allowed,
            each.in_bounds,
        )
        for each in b.outputs
    ]
    return RunPair(a.sizes, a.seed, outputs, [*a.problems], [*b.problems])
