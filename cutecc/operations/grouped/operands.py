"""What arrays that are given for an epilogue's operands stand for, by their shapes among groups of some sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from cutecc.arguments.arrays import Array, read_array
from cutecc.errors import ArgumentError, EpilogueError, SpecError
from cutecc.operations.epilogue.declarations import Column, Declaration, Full, Row, Scalar, declared
from cutecc.operations.epilogue.values import Kind
from cutecc.operations.grouped.arguments import is_packed
from cutecc.operations.grouped.description import Packing
from cutecc.operations.grouped.problem import GroupedProblem
from cutecc.operations.operand import Operand
from cutecc.operations.problem_sizes import Problem
from cutecc.operations.vector_arguments import shapes_of


def declared_operands(
    operands: Mapping[str, Any], packing: Packing, problem: GroupedProblem | None, whole: Problem | None = None
) -> dict[str, Any]:
    """An epilogue's operands, with what arrays, and of `list` lists of them, stand for. Others are left as they are.

    `whole` are the sizes of packed matrices, by default those of all groups together. Raises `EpilogueError` for arrays
    of a shape that no operand has, or more than one, and without a problem.
    """
    found: dict[str, Any] = {}
    for name, value in operands.items():
        arrays = _arrays(name, value) if name != "accum" else []
        if not arrays:
            found[name] = value
        elif problem is None:
            raise EpilogueError(
                f"what the operand {name} of shape {arrays[0].shape} is, only the sizes of groups tell",
                hints=["problem=(M, N, K, groups) says them, GroupedGemm.for_arguments reads them", _declare(name)],
            )
        elif isinstance(value, list | tuple):
            kinds = list(_kinds_of_list(arrays, problem)) if packing == "list" else list[Kind]()
            found[name] = _declared(name, cast("Sequence[Any]", value), arrays, kinds)
        else:
            kinds = list(_kinds(packing, arrays[0].shape, whole or problem.whole(packing)))
            each = _declared(name, [value], arrays, kinds)
            # Where groups begin among values that follow one another, nobody knows.
            begins_anywhere = isinstance(each, Row | Column) and is_packed(packing, kinds[0])
            found[name] = replace(each, alignment=1) if begins_anywhere else each
    return found


def _arrays(name: str, value: Any) -> list[Array]:
    """The arrays that are given for an operand; none where it is declared, a number, or what is no array."""
    if isinstance(value, Full | Row | Column | Scalar | Operand | str):
        return []
    listed = cast("Sequence[Any]", value) if isinstance(value, list | tuple) else [value]
    try:
        arrays = [read_array(each) for each in listed]
    except SpecError as error:
        raise ArgumentError(f"the operand '{name}': {error.message}", hints=error.hints) from None
    return [each for each in arrays if each is not None] if None not in arrays else []


def _kinds(packing: Packing, shape: tuple[int, ...], whole: Problem) -> Iterator[Kind]:
    """What an array of a shape can be: for packed groups anything, of lists a scalar."""
    kinds: list[Kind] = ["full", "row", "column", "scalar"] if packing != "list" else ["scalar"]
    for kind in kinds:
        if kind == "full":
            fits = shape == ((whole.batches, whole.m, whole.n) if packing == "depth" else (whole.m, whole.n))
        else:
            fits = shape in shapes_of(kind, replace(whole, batches=1) if is_packed(packing, kind) else whole)
        if fits:
            yield kind


def _kinds_of_list(arrays: Sequence[Array], problem: GroupedProblem) -> Iterator[Kind]:
    shapes = [each.shape for each in arrays]
    if shapes == [(m, n) for m, n, _ in problem.sizes]:
        yield "full"
    if shapes == [(n,) for _, n, _ in problem.sizes]:
        yield "row"
    if shapes == [(m,) for m, _, _ in problem.sizes]:
        yield "column"


def _declared(name: str, values: Sequence[Any], arrays: Sequence[Array], kinds: Sequence[Kind]) -> Declaration:
    """What arrays, one or those of all groups, are declared as that can be of some kinds."""
    if len(kinds) != 1:
        reason = f"can be {' or '.join(kinds)}" if kinds else "is none"
        many = " and so on" if len(arrays) > 1 else ""
        raise EpilogueError(
            f"the operand {name} of shape {arrays[0].shape}{many} {reason} in a product of these groups",
            hints=[_declare(name)],
        )
    found = [declared(name, each, compute="f32", size=None, kind=kinds[0]) for each in values]
    first = found[0]
    if isinstance(first, Scalar):
        return first
    return replace(first, alignment=min(each.alignment for each in found if not isinstance(each, Scalar)))


def _declare(name: str) -> str:
    return f'declare it: {name}=Row("f16"), Column, Full or Scalar'
