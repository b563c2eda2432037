"""The first half of `cutecc diff-test`: kernels become a folder of variants, points and expected results."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

import msgspec
import numpy as np

from cutecc.arguments.specs import Spec
from cutecc.errors import Error, RecordError, UsageError
from cutecc.frontend.kernel_file import split_path
from cutecc.frontend.naming import kernel_request
from cutecc.frontend.traced import TracedModule
from cutecc.harness.arguments import Arguments, make_arguments, specs_of
from cutecc.harness.choosing import choose_values, valued_signature
from cutecc.harness.comparison import bounds_of
from cutecc.harness.points import ragged_points
from cutecc.record import Workload
from cutecc.record.whole_file import write_whole
from cutecc.support.open_folder import replace_file
from cutecc.workbench.host_memory import Needs, check_memory
from cutecc.workbench.inputs import Input
from cutecc.workbench.plan import Plan, PlannedKernel, Point, inputs_checksum, write_plan
from cutecc.workbench.running import load_variant
from cutecc.workbench.variants import Choice, Source, plain_name
from cutecc.workbench.workers import Workers

_AHEAD = 2
"""Kernels that are traced before the one in hand is compiled."""


@dataclass(frozen=True)
class Points:
    """At which sizes to run, and how often."""

    sizes: Sequence[dict[str, int]] = ()
    """Those of the user; without, the kernel's own, the smallest and ragged ones."""
    seed: int = 0
    runs: int = 1
    """Seeds at each of the sizes."""
    most_bytes: int | None = None
    """Of all tensors of a point that is chosen here."""
    run_on: Literal["cpu", "cuda"] | None = None
    """Where this process runs the variants afterwards; `None` where another one does."""


@dataclass(frozen=True)
class Subject:
    """A kernel of a file, traced."""

    source: Source
    specs: dict[str, Spec]
    reference: str | None
    """The function of the file that says what outputs have to be."""
    chosen: str | None = None
    """What nobody has given of the values to run with, in words."""

    @property
    def compared(self) -> Sequence[str]:
        """The outputs that the reference says; none without one, for then all tensors are compared.

        Nobody says what else would be in an output before the run than random values.
        """
        return self.source.workload.outputs if self.reference else ()


def prepare(
    inputs: Sequence[Input],
    folder: Path,
    choice: Choice,
    points: Points,
    *,
    workers: Workers,
    on_kernel: Callable[[PlannedKernel], None] = lambda kernel: None,
) -> Plan:
    """Compile every kernel in all variants into `folder`, with what each point's outputs have to be.

    `workers` do that. A kernel that cannot be read or traced, that needs what `open` does not lower, or
    more memory than there is, is in the plan all the same. Raises `UsageError` for modules, which do not say how to
    call them, and what goes wrong with a kernel that is the only one.
    """
    if modules := [each.file for each in inputs if each.request is None and each.failure is None]:
        raise UsageError(f"{modules[0]} is a module, which does not say how to call it", hints=["name the Python file"])
    planned: list[PlannedKernel] = []
    for number, (each, trace) in enumerate(_traces(inputs, workers)):
        prefix = f"{number:03}-{plain_name(each.name)}-{each.target}"
        try:
            if trace is None:
                assert each.failure is not None
                raise each.failure
            kernel = _planned(_subject(each, trace.result(), points), each, folder, prefix, choice, points, workers)
        except Error as error:
            if len(inputs) == 1:
                raise
            kernel = PlannedKernel(each.name, each.file, each.target, [], failure=_briefly(error))
        planned.append(kernel)
        on_kernel(kernel)
    plan = Plan(planned)
    write_plan(folder, plan)
    return plan


def _traces(inputs: Sequence[Input], workers: Workers) -> Iterator[tuple[Input, Future[TracedModule] | None]]:
    """Each input with its trace, or `None` for one that cannot be read.

    A few are begun ahead, and not all: references wait behind them.
    """
    begun: deque[Future[TracedModule] | None] = deque()
    for number, each in enumerate(inputs):
        for ahead in inputs[number + len(begun) : number + _AHEAD + 1]:
            begun.append(workers.trace(replace(ahead.request, locations=True)) if ahead.request else None)
        yield each, begun.popleft()


def _subject(each: Input, traced: TracedModule, points: Points) -> Subject:
    path, function = split_path(each.file)
    _, header = kernel_request(path, function)
    assert each.request is not None
    request = each.request
    own = request.header_entry is None
    workload = header.workload or Workload()
    specs = {name: request.args.get(name, spec) for name, spec in specs_of(traced.signature).items()}
    chosen = choose_values(specs, points.sizes[0] if points.sizes else ())
    # So that whoever runs a bundle chooses the same.
    traced = replace(traced, signature=valued_signature(traced.signature, chosen.specs))
    source = Source(each.file, each.target, traced, workload)
    return Subject(source, chosen.specs, header.reference if own else None, chosen.text)


