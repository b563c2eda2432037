"""The arguments of grouped products as their user gives them, held against each other.

| packing | A | B | C, D and other full operands | offsets |
|---|---|---|---|---|
| `list` | (M, K) a group | (K, N) a group | (M, N) a group | none |
| `rows` | (ΣM, K) | (groups, K, N) | (ΣM, N) | where each group ends in ΣM |
| `columns` | (groups, M, K) | (K, ΣN) | (M, ΣN) | where each group ends in ΣN |
| `depth` | (M, ΣK) | (ΣK, N) | (groups, M, N) | where each group ends in ΣK |
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, cast

from cutecc.arguments.arrays import Array
from cutecc.arguments.dtypes import find_numeric_type
from cutecc.errors import ArgumentError
from cutecc.operations.arguments import Matrix, argument_view, lives_on_gpu, read
from cutecc.operations.epilogue.values import Input, Kind, Output
from cutecc.operations.grouped.description import SCALE_BLOCK, Packing
from cutecc.operations.grouped.problem import VARYING
from cutecc.operations.problem_sizes import Problem
from cutecc.operations.vector_arguments import vector_view
from cutecc.operations.views import View
from cutecc.runtime.checks import array_text

_SHAPES: dict[Packing, tuple[str, str, str]] = {
    "rows": ("(ΣM, K)", "(groups, K, N)", "(ΣM, N)"),
    "columns": ("(groups, M, K)", "(K, ΣN)", "(M, ΣN)"),
    "depth": ("(M, ΣK)", "(ΣK, N)", "(groups, M, N)"),
}
_LIMIT = 1 << 31


def shape_text(packing: Packing, name: str) -> str:
    """The shape of a packed argument, `(ΣM, K)`."""
    return _SHAPES[packing][{"A": 0, "B": 1}.get(name, 2)]


def check_rank(packing: Packing, each: Matrix) -> None:
    """Raise `ArgumentError` for a matrix of another number of modes."""
    expected = shape_text(packing, each.name)
    if len(each.array.shape) != expected.count(",") + 1:
        raise ArgumentError(
            f"argument '{each.name}': {array_text(each.array)} is not {expected}, as of groups packed as {packing}"
        )


def agree(packing: Packing, matrices: Mapping[str, Matrix], groups: int) -> Problem:
    """The sizes that packed matrices have together, with the groups as the batch; of what varies that of all groups.

    Raises `ArgumentError`, which names all shapes.
    """
    a, b = matrices["A"], matrices["B"]
    found = Problem(a.rows, b.columns, a.columns, groups)
    problems = [*_misfits(packing, matrices, found)]
    uneven = [each for each in matrices.values() if len(each.array.shape) == 3 and each.batches != groups]
    problems += [f"{each.name} has {each.batches} groups, and offsets {groups}" for each in uneven]
    if problems:
        shapes = ", ".join(f"{name} {each.array.shape}" for name, each in matrices.items())
        words = zip(("A is", "B is", "C and D are"), _SHAPES[packing], strict=True)
        hints = [f"packed as {packing}, {', '.join(' '.join(each) for each in words)}"]
        if uneven and all(each.batches == groups - 1 for each in uneven):
            hints.append("offsets are where each group ends, without a 0 in front")
        raise ArgumentError(f"the shapes do not fit: {shapes}: {'; '.join(problems)}", hints=hints)
    return found


def _misfits(packing: Packing, matrices: Mapping[str, Matrix], sizes: Problem) -> Iterator[str]:
    """What keeps packed matrices from being multiplied, whatever their numbers of groups."""
    a, b = matrices["A"], matrices["B"]
    if max(sizes.m, sizes.n, sizes.k, sizes.batches) >= _LIMIT:
        yield "no size may be 2^31 or more"
    if a.columns != b.rows:
        yield f"K is {a.columns} in A and {b.rows} in B"
    for name, each in matrices.items():
        if name not in ("A", "B") and (each.rows, each.columns) != (sizes.m, sizes.n):
            yield f"{name} is not of {sizes.m}×{sizes.n} elements" + (" a group" if packing == "depth" else "")


def read_offsets(value: Any) -> Array:
    """Offsets in memory. Raises `ArgumentError` for what are none."""
    array = cast(Array, read("offsets", value))
    dtype = find_numeric_type(array.dtype)
    if dtype is None or dtype.name != "i32" or len(array.shape) != 1:
        hints = [".to(torch.int32)"] if dtype is not None and dtype.name == "i64" else []
        raise ArgumentError(f"argument 'offsets': {array_text(array)} is not i32[groups]", hints=hints)
    if array.shape[0] > 1 and array.stride[0] != 1:
        raise ArgumentError(f"argument 'offsets': {array_text(array)} has gaps", hints=["pass offsets.contiguous()"])
    return array


def ends_on_host(value: Any) -> tuple[int, ...] | None:
    """Where groups end; `None` for offsets on a device, which are not read. Raises `ArgumentError` for no offsets."""
    if lives_on_gpu(value):
        return None
    listed: Any = value
    if not isinstance(value, list | tuple):
        if cast(Array, read("offsets", value)).device != "cpu":
            return None
        listed = value.tolist() if hasattr(value, "tolist") else _numpy(value).tolist()
    try:
        ends = tuple(map(_whole, listed))
    except TypeError:
        raise ArgumentError("argument 'offsets' holds no whole numbers: they are where each group ends") from None
    if any(second < first for first, second in pairwise((0, *ends))) or (ends and ends[-1] >= _LIMIT):
        raise ArgumentError(
            "argument 'offsets' does not ascend: it says where each group ends",
            hints=["of sizes: itertools.accumulate(sizes)"],
        )
    return ends


def _whole(value: Any) -> int:
    """A whole number. Raises `TypeError` for what is none, as `operator.index` does, and for a truth value."""
    if isinstance(value, bool):
        raise TypeError
    return operator.index(value)


def _numpy(value: Any) -> Any:
    import numpy as np

    return np.from_dlpack(value)


def check_ends(packing: Packing, ends: Sequence[int], problem: Problem, divisor: int) -> None:
    """Raise `ArgumentError` for ends, known on the host, that lie outside of the matrices or where no group may end."""
    total = (problem.m, problem.n, problem.k)[VARYING[packing]]
    if ends and ends[-1] > total:
        raise ArgumentError(f"offsets end at {ends[-1]}, and {'MNK'[VARYING[packing]]} of all groups is {total}")
    wrong = next((each for each in ends if each % divisor), None)
    if wrong is not None:
        raise ArgumentError(
            f"a group ends at {wrong}, no multiple of the {divisor} elements that are read at once",
            hints=[
                "a block of K with one scale is of one group"
                if divisor == SCALE_BLOCK
                else "describe what is contiguous along the groups with a smaller alignment: f16:row:1 for any"
            ],
        )


def group_sizes(packing: Packing, ends: Sequence[int], problem: Problem) -> list[tuple[int, int, int]]:
    """(M, N, K) of each group."""
    axis, whole = VARYING[packing], (problem.m, problem.n, problem.k)
    extents = [second - first for first, second in pairwise((0, *ends))]
    found = [tuple(extent if axis == each else size for each, size in enumerate(whole)) for extent in extents]
    return cast("list[tuple[int, int, int]]", found)


def packed_view(each: Matrix, *, turned: bool) -> View:
    """What a kernel takes for a packed matrix: (rows, columns), or with the groups last; `turned` (columns, rows)."""
    whole: View = argument_view(each, turned=turned)
    if len(each.array.shape) == 3:
        return whole
    return View(each.array, each.array.dtype, whole.shape[:2], whole.stride()[:2])


def packed_vector(packing: Packing, operand: Input | Output, array: Array, problem: Problem) -> View:
    """What a kernel takes for a row, a column or a scalar in memory. Raises `ArgumentError` for another shape."""
    if not is_packed(packing, operand.kind):
        return vector_view(operand, array, problem)
    whole = vector_view(operand, array, Problem(problem.m, problem.n, problem.k))
    return View(array, operand.dtype, whole.shape[:1], whole.stride()[:1])


def is_packed(packing: Packing, kind: Kind) -> bool:
    """Whether the values of all groups follow one another, since there is one for each extent that varies."""
    return (packing, kind) in (("rows", "column"), ("columns", "row"))
