"""Choosing by measurement: candidates compiled in parallel processes, timed in turn, the winner remembered."""

from __future__ import annotations

import datetime
import os
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import msgspec

from cutecc.cache.folder import CacheError
from cutecc.errors import Error, LaunchError, NoGpuError, UsageError
from cutecc.operations import winners
from cutecc.operations.candidates import ORDERS
from cutecc.operations.choosing import EpilogueLike, device_target, problem_of, target_name
from cutecc.operations.description import GemmDescription
from cutecc.operations.discovery import Arguments, Request, ranked, read_arguments
from cutecc.operations.fitting_instructions import USUAL_ACCUMULATORS
from cutecc.operations.gemm import Gemm
from cutecc.operations.operation import compile_all
from cutecc.operations.tile_model import Problem, machine
from cutecc.operations.tuning_results import Timed, Tuning
from cutecc.operations.validity import refusal
from cutecc.runtime.timing import Samples

BUDGET = 60.0
"""Seconds."""
_MOST = 24
"""Kernels that are compiled at most before the swizzles of the best, those with the least estimated time."""
_COMPILING = 0.6
"""The part of the budget after which no more kernels are compiled."""
_TILE = 128
"""M and N of a tile of usual size."""

Timer = Callable[[Sequence[Gemm], Problem], Sequence[Samples | Error]]
"""Times operations on a problem in turn."""
Tell = Callable[[str, int, int], None]
"""Told what is being done, and how many of how many are done."""


def autotune(
    arguments: Arguments,
    budget: float = BUDGET,
    target: str | None = None,
    *,
    epilogue: EpilogueLike = "identity",
    operands: Mapping[str, Any] | None = None,
    problem: tuple[int, ...] | None = None,
    workers: int | None = None,
    progress: bool = True,
    again: bool = False,
    device: int = 0,
    timer: Timer | None = None,
    device_name: str | None = None,
) -> Tuning:
    """The fastest kernel for a product on a GPU, found within `budget` seconds or somewhat more.

    `arguments` are types, operands or arrays, as `find` takes them, `epilogue` and `operands` too; `problem`, (M, N, K)
    or with the batch behind, is theirs for arrays and has to be given otherwise. Arrays are neither read nor written.
    The candidates with the least estimated time, those that split K among them where D is small, are compiled in
    `workers` processes and timed in turn on random normal data, with more memory in use than twice the L2 cache;
    medians count. Then the swizzles of the best are timed beside it.

    The winner is remembered for this GPU, this product and problems whose sizes are the same when rounded up to powers
    of two; a remembered one is returned without timing anything, unless `again`. `progress` draws a bar on standard
    error. `timer` and `device_name` stand for a GPU that is not here.

    Raises `UsageError` for arguments that no kernel takes, `NoGpuError` where there is no GPU, and the error of the
    best candidate when none compiles and runs.
    """
    request, sizes = _request(arguments, problem)
    gpu = device_name or _device_name(device)
    name = target_name(target) if target or timer else device_target(device)
    asked = _asked(request, name, epilogue, operands)
    key = winners.key_of(gpu, asked, sizes)
    if not again and (known := winners.remembered(key)) is not None and refusal(known[0]) is None:
        return Tuning(Gemm.of(known[0]), sizes, gpu, known[1].microseconds)
    end = time.monotonic() + budget
    chosen = timer or _timer(device)
    with _bar(progress) as tell:
        listed = ranked(request, name, epilogue, sizes, split=_has_few_tiles(sizes, name), operands=operands)[:_MOST]
        timed = _measured(listed, sizes, chosen, end - (1 - _COMPILING) * budget, workers, tell)
        best = timed[0]
        if best.samples is not None and time.monotonic() < end:
            # The best is timed again beside its variants: only times of one run are compared.
            beside = [best.description, *_swizzled(best.description)]
            again_timed = _measured(beside, sizes, chosen, end, workers, tell)
            timed = [*again_timed, *timed[1:]]
            best = timed[0]
    if best.samples is None:
        raise best.error or UsageError("no candidate was timed", hints=["give a larger budget"])
    notes: tuple[str, ...] = ()
    count = sum(each.samples is not None for each in timed)
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    winner = winners.Winner(
        gpu,
        asked,
        "x".join(map(str, winners.shape_class(sizes))),
        msgspec.Raw(best.description.to_json()),
        best.median,
        (sizes.m, sizes.n, sizes.k, sizes.batches),
        count,
        now,
    )
    try:
        winners.remember(key, winner)
    except CacheError as error:
        notes = (error.message,)
    return Tuning(Gemm.of(best.description), sizes, gpu, best.median, timed, notes)


