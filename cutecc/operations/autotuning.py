"""Choosing by measurement: candidates compiled in parallel processes, timed in turn, the winner remembered."""

from __future__ import annotations

import datetime
import os
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from cutecc.cache.folder import CacheError
from cutecc.errors import Error, LaunchError, NoGpuError, UsageError
from cutecc.operations import winners
from cutecc.operations.any_description import Description
from cutecc.operations.choosing import EpilogueLike, device_target, target_name
from cutecc.operations.contest import Contest, ProductContest
from cutecc.operations.convolution.contest import ConvolutionContest
from cutecc.operations.convolution.geometry import ConvolutionProblem
from cutecc.operations.convolution.operation import Convolution
from cutecc.operations.discovery import Arguments
from cutecc.operations.grouped.contest import GroupedContest
from cutecc.operations.grouped.operation import GroupedGemm
from cutecc.operations.operation import Operation, compile_all
from cutecc.operations.tuning_results import Timed, Tuning
from cutecc.operations.words import shown
from cutecc.runtime.timing import Samples

BUDGET = 60.0
"""Seconds."""
_MOST = 24
"""Kernels that are compiled at most before the swizzles of the best, those with the least estimated time."""
_COMPILING = 0.6
"""The part of the budget after which no more kernels are compiled."""

Timer = Callable[[Sequence[Any], Any], Sequence[Samples | Error]]
"""Times operations on a problem in turn."""
Tell = Callable[[str, int, int], None]
"""Told what is being done, and how many of how many are done."""


def autotune(
    arguments: Arguments | Convolution | GroupedGemm,
    budget: float = BUDGET,
    target: str | None = None,
    *,
    epilogue: EpilogueLike = "identity",
    operands: Mapping[str, Any] | None = None,
    problem: Any = None,
    workers: int | None = None,
    progress: bool = True,
    again: bool = False,
    device: int = 0,
    timer: Timer | None = None,
    device_name: str | None = None,
) -> Tuning:
    """The fastest kernel for an operation on a GPU, found within `budget` seconds or somewhat more.

    `arguments` are types, operands or arrays, as `find` takes them, `epilogue` and `operands` too; `problem`, (M, N, K)
    or with the batch behind, is theirs for arrays and has to be given otherwise. Arrays are neither read nor written.
    Of a convolution, `arguments` is one, of which the tile, the instruction, the iterator, the way to split K and the
    order of tiles are left open; `problem` is a `ConvolutionProblem`, by default what it was chosen for. Grouped
    products are given in the same way, with a `problem` as `GroupedGemm` takes it.
    The candidates with the least estimated time, those that split K among them where D is small, are compiled in
    `workers` processes and timed in turn on random normal data, with more memory in use than twice the L2 cache;
    medians count. Then the swizzles of the best are timed beside it.

    The winner is remembered for this GPU, this product and problems whose sizes are the same when rounded up to powers
    of two; a remembered one is returned without timing anything, unless `again`. `progress` draws a bar on standard
    error. `timer` and `device_name` stand for a GPU that is not here.

    Raises `UsageError` for arguments that no kernel takes, `NoGpuError` where there is no GPU, and the error of the
    best candidate when none compiles and runs.
    """
    gpu = device_name or _device_name(device, is_operation=isinstance(arguments, Operation))
    contest = _contest(arguments, problem, target, epilogue, operands, device, is_timed_elsewhere=timer is not None)
    sizes = contest.problem
    key = winners.key_of(gpu, contest.asked, contest.sizes)
    if not again and (known := winners.remembered(key)) is not None and contest.is_valid(known[0]):
        return Tuning(contest.operation(known[0]), sizes, gpu, known[1].microseconds)
    end = time.monotonic() + budget
    chosen = timer or _timer(contest, device)
    with _bar(progress) as tell:
        timed = _measured(contest.candidates()[:_MOST], contest, chosen, end - (1 - _COMPILING) * budget, workers, tell)
        best = timed[0]
        if best.samples is not None and time.monotonic() < end:
            # The best is timed again beside its variants: only times of one run are compared.
            beside = [best.description, *contest.beside(best.description)]
            again_timed = _measured(beside, contest, chosen, end, workers, tell)
            timed = [*again_timed, *timed[1:]]
            best = timed[0]
    if best.samples is None:
        raise best.error or UsageError("no candidate was timed", hints=["give a larger budget"])
    notes: tuple[str, ...] = ()
    count = sum(each.samples is not None for each in timed)
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    winner = winners.Winner(
        gpu,
        contest.asked,
        "x".join(map(str, winners.shape_class(contest.sizes))),
        msgspec.Raw(best.description.to_json()),
        best.median,
        contest.sizes,
        count,
        now,
    )
    try:
        winners.remember(key, winner)
    except CacheError as error:
        notes = (error.message,)
    return Tuning(contest.operation(best.description), sizes, gpu, best.median, timed, notes)


