"""Proving the kernels of a traced module: it is lowered up to where loops and branches still have a structure."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

from cutecc.ir.casters import plain_values
from cutecc.ir.modules import fresh_context, parse
from cutecc.passes.manager import run
from cutecc.passes.nvidia.options import WheelOptions
from cutecc.passes.pipeline import Pipeline
from cutecc.passes.pipelines import named_pipeline, uses_lir, uses_pyir
from cutecc.proving.exploring import Assumed, Found, explore
from cutecc.proving.kernel import Atoms, read_kernels
from cutecc.proving.numbers import NeedsPeriod
from cutecc.proving.pictured import skeletons_of
from cutecc.proving.proof import Proof, prove
from cutecc.proving.skeleton import skeleton_of
from cutecc.proving.states import States
from cutecc.proving.values import DependsOnPeriod
from cutecc.proving.warps import NotKnown, Program, program_of
from cutecc.support import isolation
from cutecc.support.pool import WorkerPool
from cutecc.target import Target

LAST = "core-to-llvm-prepare"
"""The pass of `nvidia` after which the kernel is looked at."""
_LAST_WITH_ATOMS = "convert-math-to-funcs"
"""The pass after which types say for the last time what copies move."""


def prove_apart(data: bytes, target: str, seconds: float) -> list[Proof]:
    """As `prove_module`, in a process of its own."""
    try:
        return isolation.call("cutecc.proving.modules:prove_module", data, target, seconds)
    except isolation.ProcessDied as death:
        return [Proof("cannot tell", "kernel", reason=f"lowering it aborted: {death.message}")]


def prove_module(data: bytes, target: str, seconds: float) -> list[Proof]:
    """The proof of each kernel in a traced module, MLIR text or bytecode, in at most so many seconds each.

    Raises `cutecc.Error` for a module that is none, or does not lower.
    """
    proofs: list[Proof] = []
    with fresh_context():
        for number, program in enumerate(programs(data, target)):
            with _Searches(data, target, number) as searches:
                proof = prove(program, seconds, searches)
            proof.skeleton = skeletons_of(program)
            proofs.append(proof)
    return proofs


def programs(data: bytes, target: str) -> list[Program]:
    """The kernels of a traced module, ready to be gone through; in the current context."""
    with plain_values():
        module = parse(data)
        # Problems are told at lines.
        options = WheelOptions(preserve_line_info=True)
        lir, pyir = uses_lir(module), uses_pyir(module)
        whole = named_pipeline("nvidia", Target.parse(target), options, lir=lir, pyir=pyir)
        middle, end = whole.position(_LAST_WITH_ATOMS) + 1, whole.position(LAST) + 1
        run(Pipeline(whole.passes[:middle]), module)
        atoms = Atoms.of(module)
        run(Pipeline(whole.passes[middle:end]), module)
        return [program_of(skeleton_of(kernel)) for kernel in read_kernels(module, atoms)]


class _Searches:
    """Searches in as many processes as there are processors, which begin when there is something to do."""

    def __init__(self, data: bytes, target: str, number: int) -> None:
        self._kernel = data, target, number
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
                found = future.result()
                if isinstance(found, Exception):
                    raise found
                yield found
        finally:
            for future in futures:
                future.cancel()


def _search(
    data: bytes, target: str, number: int, assumed: Assumed, deadline: float
) -> Found | NotKnown | NeedsPeriod | DependsOnPeriod:
    """A search, or why there is none, in a process that may have done others of the same kernel before."""
    program, states = _made(data, target, number)
    try:
        return explore(program, assumed, states, deadline)
    except (NotKnown, NeedsPeriod, DependsOnPeriod) as reason:
        return reason


@functools.lru_cache(maxsize=1)
def _made(data: bytes, target: str, number: int) -> tuple[Program, States]:
    with fresh_context():
        program = programs(data, target)[number]
    return program, States(program)
