"""What `autotune` lets candidates compete for: an operation of which the means are open, on sizes that are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from cutecc.errors import Error, UsageError
from cutecc.operations.any_description import Description
from cutecc.operations.candidates import ORDERS, USUAL_ACCUMULATORS
from cutecc.operations.choosing import EpilogueLike, problem_of
from cutecc.operations.description import GemmDescription
from cutecc.operations.discovery import Arguments, Request, ranked, read_arguments
from cutecc.operations.gemm import Gemm
from cutecc.operations.grouped.problem import GroupedProblem
from cutecc.operations.operation import Operation
from cutecc.operations.tile_model import Problem, has_few_tiles
from cutecc.operations.validity import refusal

if TYPE_CHECKING:
    from cutecc.runtime.timing import Samples
    from cutecc.runtime.workspace import Workspace


class Contest(Protocol):
    """One of them."""

    asked: str
    """What a winner is remembered for, besides device and sizes."""
    sizes: tuple[int, ...]
    """All sizes; of those that are the same when rounded up to powers of two the winner is one."""

    @property
    def problem(self) -> Problem | GroupedProblem:
        """The product, or that of each group."""
        ...

    def candidates(self) -> Sequence[Description]:
        """The least estimated time first."""
        ...

    def beside(self, best: Any) -> list[Any]:
        """Variants of the best that are timed beside it."""
        ...

    def operation(self, description: Any) -> Operation[Any]:
        """The operation of a candidate."""
        ...

    def is_valid(self, description: Description) -> bool:
        """Whether a winner that is remembered is still one that there is."""
        ...

    def time(self, operations: Sequence[Any], gpu: Workspace) -> Sequence[Samples | Error]:
        """The times of candidates, in turn, on the same random data."""
        ...


class ProductContest:
    """A product of matrices."""

    def __init__(
        self,
        arguments: Arguments,
        problem: tuple[int, ...] | None,
        target: str,
        epilogue: EpilogueLike,
        operands: Mapping[str, Any] | None,
    ) -> None:
        """Raises `UsageError` for arguments that are none, and for sizes that are not known."""
        self._request, self.problem = _request(arguments, problem)
        self.sizes = self.problem.m, self.problem.n, self.problem.k, self.problem.batches
        self._target, self._epilogue, self._operands = target, epilogue, operands
        self.asked = _asked(self._request, target, epilogue, operands)

    def candidates(self) -> Sequence[GemmDescription]:
        return ranked(
            self._request,
            self._target,
            self._epilogue,
            self.problem,
            split=has_few_tiles(self.problem, self._target),
            operands=self._operands,
        )

    def beside(self, best: GemmDescription) -> list[GemmDescription]:
        return [each for each in swizzled(best) if refusal(each) is None]

    def operation(self, description: GemmDescription) -> Gemm:
        return Gemm.of(description)

    def is_valid(self, description: Description) -> bool:
        return isinstance(description, GemmDescription) and refusal(description) is None

    def time(self, operations: Sequence[Gemm], gpu: Workspace) -> Sequence[Samples | Error]:
        from cutecc.operations.tuning_data import time_products

        return time_products(operations, self.problem, gpu)


def swizzled(description: GemmDescription) -> list[GemmDescription]:
    """The description with every other order of tiles."""
    return [replace(description, swizzle=each) for each in ORDERS if each != description.swizzle]


def _request(arguments: Arguments, problem: tuple[int, ...] | None) -> tuple[Request, Problem]:
    request = read_arguments(arguments)
    sizes = problem_of(problem) or request.problem
    if sizes is None:
        raise UsageError("autotune needs the sizes of the product", hints=["problem=(M, N, K), or arrays"])
    if sizes.batches > 1 and request.mode == "gemm":
        request = replace(request, mode="batched")
    return request, sizes


def _asked(request: Request, target: str, epilogue: EpilogueLike, operands: Mapping[str, Any] | None) -> str:
    source = "no source" if request.c is None else str(request.c)
    # For the graph's key alone: what the instruction adds in is part of the winner.
    accumulator = USUAL_ACCUMULATORS.get(request.a.dtype, "f32")
    graph = request.epilogue(epilogue, operands, accumulator)
    return " ".join([target, str(request.a), str(request.b), source, str(request.d), request.mode, graph.key])