def _planned(
    subject: Subject,
    each: Input,
    folder: Path,
    prefix: str,
    choice: Choice,
    points: Points,
    workers: Workers,
) -> PlannedKernel:
    source = subject.source
    module = f"{prefix}.mlirbc"
    write_whole(folder / module, [source.traced.bytecode], "the traced module")
    kernel = PlannedKernel(each.name, each.file, each.target, [], module=module, chosen=subject.chosen)
    if "open" in choice.pipelines and (missing := workers.missing(source.traced.bytecode, source.target)):
        return msgspec.structs.replace(kernel, note=f"open does not lower {', '.join(missing[:3])}")
    sizes = points.sizes or ragged_points(subject.specs, points.most_bytes)
    variants = len(choice.pipelines) * len(choice.backends) if points.run_on else 0
    needs = Needs(bool(subject.compared), variants, points.run_on == "cpu")
    for point in sizes:
        check_memory(each.name, subject.specs, point, subject.compared, needs)
    begun = workers.start_variants(source, choice, folder, prefix)
    try:
        made = list(_points(subject, sizes, folder, prefix, points, workers))
    finally:
        variants = workers.variants(begun)
    return msgspec.structs.replace(kernel, variants=variants, points=made)


def _points(
    subject: Subject,
    sizes: Sequence[dict[str, int]],
    folder: Path,
    prefix: str,
    points: Points,
    workers: Workers,
) -> Iterator[Point]:
    """The runs to make, and for each a file of what the reference says."""
    outputs = subject.compared
    number = 0
    for each in sizes:
        arguments = make_arguments(subject.specs, outputs, sizes=each)
        for seed in range(points.seed, points.seed + points.runs):
            arguments.randomize(seed)
            point = Point(arguments.sizes, seed, inputs_checksum(arguments))
            if outputs:
                expected, wide = _expected(subject, arguments, workers)
                name = f"{prefix}-{number}.npz"
                _keep(folder / name, expected)
                point = msgspec.structs.replace(point, expected=name, in_float64=wide)
            yield point
            number += 1


def _keep(path: Path, expected: list[Any]) -> None:
    arrays = {f"output{index}": each for index, each in enumerate(expected)}
    try:
        replace_file(path, lambda file: np.savez_compressed(file, **arrays))
    except OSError as failure:
        raise RecordError(f"cannot write {path}: {failure.strerror}") from None


def _expected(subject: Subject, arguments: Arguments, workers: Workers) -> tuple[list[Any], list[bool]]:
    """As `expected_of`, of the reference in the kernel's file, which is a program and may bring the DSL along."""
    path, _ = split_path(subject.source.file)
    name = subject.reference
    assert name is not None
    outputs = [tensor.name for tensor in arguments.outputs]
    workload = subject.source.workload
    return expected_of(arguments, workload, lambda values: workers.reference(path, name, values, outputs))


def expected_of(
    arguments: Arguments, workload: Workload, ask: Callable[[Mapping[str, Any]], list[Any]]
) -> tuple[list[Any], list[bool]]:
    """What a reference says of each output, and whether it computed that in float64.

    `ask` calls it, with arrays by parameter. It is asked twice, with inputs as they are and with floating-point ones as
    float64. The second answer counts where it agrees with the first: a reference that looks at the bits of its inputs
    says something else then, or fails.
    """
    values = arguments.values()
    native = [np.asarray(each) for each in ask(values)]
    try:
        wide = [np.asarray(each) for each in ask({name: _wide(each) for name, each in values.items()})]
    except Exception:  # whatever the user's function raises
        return native, [False] * len(native)
    chosen: list[Any] = []
    agreed: list[bool] = []
    for tensor, first, second in zip(arguments.outputs, native, wide, strict=True):
        bound, ulp = bounds_of(tensor.elements, workload)
        # As far apart as the largest step of a type lets two numbers be.
        bound += ulp * tensor.elements.largest_step if ulp else 0.0
        agreed.append(second.dtype == np.float64 and tensor.elements.is_float and _agree(first, second, bound))
        chosen.append(second if agreed[-1] else first)
    return chosen, agreed


def _wide(value: Any) -> Any:
    """The same with floating-point arrays as float64, those in tuples too."""
    if isinstance(value, tuple):
        return tuple(map(_wide, cast("tuple[Any, ...]", value)))
    dtype = getattr(value, "dtype", None)
    return value.astype(np.float64) if dtype is not None and np.issubdtype(dtype, np.floating) else value


def _agree(first: Any, second: Any, tolerance: float) -> bool:
    """Whether two answers are the same but for rounding: twice the tolerance apart at most."""
    if first.shape != second.shape:
        return False
    with np.errstate(all="ignore"):
        finite: Any = second[np.isfinite(second)]
        scale = math.sqrt(float((finite**2).mean())) if finite.size else 0.0
        near = np.abs(first.astype(np.float64) - second) <= 2 * max(tolerance, 1e-6) * (np.abs(second) + scale)
    # What is no number may be the poison of an output that the reference leaves as it was: its bits count.
    return bool(np.all(near | (first == second)))


def _briefly(error: Error) -> str:
    """Where, what in one line, and a line for each hint."""
    place = f"{error.location}: " if error.location else ""
    return "\n".join([place + error.message.partition("\n")[0], *(f"hint: {hint}" for hint in error.hints)])


def source_of(kernel: PlannedKernel, folder: Path) -> Source | None:
    """What a kernel of a plan was compiled from; `None` where no variant has compiled."""
    variant = next((each for each in kernel.variants if each.bundle), None)
    if variant is None or kernel.module is None:
        return None
    compilation = load_variant(folder, variant).compilation
    assert compilation.signature is not None
    bytecode = (folder / kernel.module).read_bytes()
    traced = TracedModule(bytecode, compilation.signature, compilation.name, None, None)
    return Source(kernel.file, kernel.target, traced, compilation.workload or Workload())
