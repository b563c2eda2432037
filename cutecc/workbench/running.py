"""The second half of `cutecc diff-test`: every variant of a plan on the same inputs, compared and timed.

Needs neither the DSL nor MLIR.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from cutecc.arguments.specs import Spec
from cutecc.compilation.loading import load
from cutecc.emulator.options import EmulatorOptions
from cutecc.errors import DeadlockError, FaultError, LaunchError, RecordError, UsageError
from cutecc.harness.arguments import Arguments, make_arguments, specs_of
from cutecc.harness.comparison import Comparison, compare
from cutecc.harness.on_device import DeviceArguments, HostMemory
from cutecc.harness.tensors import Tensor
from cutecc.kernel import Kernel
from cutecc.record import Workload
from cutecc.record.naming import is_plain
from cutecc.runtime.workspace import Workspace
from cutecc.workbench.host_memory import Needs, check_memory
from cutecc.workbench.plan import Plan, PlannedKernel, Point, Variant, inputs_checksum

Verdict = Literal["reference", "same bits", "in bounds", "differs", "fails"]
"""What a run gave. `reference`: it is what others are compared with. `same bits`: as that. `in bounds`: other bits, as
near to the expected result as the kernel's file asks for. `differs`: not so near. `fails`: it did not end well."""
_VERDICTS: tuple[Verdict, ...] = ("reference", "same bits", "in bounds", "differs", "fails")
Device = Workspace | HostMemory


@dataclass(frozen=True)
class Output:
    """What a variant wrote into a tensor, beside what was expected."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    same_bits: bool
    """As the variant that it is compared with."""
    absolute_error: float
    """The largest."""
    relative_error: float
    tolerance: float
    allowed: str
    """That, or the steps of its type that an element may be off instead: `1 ulp or 0.0001`."""
    in_bounds: bool


@dataclass(frozen=True)
class Run:
    """One variant at one point."""

    variant: str
    sizes: dict[str, int]
    seed: int
    verdict: Verdict
    problems: tuple[str, ...] = ()
    alike: str | None = None
    """The variant that wrote the same bits, of those that it is compared with: what is wrong is wrong in both."""
    error: float | None = None
    """The largest relative error of all outputs (`cutecc.harness.comparison`); `None` where nothing was expected."""
    outputs: tuple[Output, ...] = ()
    """What was compared."""
    location: str | None = None
    """Where in the user's file it failed, `file:line:column`, as far as the code says."""
    notes: tuple[str, ...] = ()
    """What else is known of the failure."""
    hints: tuple[str, ...] = ()
    in_kernel: bool = False
    """Whether the kernel itself failed, and not its launch."""
    checksums: dict[str, str] = field(default_factory=dict[str, str])
    """By tensor that is compared, the SHA-256 of its bits, in hexadecimal."""

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return self.verdict not in ("differs", "fails")


@dataclass
class KernelResult:
    """All runs of one kernel."""

    kernel: PlannedKernel
    runs: list[Run] = field(default_factory=list[Run])
    microseconds: dict[str, float] = field(default_factory=dict[str, float])
    """The median of each variant, on a GPU."""

    def of(self, variant: Variant) -> list[Run]:
        """The runs of one variant."""
        return [run for run in self.runs if run.variant == variant.name]

    def verdict(self, variant: Variant) -> Verdict | None:
        """The worst of a variant over all points; `None` where it did not run."""
        found = [run.verdict for run in self.of(variant)]
        return next((verdict for verdict in reversed(_VERDICTS) if verdict in found), None)

    def beside(self, run: Run) -> list[Run]:
        """The runs of all variants on the inputs of one of them, itself among them."""
        return [each for each in self.runs if (each.sizes, each.seed) == (run.sizes, run.seed)]

    @property
    def wrong(self) -> list[Run]:
        """Runs that differ or fail."""
        return [run for run in self.runs if not run.ok]

    @property
    def incomparable(self) -> Run | None:
        """The reference's run on the inputs on which no variant ends well: there is nothing to compare."""
        return next((run for run in self.runs if all(each.verdict == "fails" for each in self.beside(run))), None)

    @property
    def wrong_alike(self) -> Run | None:
        """The reference's first run on inputs on which every variant is wrong: that is no compiler's doing."""
        return next((run for run in self.runs if not any(each.ok for each in self.beside(run))), None)

    @property
    def ok(self) -> bool:
        """Whether all variants compiled, and none differs; also of a kernel that is left out."""
        compiled = not any(variant.failure for variant in self.kernel.variants)
        return compiled and not self.wrong and self.kernel.failure is None