def _measured(
    descriptions: Sequence[GemmDescription],
    problem: Problem,
    timer: Timer,
    end: float,
    workers: int | None,
    tell: Tell,
) -> list[Timed]:
    """Compile until `end`, on the monotonic clock, at least the first ones; then time. The fastest first."""
    step = workers or os.cpu_count() or 1
    ready: list[Gemm] = []
    failed: list[Timed] = []
    for start in range(0, len(descriptions), step):
        if start and time.monotonic() >= end:
            break
        tell("compiling", start, len(descriptions))
        part = [Gemm.of(each) for each in descriptions[start : start + step]]
        for op, result in zip(part, compile_all(part, workers=workers), strict=True):
            if isinstance(result, Error):
                failed.append(Timed(op.description, error=result))
            else:
                ready.append(op)
    found: list[Timed] = []
    if ready:
        tell("timing", 0, len(ready))
        for op, result in zip(ready, timer(ready, problem), strict=True):
            if isinstance(result, Error):
                failed.append(Timed(op.description, error=result))
            else:
                found.append(Timed(op.description, result))
        tell("timing", len(ready), len(ready))
    return [*sorted(found, key=lambda each: each.median), *failed]


def _has_few_tiles(problem: Problem, target: str) -> bool:
    """Whether D has too few tiles to keep a GPU busy, so that splitting K may help."""
    tiles = -(-problem.m // _TILE) * -(-problem.n // _TILE)
    return tiles < 2 * machine(target).multiprocessors


def _swizzled(description: GemmDescription) -> list[GemmDescription]:
    """The description with every other swizzle that it may have."""
    others = [replace(description, swizzle=each) for each in ORDERS if each != description.swizzle]
    return [each for each in others if refusal(each) is None]


def _request(arguments: Arguments, problem: tuple[int, ...] | None) -> tuple[Request, Problem]:
    request = read_arguments(arguments)
    sizes = problem_of(problem) or request.problem
    if sizes is None:
        raise UsageError("autotune needs the sizes of the product", hints=["problem=(M, N, K), or arrays"])
    if sizes.batches > 1 and request.mode == "gemm":
        request = replace(request, mode="batched")
    return request, sizes


def _asked(request: Request, target: str, epilogue: EpilogueLike, operands: Mapping[str, Any] | None) -> str:
    """What a winner is remembered for, besides device and sizes."""
    source = "no source" if request.c is None else str(request.c)
    # For the graph's key alone: what the instruction adds in is part of the winner.
    accumulator = USUAL_ACCUMULATORS.get(request.a.dtype, "f32")
    graph = request.epilogue(epilogue, operands, accumulator)
    return " ".join([target, str(request.a), str(request.b), source, str(request.d), request.mode, graph.key])


def _device_name(device: int) -> str:
    from cutecc.runtime.cuda_bindings import cuda_driver

    try:
        driver = cuda_driver()
    except LaunchError as error:
        hints = ['find(…, target="sm_90a") lists kernels by estimate, without a GPU', *error.hints[:1]]
        message = f"autotune times kernels on a GPU: {error.message}"
        raise NoGpuError(message, notes=error.notes, hints=hints) from None
    return driver.device_name(device)


def _timer(device: int) -> Timer:
    def timer(operations: Sequence[Gemm], problem: Problem) -> Sequence[Samples | Error]:
        from cutecc.operations.tuning_data import time_products
        from cutecc.runtime.workspace import Workspace

        with Workspace(device) as gpu:
            return time_products(operations, problem, gpu)

    return timer


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
