"""Which kernels there are for arguments, with uniform metadata, and why there is none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, cast, get_args, overload

from cutecc.errors import ArgumentError, Error, UsageError
from cutecc.operations import candidates
from cutecc.operations.any_description import AnyDescription, Description
from cutecc.operations.choosing import (
    EpilogueLike,
    by_name,
    epilogue_of,
    example,
    mode_of,
    problem_of,
    sizes_of,
    target_name,
    usual_result,
)
from cutecc.operations.convolution.description import ConvolutionDescription
from cutecc.operations.convolution.rules import check_form
from cutecc.operations.description import SPLIT_K_MODES, SPLITS, GemmDescription, Mode
from cutecc.operations.epilogue.graph import Epilogue
from cutecc.operations.facts import facts_of
from cutecc.operations.fitting_instructions import fitting_instructions
from cutecc.operations.grouped.description import GroupedDescription
from cutecc.operations.instruction import ARITHMETICS, MathInstruction
from cutecc.operations.metadata_filter import Fact, MetadataFilter
from cutecc.operations.operand import Operand, Role, as_operand
from cutecc.operations.operation import Operation
from cutecc.operations.status import YES, Status
from cutecc.operations.tile_model import LARGE, Problem, cycles, slices
from cutecc.operations.views import MatrixArray
from cutecc.runtime.checks import kind_text

Arguments = str | Mapping[str, Any] | Sequence[Any]
"""What a product is of: types, `f16` or `f16,f16,f32` (A, B, D), `tf32` for f32 that may be rounded to that; a
dictionary from `a`, `b`, `c`, `d` to operands, or from `A`, `B`, `C`, `D` to arrays; arrays (A, B, D) or (A, B, C, D).
"""


@dataclass(frozen=True)
class Found(Generic[AnyDescription]):
    """A kernel that there is."""

    description: AnyDescription

    @property
    def name(self) -> str:
        """Short, for tables."""
        return self.description.name

    @cached_property
    def facts(self) -> dict[str, Fact]:
        """What the kernel is, by the keys that a filter knows."""
        return facts_of(self.description)

    @property
    def operation(self) -> Any:
        """The operation, to compile and run: a `Gemm`, or one of another kind."""
        from cutecc.operations.loading import kind_of

        return kind_of(self.description).of(self.description)


@overload
def find(
    arguments: Operation[AnyDescription],
    target: None = None,
    *,
    where: str | MetadataFilter = "",
    problem: Any = None,
    limit: int | None = None,
) -> list[Found[AnyDescription]]: ...
@overload
def find(
    arguments: Arguments | None = None,
    target: str | None = None,
    *,
    where: str | MetadataFilter = "",
    epilogue: EpilogueLike = "identity",
    operands: Mapping[str, Any] | None = None,
    problem: tuple[int, ...] | None = None,
    limit: int | None = None,
) -> list[Found[GemmDescription]]: ...
def find(
    arguments: Arguments | Operation[Any] | None = None,
    target: str | None = None,
    *,
    where: str | MetadataFilter = "",
    epilogue: EpilogueLike = "identity",
    operands: Mapping[str, Any] | None = None,
    problem: Any = None,
    limit: int | None = None,
) -> list[Any]:
    """The kernels for arguments on a target, the fastest first by estimate; without arguments everything on offer.

    Of an operation those with the same results: other tiles, instructions, iterators, ways to split K. Its target,
    epilogue and operands are its own.

    `where` are conditions on their metadata, `tile.m=128,cluster.n>=2,unit=wgmma`; of each instruction the 64 best
    tiles are looked at. `operands` are those of an epilogue that is a function besides C and D, as `Gemm` takes them.
    `problem` is (M, N, K) or with the batch behind, that of arrays by default; of an operation what it takes for one.
    Raises `UsageError` for arguments that are none, and for a key that no metadata has; `ArgumentError` for sizes that
    no kernel with an operation's results can take; `NoGpuError` where nothing names a target.
    """
    chosen = where if isinstance(where, MetadataFilter) else MetadataFilter.parse(where) if where else MetadataFilter()
    if isinstance(arguments, Operation):
        if target is not None or operands is not None or epilogue != "identity":
            raise UsageError("target, epilogue and operands are those of the operation", hints=["find(op, where=…)"])
        chosen.check_keys({*facts_of(arguments.description)})
        described: Iterable[Description] = by_other_means(arguments, problem)
    else:
        described = _of_arguments(arguments, target_name(target), chosen, epilogue, operands, problem_of(problem))
    found: list[Found[Any]] = []
    known = False
    for each in described:
        candidate = Found(each)
        if not known:
            chosen.check_keys({*candidate.facts})
            known = True
        if limit is not None and len(found) >= limit:
            break
        if chosen.failing(candidate.facts) is None:
            found.append(candidate)
    return found


def _of_arguments(
    arguments: Arguments | None,
    target: str,
    chosen: MetadataFilter,
    epilogue: EpilogueLike,
    operands: Mapping[str, Any] | None,
    problem: Problem | None,
) -> Iterable[GemmDescription]:
    if arguments is None:
        return candidates.gemm_descriptions(target)
    request = read_arguments(arguments)
    arithmetics = chosen.asked("arithmetic")
    sizes = problem or request.problem or LARGE
    return ranked(request, target, epilogue, sizes, operands=operands, arithmetics=arithmetics)


def by_other_means(op: Operation[Any], problem: Any) -> Sequence[Description]:
    """The descriptions with the results of an operation, the least estimated time first.

    Raises `UsageError` for a `problem` that is none of its kind, `ArgumentError` for one that none of them can take.
    """
    from cutecc.operations.convolution import candidates as of_convolutions
    from cutecc.operations.convolution import words
    from cutecc.operations.grouped import candidates as of_groups
    from cutecc.operations.grouped.problem import GroupedProblem

    description: Description = op.description
    own: Any = cast(Any, op).problem
    if isinstance(description, ConvolutionDescription):
        sizes = words.problem_of(problem, description.rank) or own
        if sizes is not None:
            check_form(description, sizes)
        return of_convolutions.by_other_means(description, sizes)
    if isinstance(description, GroupedDescription):
        groups = own if problem is None else GroupedProblem.of(problem, description.packing)
        return of_groups.by_other_means(description, groups)
    sizes = problem_of(problem) or own or LARGE
    found: list[GemmDescription] = []
    for each in candidates.by_other_means(description, [description.mode]):
        with suppress(UsageError):
            found += candidates.with_tiles([each], sizes)
    found.sort(key=lambda each: cycles(each, sizes))
    return found


def supports(
    arguments: Arguments,
    target: str | None = None,
    *,
    epilogue: EpilogueLike = "identity",
    operands: Mapping[str, Any] | None = None,
) -> Status:
    """Whether there is a kernel for arguments on a target; if not, why. Arguments are as for `find`."""
    try:
        found = find(arguments, target, epilogue=epilogue, operands=operands, limit=1)
    except Error as error:
        return Status.of(error)
    return YES if found else Status(False, "no tile fits these operands")


@dataclass(frozen=True)
class Request:
    """A product of which the means are to be chosen."""

    a: Operand
    b: Operand
    d: Operand
    c: Operand | None = None
    problem: Problem | None = None
    mode: Mode = "gemm"

    def epilogue(self, epilogue: EpilogueLike, operands: Mapping[str, Any] | None, accumulator: str) -> Epilogue:
        """The epilogue that is meant, of sums in `accumulator`; `operands` as `Gemm` takes them.

        Raises `EpilogueError` for what is none.
        """
        given = by_name(operands)
        if given and callable(epilogue) and self.problem is not None:  # whose extents tell what other arrays are
            given["accum"] = (self.problem.m, self.problem.n, self.problem.batches)
        return epilogue_of(epilogue, given, self.c, self.d, accumulator)


def read_arguments(arguments: Arguments) -> Request:
    """What a product is of. Raises `UsageError` for anything else."""
    if isinstance(arguments, str):
        words = [word.strip() for word in arguments.split(",")]
        if len(words) not in (1, 3):
            raise UsageError(
                f"'{arguments}' names {len(words)} types", hints=["one is A's and B's; three are those of A, B and D"]
            )
        a = as_operand(words[0], "a")
        b = as_operand(words[1] if len(words) == 3 else words[0], "b")
        return Request(a, b, as_operand(words[2], "d").stored if len(words) == 3 else usual_result(a))
    if isinstance(arguments, Mapping) and "a" in arguments:
        roles: tuple[Role, ...] = get_args(Role)
        given = {role: as_operand(each, role) for role in roles if (each := arguments.get(role)) is not None}
        a, b = given.get("a"), given.get("b")
        if a is None or b is None or set(arguments) - {*roles}:
            raise UsageError(f"a product is of a, b, d and maybe c, not of {', '.join(arguments)}")
        return Request(a, b, given.get("d") or usual_result(a), given.get("c"))
    return _of_arrays(arguments)


def _of_arrays(arguments: Mapping[str, Any] | Sequence[Any]) -> Request:
    from cutecc.operations.arguments import described

    if not isinstance(arguments, Mapping):
        if not isinstance(arguments, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UsageError(f"a product is of types, a dictionary or arrays, not of {kind_text(arguments)}")
        names = {3: ("A", "B", "D"), 4: ("A", "B", "C", "D")}.get(len(arguments))
        if names is None:
            raise UsageError(f"a product is of (A, B, D) or (A, B, C, D), not of {len(arguments)} arrays")
        arguments = dict(zip(names, arguments, strict=True))
    given = {name: each for name, each in arguments.items() if each is not None}
    if set(given) - {"A", "B", "C", "D"} or not {"A", "B", "D"} <= set(given):
        raise UsageError(f"a product is of A, B, D and maybe C, not of {', '.join(given)}")
    arrays = {name: example(name, each) for name, each in given.items()}
    operands = {name: described(name, each) for name, each in given.items()}
    mode, problem = mode_of(given.values(), arrays.values()) or "gemm", sizes_of(arrays)
    if mode == "array":
        problem = replace(problem, batches=_count(given))
    return Request(operands["A"], operands["B"], operands["D"], operands.get("C"), problem, mode)


def _count(arrays: Mapping[str, Any]) -> int:
    """How many matrices each argument has. Raises `ArgumentError` for arguments of different numbers."""
    counts: dict[str, int] = {}
    for name, each in arrays.items():
        listed = each.addresses if isinstance(each, MatrixArray) else each
        counts[name] = len(cast("Sequence[Any]", listed)) if isinstance(listed, list | tuple) else 1
    if len(set(counts.values())) > 1:
        numbers = ", ".join(f"{count} of {name}" for name, count in counts.items())
        raise ArgumentError(f"the numbers of matrices differ: {numbers}")
    return counts["A"]


def ranked(
    request: Request,
    target: str,
    epilogue: EpilogueLike = "identity",
    problem: Problem = LARGE,
    *,
    split: bool = False,
    operands: Mapping[str, Any] | None = None,
    arithmetics: Sequence[str] = (),
) -> list[GemmDescription]:
    """All descriptions for a product, the least estimated time first; with `split`, those that split K too.

    With `arithmetics` those that multiply and add in one of these ways, if there are any, else in the usual one. Raises
    `UsageError` with the reason when there is none.
    """
    found: list[tuple[float, int, GemmDescription]] = []
    matrices = request.a, request.b, request.d
    instructions = _instructions(request, target, arithmetics)
    modes: tuple[Mode, ...] = (request.mode, *(SPLITS if split and request.mode == "gemm" else ()))
    for instruction in instructions:
        graph = request.epilogue(epilogue, operands, instruction.accumulator)
        for mode in modes:
            with suppress(UsageError):
                described = candidates.described(target, instruction, matrices, request.c, graph, mode)
                for each in candidates.with_tiles([described], problem):
                    # Not to split K is what the mode without slices is for.
                    if mode not in SPLIT_K_MODES or mode == request.mode or slices(each, problem) > 1:
                        found.append((cycles(each, problem), len(found), each))
    if not found:  # says why
        graph = request.epilogue(epilogue, operands, instructions[0].accumulator)
        first = candidates.choose(*matrices, target=target, c=request.c, epilogue=graph, mode=request.mode)
        found.append((0.0, 0, first))
    return [each for _, _, each in sorted(found, key=lambda entry: entry[:2])]


def _instructions(request: Request, target: str, arithmetics: Sequence[str]) -> list[MathInstruction]:
    found: list[MathInstruction] = []
    for each in ARITHMETICS:
        if each in arithmetics:
            with suppress(UsageError):
                found += fitting_instructions(request.a, request.b, arithmetic=each, target=target)
    return found or fitting_instructions(request.a, request.b, target=target)