@dataclass(frozen=True)
class Settings:
    """How to run."""

    check: str | None = None
    """What the emulator looks for meanwhile; a finding is a difference."""
    processes: int | None = None
    """Of the emulator, at most."""
    timed: bool = True
    """Time the variants, on a GPU."""
    samples: int | None = None
    """Of each variant."""


def run_plan(
    plan: Plan,
    folder: Path,
    device: Device,
    settings: Settings = Settings(),
    *,
    on_kernel: Callable[[KernelResult], None] = lambda result: None,
) -> list[KernelResult]:
    """Run all kernels of the plan in `folder` on `device`, in order. Raises `RecordError` for a damaged folder.

    Raises `LaunchError` for a fault on a GPU, after which nothing can run there.
    """
    found: list[KernelResult] = []
    for kernel in plan.kernels:
        result = run_kernel(kernel, folder, device, settings)
        found.append(result)
        on_kernel(result)
    return found


def run_kernel(kernel: PlannedKernel, folder: Path, device: Device, settings: Settings) -> KernelResult:
    """All variants of a kernel at all points, and on a GPU their times at the first point.

    A kernel for which this machine has not enough memory is a failure, and nothing of it runs. Where no variant ends
    well, that is all: there is nothing to compare. Raises as `run_plan`.
    """
    result = KernelResult(kernel)
    kernels = {each.name: load_variant(folder, each) for each in kernel.variants if each.bundle}
    try:
        _check_memory(kernel, kernels, device)
    except UsageError as error:
        return KernelResult(msgspec.structs.replace(kernel, failure=_with_hints(error)))
    for point in kernel.points if kernels else []:
        result.runs += run_point(kernels, point, folder, device, settings)
        if result.incomparable:
            return result
    good = {name: each for name, each in kernels.items() if all(run.ok for run in result.runs if run.variant == name)}
    if isinstance(device, Workspace) and settings.timed and kernel.points and len(good) > 1:
        result.microseconds = median_times(good, kernel.points[0], device, settings)
    return result


def _with_hints(error: UsageError) -> str:
    return "\n".join([error.message, *(f"hint: {hint}" for hint in error.hints)])


def _check_memory(kernel: PlannedKernel, kernels: Mapping[str, Kernel], device: Device) -> None:
    for point in kernel.points if kernels else []:
        first = next(iter(kernels.values()))
        outputs = _outputs(first.compilation.workload or Workload(), point)
        needs = Needs(variants=len(kernels), on_cpu=device.kind == "cpu")
        check_memory(kernel.name, _specs(first), point.sizes, outputs, needs)


def load_variant(folder: Path, variant: Variant) -> Kernel:
    """The kernel of a variant. Raises `RecordError`."""
    kernel = load(_file(folder, variant.bundle))
    if not isinstance(kernel, Kernel):
        raise RecordError(f"{folder / str(variant.bundle)} holds several targets")
    return kernel