def _measured(
    descriptions: Sequence[Description],
    contest: Contest,
    timer: Timer,
    end: float,
    workers: int | None,
    tell: Tell,
) -> list[Timed]:
    """Compile until `end`, on the monotonic clock, at least the first ones; then time. The fastest first."""
    step = workers or os.cpu_count() or 1
    ready: list[Operation[Any]] = []
    failed: list[Timed] = []
    for start in range(0, len(descriptions), step):
        if start and time.monotonic() >= end:
            break
        tell("compiling", start, len(descriptions))
        part = [contest.operation(each) for each in descriptions[start : start + step]]
        for op, result in zip(part, compile_all(part, workers=workers), strict=True):
            if isinstance(result, Error):
                failed.append(Timed(op.description, error=result))
            else:
                ready.append(op)
    found: list[Timed] = []
    if ready:
        tell("timing", 0, len(ready))
        for op, result in zip(ready, timer(ready, contest.problem), strict=True):
            if isinstance(result, Error):
                failed.append(Timed(op.description, error=result))
            else:
                found.append(Timed(op.description, result))
        tell("timing", len(ready), len(ready))
    return [*sorted(found, key=lambda each: each.median), *failed]


def _device_name(device: int, *, is_operation: bool) -> str:
    from cutecc.runtime.cuda_bindings import cuda_driver

    try:
        driver = cuda_driver()
    except LaunchError as error:
        lists = "op.tile_descriptions() lists tiles" if is_operation else 'find(…, target="sm_90a") lists kernels'
        hints = [f"{lists} by estimate, without a GPU", *error.hints[:1]]
        message = f"autotune times kernels on a GPU: {error.message}"
        raise NoGpuError(message, notes=error.notes, hints=hints) from None
    return driver.device_name(device)


def _timer(contest: Contest, device: int) -> Timer:
    def timer(operations: Sequence[Any], problem: Any) -> Sequence[Samples | Error]:
        from cutecc.runtime.workspace import Workspace

        with Workspace(device) as gpu:
            return contest.time(operations, gpu)

    return timer


def _contest(
    arguments: Arguments | Convolution | GroupedGemm,
    problem: Any,
    target: str | None,
    epilogue: EpilogueLike,
    operands: Mapping[str, Any] | None,
    device: int,
    *,
    is_timed_elsewhere: bool,
) -> Contest:
    """What is asked for; the target of a product is by default that of the GPU."""
    if isinstance(arguments, Convolution):
        if not isinstance(problem, ConvolutionProblem | None):
            raise UsageError(f"the sizes of a convolution are a ConvolutionProblem, not {shown(problem)}")
        return ConvolutionContest(arguments, problem)
    if isinstance(arguments, GroupedGemm):
        return GroupedContest(arguments, problem)
    if isinstance(problem, ConvolutionProblem):
        raise UsageError("a ConvolutionProblem is of a convolution", hints=["autotune(Conv2d(…), problem=…)"])
    name = target_name(target) if target or is_timed_elsewhere else device_target(device)
    return ProductContest(arguments, problem, name, epilogue, operands)


@contextmanager
def _bar(progress: bool) -> Generator[Tell]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not progress) as bar:
        task: Any = bar.add_task("tuning", total=None)

        def tell(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total)

        yield tell
