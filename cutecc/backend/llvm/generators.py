"""The processes that generate code, one for each set of LLVM's options.

LLVM's options are those of a whole process, and some input ends it: so it runs in a child, which stays for the
compilations to come, and dies with this process. Any thread may use it; calls of the same options follow one another.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Future

from cutecc.backend.llvm import generation, watching
from cutecc.backend.llvm.generation import Job, Made
from cutecc.backend.llvm.watching import Watched
from cutecc.errors import ToolError
from cutecc.ir import interrupts
from cutecc.support import forks
from cutecc.support.isolation import ProcessDied
from cutecc.support.pool import WorkerPool

_pools: dict[tuple[str, ...], WorkerPool] = {}
_versions: dict[tuple[str, ...], Future[str]] = {}
_lock = forks.lock()


def _forked() -> None:
    """In a forked child: the threads that serve these are the parent's."""
    _pools.clear()
    _versions.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def prepare(options: tuple[str, ...]) -> None:
    """Start the process of these options, if it is not there, and go on at once: it loads LLVM meanwhile."""
    with _lock:
        if options not in _pools:
            _pools[options] = WorkerPool(1)
            _versions[options] = _pools[options].submit(generation.start, options)


def version(options: tuple[str, ...]) -> str:
    """The version of LLVM, such as `22.1.0`; raises `ProcessDied` when it could not be loaded."""
    prepare(options)
    with interrupts.let_through():
        return _versions[options].result()


def generate(options: tuple[str, ...], job: Job) -> Made:
    """What `cutecc.backend.llvm.generation.generate` makes of `job`, in the process of these options.

    Raises what it raises, and `ToolError` with the reason when LLVM ends the process.
    """
    prepare(options)
    try:
        return _generated(options, job)
    except ProcessDied:
        # It may have been ended from outside, and before this job: whatever the job does, it does again.
        try:
            return _generated(options, job)
        except ProcessDied as death:
            raise ToolError("LLVM ended while it generated code", notes=[death.message, *death.notes]) from None


def watch(options: tuple[str, ...], job: Job, *, with_code: bool, times: Sequence[str] = ()) -> Watched:
    """What `cutecc.backend.llvm.watching.watch` tells of `job`, in a process of its own.

    Raises what it raises, and `ToolError` when LLVM ends the process.
    """
    pool = WorkerPool(1)
    try:
        future = pool.submit(watching.watch, options, job, with_code, times)
        with interrupts.let_through():
            return future.result()
    except ProcessDied as death:
        raise ToolError("LLVM ended while its passes were watched", notes=[death.message, *death.notes]) from None
    finally:
        pool.kill()


def _generated(options: tuple[str, ...], job: Job) -> Made:
    future = _pools[options].submit(generation.generate, options, job)
    with interrupts.let_through():
        return future.result()