def run_point(
    kernels: Mapping[str, Kernel], point: Point, folder: Path, device: Device, settings: Settings
) -> list[Run]:
    """Variants, by name, on the same inputs; each is compared with one before it. Raises as `run_plan`.

    That is the first one of the same code generator, which is what follows the last `/` of a name, else the first.
    """
    first = next(iter(kernels.values()))
    workload = first.compilation.workload or Workload()
    arguments = _arguments(first, workload, point)
    expected = _expected(folder, point)
    if expected is not None and len(expected) != len(arguments.outputs):
        raise RecordError(
            f"{folder / str(point.expected)} holds {len(expected)} arrays, and {first.compilation.name} has "
            f"{len(arguments.outputs)} outputs",
            hints=["compile into the folder again"],
        )
    judge = _Judge(point, workload, expected)
    runs: list[Run] = []
    with device.scope():
        on_device = DeviceArguments(arguments, device)
        for name, kernel in kernels.items():
            arguments.randomize(point.seed)
            on_device.upload()
            try:
                printed, findings = _launch(kernel, on_device, device, settings, point.seed)
            except LaunchError as failure:
                if isinstance(device, Workspace):
                    failure.notes.append(
                        f"it was {name} of {kernel.compilation.name}; a fault ends all that runs there"
                    )
                    raise
                runs.append(_failed(name, point, failure))
                continue
            stray = on_device.download()
            runs.append(judge.run(name, arguments, stray, printed, findings))
    return runs


def _failed(name: str, point: Point, failure: LaunchError) -> Run:
    return Run(
        name,
        point.sizes,
        point.seed,
        "fails",
        (failure.message.partition("\n")[0],),
        location=str(failure.location) if failure.location else None,
        notes=tuple(failure.notes),
        hints=tuple(failure.hints),
        in_kernel=isinstance(failure, FaultError | DeadlockError),
    )


def _launch(
    kernel: Kernel, on_device: DeviceArguments, device: Device, settings: Settings, seed: int
) -> tuple[str, list[str]]:
    """What the kernel printed, and what the emulator found."""
    if isinstance(device, Workspace):
        kernel(**on_device.by_name, stream=device.stream)
        device.synchronize()
        return "", []
    options = EmulatorOptions(check=settings.check, processes=settings.processes, seed=seed)
    emulation = kernel.emulator.emulate((), on_device.by_name, options)
    return emulation.printed, [f"{each.kind}: {each.message.partition(chr(10))[0]}" for each in emulation.findings]


def _output(compared: Comparison, same_bits: bool) -> Output:
    return Output(
        compared.name,
        compared.dtype,
        compared.shape,
        same_bits,
        compared.max_absolute_error,
        compared.max_relative_error,
        compared.tolerance,
        compared.allowed,
        not compared.wrong,
    )


class _Judge:
    """Compares what variants wrote at one point, in their order."""

    def __init__(self, point: Point, workload: Workload, expected: Sequence[Any] | None) -> None:
        self._point = point
        self._workload = workload
        self._expected = expected
        self._wrote: dict[str, tuple[list[Any], list[str]]] = {}
        """By variant: the codes of what is compared, and the lines that it printed."""

    def _compared(self, tensors: Sequence[Tensor], wanted: Sequence[Any], stray: Mapping[str, int]) -> list[Comparison]:
        return [
            compare(tensor, each, self._workload, stray.get(tensor.name, 0))
            for tensor, each in zip(tensors, wanted, strict=True)
        ]

    def run(
        self, name: str, arguments: Arguments, stray: Mapping[str, int], printed: str, findings: Sequence[str]
    ) -> Run:
        """What to say of a variant that has run; `arguments` hold what it wrote."""
        tensors = arguments.compared
        codes = [np.ascontiguousarray(tensor.codes).copy() for tensor in tensors]
        # Two variants execute other instructions, so that their warps take other turns.
        lines = sorted(printed.splitlines())
        other = self._other(name)
        problems = list(findings)
        same, wanted = [False] * len(codes), self._expected
        if other is not None:
            theirs, their_lines = self._wrote[other]
            same = list(map(_same_bits, codes, theirs))
            if wanted is None:
                wanted = [tensor.elements.decode(each) for tensor, each in zip(tensors, theirs, strict=True)]
            if lines != their_lines:
                problems.append(f"it prints other text than {other}")
        compared = [] if wanted is None else self._compared(tensors, wanted, stray)
        problems += [problem for each in compared for problem in each.problems()]
        self._wrote[name] = (codes, lines)
        outputs = [_output(each, bits) for each, bits in zip(compared, same, strict=False)]
        verdict: Verdict = "same bits" if other and all(same) else "in bounds" if other else "reference"
        error = max((each.max_relative_error for each in compared), default=None)
        return Run(
            name,
            self._point.sizes,
            self._point.seed,
            "differs" if problems else verdict,
            tuple(problems),
            other if verdict == "same bits" else None,
            error,
            tuple(outputs),
            checksums={
                tensor.name: hashlib.sha256(each.tobytes()).hexdigest()
                for tensor, each in zip(tensors, codes, strict=True)
            },
        )

    def _other(self, name: str) -> str | None:
        """What a variant is compared with: the first pipeline through the same code generator, else the first."""
        if not self._wrote:
            return None
        backend = name.rpartition("/")[2]
        same_backend = [each for each in self._wrote if each.rpartition("/")[2] == backend]
        return next(iter(same_backend or self._wrote))


