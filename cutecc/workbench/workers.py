"""The processes of a differential test: some run kernel files, others compile, and each keeps what it has imported."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from cutecc.compilation.request import CompileOptions
from cutecc.errors import Error
from cutecc.frontend.traced import TracedModule, TraceRequest
from cutecc.record import Compilation
from cutecc.support.isolation import ProcessDied
from cutecc.support.pool import WorkerPool
from cutecc.workbench.coverage import missing_here
from cutecc.workbench.plan import Variant
from cutecc.workbench.variants import Choice, Source, check_pipelines, compile_here, make_variant


@dataclass(frozen=True)
class _Made:
    """A variant that is being made, and how to make it again."""

    future: Future[Variant]
    arguments: tuple[Any, ...]


class Workers:
    """`jobs` processes that compile, and as many as there are `files` to run, `jobs` at most.

    They start while this one goes on. One that aborts takes its own call down and no other.
    """

    def __init__(self, jobs: int = 1, files: int = 1) -> None:
        self._files = WorkerPool(max(1, min(jobs, files)))
        self._compilers = WorkerPool(jobs)
        # What each imports takes longer than most kernels.
        self._files.submit(load_dsl)
        for _ in range(jobs):
            self._compilers.submit(load_compiler)

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, frames: TracebackType | None):
        for pool in (self._files, self._compilers):
            pool.kill()

    def check(self, choice: Choice, targets: Sequence[str]) -> None:
        """As `check_pipelines`."""
        self._compilers.submit(check_pipelines, choice, targets).result()

    def trace(self, request: TraceRequest) -> Future[TracedModule]:
        """The kernel of a file, traced."""
        from cutecc.frontend.trace import trace_file

        return self._files.submit(trace_file, request)

    def reference(self, path: str, name: str, values: Mapping[str, Any], outputs: Sequence[str]) -> list[Any]:
        """What the reference `name` of a file expects. Raises `Error`."""
        from cutecc.frontend.companions import call_reference

        try:
            return self._files.submit(call_reference, path, name, values, outputs).result()
        except ProcessDied as death:
            raise Error(f"the reference {name} aborted: {death.message}") from None

    def missing(self, module: bytes, target: str) -> list[str]:
        """What `open` does not lower of a traced module. Raises `Error`."""
        return self._compilers.submit(missing_here, module, target).result()

    def start_variants(self, source: Source, choice: Choice, folder: Path, prefix: str) -> list[_Made]:
        """Begin to compile a kernel in all variants, into bundles in `folder` whose names begin with `prefix`."""
        begun: list[_Made] = []
        for index, pipeline in enumerate(choice.pipelines):
            for backend in choice.backends:
                bundle = folder / f"{prefix}-{index}{backend}.cutecc"
                arguments = (source, pipeline, backend, choice, bundle)
                begun.append(_Made(self._compilers.submit(make_variant, *arguments), arguments))
        return begun

    def variants(self, begun: Sequence[_Made]) -> list[Variant]:
        """The variants that `start_variants` began, when all are there."""
        return [_finished(each) for each in begun]

    def compile(self, source: Source, options: CompileOptions) -> Compilation:
        """The kernel through the pipeline of `options`. Raises `Error`."""
        return self._compilers.submit(compile_here, source, options).result()


def _finished(made: _Made) -> Variant:
    try:
        return made.future.result()
    except ProcessDied:
        # Alone, and followed: that says in which pass it is.
        return make_variant(*made.arguments, apart=True)


def load_dsl() -> None:
    """Import what tracing needs."""
    from cutecc.frontend import dsl

    dsl.cutlass()


def load_compiler() -> None:
    """Import what lowering needs."""
    importlib.import_module("cutecc.driver")
    from cutecc.ir.modules import fresh_context

    with fresh_context():
        pass
