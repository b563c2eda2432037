"""From arguments like those of calls to what is described: types, layouts, alignments, packing and sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from cutecc.arguments.arrays import Array
from cutecc.errors import ArgumentError
from cutecc.operations.arguments import described, read
from cutecc.operations.choosing import example
from cutecc.operations.grouped.arguments import ends_on_host, group_sizes
from cutecc.operations.grouped.description import Packing
from cutecc.operations.grouped.problem import VARYING, GroupedProblem
from cutecc.operations.operand import Operand, common_alignment
from cutecc.operations.problem_sizes import Problem

_PACKINGS: dict[tuple[int, int], Packing] = {(2, 3): "rows", (3, 2): "columns", (2, 2): "depth"}
"""By the numbers of modes of A and B."""
_EXTENTS = {"A": (0, 2), "B": (2, 1)}
"""Which of M, N, K the rows and columns are."""


@dataclass(frozen=True)
class Read:
    """What arguments say of the products that they are for."""

    packing: Packing
    problem: GroupedProblem
    whole: Problem
    """The sizes of packed matrices, which may reach further than their groups."""
    given: Mapping[str, Any]
    ends: tuple[int, ...] | None
    """Where groups end, where that is known on the host."""
    ordinal: int | None
    """The GPU of A; `None` where it lives elsewhere."""

    def operand(self, name: str, *, extents: bool) -> Operand:
        """The operand that an argument is; with `extents`, what has to be a multiple of an alignment is one of that.

        Raises `ArgumentError` for what is no matrix.
        """
        found = described(name, self.given[name], extents=extents)
        rows, columns = _EXTENTS.get(name, (0, 1))
        along = columns if found.layout == "row" else rows
        if name in _EXTENTS and along == VARYING.get(self.packing):
            # Where groups begin is as aligned as where they end, which offsets on a GPU do not tell.
            numbers = [found.alignment, *(self.ends or [1])]
            found = replace(found, alignment=common_alignment(found.dtype, numbers, ()))
        return found


def read_arguments(given: Mapping[str, Any], offsets: Any) -> Read:
    """What arguments by name say, with the offsets of packed ones. Raises `ArgumentError` for those that do not fit."""
    a, b = given["A"], given["B"]
    if isinstance(a, list | tuple):
        if offsets is not None:
            raise ArgumentError("lists of matrices have no offsets", hints=["packed matrices have"])
        sizes = _listed(cast("Sequence[Any]", a), cast("Sequence[Any]", b))
        first = example("A", a) if a else None
        ordinal = first.ordinal or 0 if first is not None and first.device == "cuda" else None
        problem = GroupedProblem(tuple(sizes))
        return Read("list", problem, problem.whole("list"), given, None, ordinal)
    arrays = {name: cast(Array, read(name, given[name])) for name in ("A", "B")}
    shapes = {name: each.shape for name, each in arrays.items()}
    packing = _PACKINGS.get((len(shapes["A"]), len(shapes["B"])))
    if packing is None:
        words = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ArgumentError(
            f"these are no matrices of groups: {words}",
            hints=[
                "A and B have 2 and 3 modes, 3 and 2, or 2 and 2; without groups of their own, Gemm multiplies them"
            ],
        )
    if offsets is None:
        raise ArgumentError(f"groups packed as {packing} need offsets", hints=["offsets=ends: where each group ends"])
    ends = ends_on_host(offsets)
    groups = cast(Array, read("offsets", offsets)).shape[0] if ends is None else len(ends)
    whole = Problem(shapes["A"][-2], shapes["B"][-1], shapes["A"][-1], groups)
    if ends is None:
        problem = GroupedProblem.of((whole.m, whole.n, whole.k, groups), packing)
    else:
        problem = GroupedProblem(tuple(group_sizes(packing, ends, whole)))
    return Read(packing, problem, whole, given, ends, arrays["A"].ordinal if arrays["A"].device == "cuda" else None)


def _listed(a: Sequence[Any], b: Sequence[Any]) -> list[tuple[int, int, int]]:
    """The sizes of lists of matrices."""
    if not isinstance(b, list | tuple) or len(a) != len(b):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError("A is a list of matrices, and B none of as many")
    found: list[tuple[int, int, int]] = []
    for index, (first, second) in enumerate(zip(a, b, strict=True)):
        left, right = (
            cast(Array, read(f"{name}[{index}]", each)).shape for name, each in (("A", first), ("B", second))
        )
        if len(left) != 2 or len(right) != 2:
            raise ArgumentError(f"group {index} has no matrices: A {left}, B {right}")
        found.append((left[0], right[1], left[1]))
    return found
