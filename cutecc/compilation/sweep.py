"""Compiling many kernels, configurations and targets at once: here over processes, or on a cluster.

Each is a `Job`, plain data. `compile_job` compiles one, in whichever process it is called; `compile_many` hands jobs
to an executor and collects what comes back.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import Executor, Future, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from cutecc.compilation.request import CompileOptions, CompileRequest
from cutecc.config import Settings
from cutecc.errors import Error, UsageError, describe
from cutecc.kernel import Kernel
from cutecc.record import Compilation
from cutecc.support.pool import WorkerPool
from cutecc.target import Target, parse_targets

Result = Kernel | Error
"""What a job gives: its kernel, or why there is none."""


@dataclass(frozen=True)
class Job:
    """One kernel of a file, to be compiled for one target.

    On a cluster the file is read where the job runs: it has to be there under the same path.
    """

    file: str
    """A Python file with a kernel; what it does not say here comes from its header (`docs/arguments.md`)."""
    function: str | None = None
    """The `@cute.jit` function of that name."""
    entry: str | None = None
    """An expression in the file's namespace that gives what to compile: `Gemm(tile=(128, 128))`."""
    args: Mapping[str, str] = field(default_factory=dict[str, str])
    """Argument specs by parameter."""
    target: str | None = None
    """By default that of the header, else `CUTECC_TARGET`, else this machine's GPU."""
    options: CompileOptions = field(default_factory=CompileOptions)
    output: Path | None = None
    """A folder for the record."""
    cache: bool | None = None
    """Whether to use the cache; by default as `CUTECC_CACHE` says."""

    def __str__(self) -> str:
        what = self.entry or (f"{self.file}:{self.function}" if self.function else self.file)
        return f"{what} for {self.target}" if self.target else what


def compile_many(
    jobs: Iterable[Job | str | Path],
    *,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: bool | Callable[[Job, Result], None] = False,
) -> list[Result]:
    """Compile every job, a file name standing for `Job(file)`; the results come in the order of the jobs.

    A job that fails gives its `cutecc.Error` in the list and leaves the others alone, also when its process aborts.
    `workers` is the number of processes, by default one for each processor. `executor` is any executor of
    `concurrent.futures` instead, such as that of a Dask or Ray cluster; cutecc has to be installed where it computes.
    `progress` draws a bar on standard error, or is told of every job when it is done.
    """
    listed = [job if isinstance(job, Job) else Job(os.fspath(job)) for job in jobs]
    if executor is not None and workers is not None:
        raise UsageError("compile_many takes workers or an executor, not both")
    if workers is not None and workers < 1:
        raise UsageError(f"compile_many: workers={workers} compiles nothing", hints=["at least 1, or None for all"])
    taken: dict[Path, Job] = {}
    for job in listed:
        if job.output and taken.setdefault(Path(job.output).absolute(), job) is not job:
            raise UsageError(f"two jobs would be written to {job.output}")
    # In a worker of ours an abort costs a process that is there for it; an executor's process has other work too.
    contain = executor is not None
    with _pool(executor, workers, len(listed)) as pool, _watcher(progress, len(listed)) as tell:
        futures = [pool.submit(compile_job, job, contain) for job in listed]
        jobs_of = dict(zip(futures, listed, strict=True))
        for future in as_completed(futures):
            tell(jobs_of[future], _result(future))
        return [_result(future) for future in futures]


def compile_job(job: Job, contain: bool = False) -> Compilation:
    """Compile one job in this process, which runs its file. With `contain`, the passes run in a process of their own.

    Raises `cutecc.Error`.
    """
    from cutecc.cache import lookup
    from cutecc.compilation.worker import lower_in_worker
    from cutecc.driver import lower
    from cutecc.frontend.naming import kernel_request
    from cutecc.frontend.trace import trace_file

    named, header = kernel_request(job.file, job.function, job.entry, job.args)
    target = _target(job.target or header.target)
    options = job.options
    traced = trace_file(
        replace(named, target=target.name, options=options.trace_options, locations=options.wants_locations)
    )
    request = CompileRequest(
        b"",
        target.name,
        "",
        source=job.file,
        entry=named.function or named.entry,
        workload=header.workload,
        options=options,
        output=job.output,
        cache=lookup.wanted(job.cache),
    ).of(traced)
    return lower_in_worker(request) if contain else lower(request)


def _target(name: str | None) -> Target:
    targets = parse_targets(name or Settings.from_environment().target or "native")
    if len(targets) > 1:
        raise UsageError(f"a job has one target, not {', '.join(map(str, targets))}", hints=["make a job for each"])
    return targets[0]


def _result(future: Future[Compilation]) -> Result:
    try:
        return Kernel(future.result())
    except Error as error:
        return error
    except Exception as failure:
        # An executor's own: a worker that was lost once too often.
        return Error(f"the executor failed: {describe(failure)}")


@contextmanager
def _pool(executor: Executor | None, workers: int | None, jobs: int) -> Generator[Executor]:
    """The executor of the user's, which stays open, or worker processes of our own for as long as they are needed."""
    if executor is not None:
        yield executor
        return
    pool = WorkerPool(max(1, min(workers or os.cpu_count() or 1, jobs)))
    try:
        yield pool
        pool.shutdown()
    except BaseException:
        pool.kill()
        raise


@contextmanager
def _watcher(progress: bool | Callable[[Job, Result], None], jobs: int) -> Generator[Callable[[Job, Result], None]]:
    """What to tell of each job that is done."""
    if callable(progress):
        yield progress
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not progress) as bar:
        task = bar.add_task("compiling", total=jobs)
        failed = 0

        def tell(job: Job, result: Result) -> None:
            nonlocal failed
            failed += isinstance(result, Error)
            bar.update(task, advance=1, description=f"compiling ({failed} failed)" if failed else "compiling")

        yield tell
