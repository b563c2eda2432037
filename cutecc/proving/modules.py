"""Proving the kernels of a traced module: it is lowered up to where loops and branches still have a structure."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

from cutecc.ir.modules import fresh_context, parse
from cutecc.passes.manager import run
from cutecc.passes.nvidia.options import WheelOptions
from cutecc.passes.pipeline import Pipeline
from cutecc.passes.pipelines import named_pipeline
from cutecc.proving.exploring import Assumed, Found, explore
from cutecc.proving.kernel import Atoms, read_kernels
from cutecc.proving.proof import Proof, prove
from cutecc.proving.skeleton import skeleton_of
from cutecc.proving.states import States
from cutecc.proving.warps import Program, program_of
from cutecc.support import isolation
from cutecc.support.pool import WorkerPool
from cutecc.target import Target

LAST = "core-to-llvm-prepare"
"""The pass of `nvidia` after which the kernel is looked at."""


def prove_apart(data: bytes, target: str, seconds: float, *, lir: bool = False) -> list[Proof]:
    """As `prove_module`, in a process of its own."""
    try:
        return isolation.call("cutecc.proving.modules:prove_module", data, target, seconds, lir)
    except isolation.ProcessDied as death:
        return [Proof("cannot tell", "kernel", reason=f"lowering it aborted: {death.message}")]


def prove_module(data: bytes, target: str, seconds: float, lir: bool = False) -> list[Proof]:
    """The proof of each kernel in a traced module, MLIR text or bytecode, in at most so many seconds each.

    Raises `cutecc.Error` for a module that is none, or does not lower.
    """
    proofs: list[Proof] = []
    with fresh_context():
        for number, program in enumerate(programs(data, target, lir)):
            with _Searches(data, target, lir, number) as searches:
                proofs.append(prove(program, seconds, searches))
    return proofs


def programs(data: bytes, target: str, lir: bool) -> Iterator[Program]:
    """The kernels of a traced module, ready to be gone through; in the current context."""
    module = parse(data)
    atoms = Atoms.of(module)
    # Problems are told at lines.
    whole = named_pipeline("nvidia", Target.parse(target), WheelOptions(preserve_line_info=True), lir=lir)
    run(Pipeline(whole.passes[: whole.position(LAST) + 1]), module)
    for kernel in read_kernels(module, atoms):
        yield program_of(skeleton_of(kernel))


class _Searches:
    """Searches in as many processes as there are processors, which begin when there is something to do."""

    def __init__(self, data: bytes, target: str, lir: bool, number: int) -> None:
        self._kernel = data, target, lir, number
        self._pool: WorkerPool | None = None

    def __enter__(self) -> _Searches:
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.kill()

    def __call__(self, assumptions: Sequence[Assumed], deadline: float) -> Iterator[Found]:
        if self._pool is None:
            self._pool = WorkerPool()
        futures = [self._pool.submit(_search, *self._kernel, each, deadline) for each in assumptions]
        try:
            for future in futures:
                yield future.result()
        finally:
            for future in futures:
                future.cancel()


def _search(data: bytes, target: str, lir: bool, number: int, assumed: Assumed, deadline: float) -> Found:
    """A search in a process that may have done others of the same kernel before."""
    program, states = _made(data, target, lir, number)
    return explore(program, assumed, states, deadline)


@functools.lru_cache(maxsize=1)
def _made(data: bytes, target: str, lir: bool, number: int) -> tuple[Program, States]:
    with fresh_context():
        program = [*programs(data, target, lir)][number]
    return program, States(program)