def _same_bits(ours: Any, theirs: Any) -> bool:
    return ours.tobytes() == theirs.tobytes()


def _arguments(kernel: Kernel, workload: Workload, point: Point, *, exact_alignment: bool = True) -> Arguments:
    """The arguments at a point, its inputs in them."""
    arguments = make_arguments(
        _specs(kernel), _outputs(workload, point), sizes=point.sizes, exact_alignment=exact_alignment
    )
    arguments.randomize(point.seed)
    if exact_alignment and inputs_checksum(arguments) != point.inputs:
        raise RecordError(
            f"{kernel.compilation.name}: numpy makes other inputs here than where the kernel was compiled",
            hints=["use the same version of numpy"],
        )
    return arguments


def _specs(kernel: Kernel) -> dict[str, Spec]:
    if kernel.signature is None:
        raise RecordError(f"{kernel.compilation.name}: the bundle does not say what arguments the kernel takes")
    return specs_of(kernel.signature)


def _outputs(workload: Workload, point: Point) -> Sequence[str]:
    """As they were when the kernel was prepared."""
    return workload.outputs if point.expected else ()


def _expected(folder: Path, point: Point) -> list[Any] | None:
    """What the reference said."""
    if point.expected is None:
        return None
    try:
        with np.load(_file(folder, point.expected)) as arrays:
            return [arrays[name] for name in sorted(arrays.files, key=lambda name: int(name.removeprefix("output")))]
    except (OSError, ValueError) as failure:
        raise RecordError(f"{folder / point.expected} cannot be read: {failure}") from None


def _file(folder: Path, name: str | None) -> Path:
    """A file of the folder, by the name that its plan gives."""
    if name is None or not is_plain(name):
        raise RecordError(f"{folder}: its plan names a file '{name}'")
    return folder / name


def median_times(
    kernels: Mapping[str, Kernel], point: Point, device: Workspace, settings: Settings = Settings()
) -> dict[str, float]:
    """Median microseconds of each, taking turns."""
    from cutecc.benchmarking.running import prepared, sets_needed
    from cutecc.runtime.timing import Call, measure

    first = next(iter(kernels.values()))
    workload = first.compilation.workload or Workload()
    arguments = _arguments(first, workload, point, exact_alignment=False)
    with device.scope():
        sets = [DeviceArguments(arguments, device) for _ in range(sets_needed(arguments.bytes, device.l2_bytes))]
        for each in sets:
            each.upload()
        calls: dict[str, list[Call]] = {
            name: [prepared(kernel, device, **each.by_name) for each in sets] for name, kernel in kernels.items()
        }
        samples = measure(calls, device, runs=settings.samples)
    return {name: each.median for name, each in samples.items()}
