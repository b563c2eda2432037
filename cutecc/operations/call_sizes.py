"""What the sizes of a product say of a call: slices of K, the workspace, and results that there are none of."""

from __future__ import annotations

import operator

from cutecc.errors import ArgumentError
from cutecc.operations.description import SPLIT_K_MODES, GemmDescription
from cutecc.operations.epilogue.graph import Epilogue
from cutecc.operations.kernels.workspace import ALIGNMENT, needs_workspace, regions
from cutecc.operations.problem_sizes import Problem
from cutecc.operations.tile_model import slices as usual_slices


def slices_of(description: GemmDescription, given: int | None, problem: Problem, hint: str) -> int:
    """Into how many slices K is split; `hint` says how an operation that splits K is described.

    Raises `ArgumentError` for a number that is none, or too many.
    """
    takes_slices = description.mode in SPLIT_K_MODES
    if given is None:
        is_empty = 0 in (problem.m, problem.n, problem.batches)
        return usual_slices(description, problem) if takes_slices and not is_empty else 1
    try:
        count = operator.index(given)
    except TypeError:
        raise ArgumentError(f"slices={given!r} is no whole number") from None
    if not takes_slices and count != 1:
        raise ArgumentError(f"slices={count}, and the operation is of mode {description.mode}", hints=[hint])
    if not 1 <= count <= max(1, problem.k):
        raise ArgumentError(f"K = {problem.k} cannot be split into {count} slices")
    return count


def workspace_sizes(compiled: GemmDescription, problem: Problem, slices: int) -> tuple[int, int]:
    """The bytes of workspace of a call of what is compiled, and how many of them, at the beginning, have to be zeros
    before the first call."""
    if not needs_workspace(compiled):
        return 0, 0
    found = regions(compiled, problem.m, problem.n, problem.k, problem.batches, slices)
    size = found[-1].offset + found[-1].bytes if found else 0
    # A kernel that takes a workspace takes one also where it has nothing to put there, as with K = 0.
    return max(ALIGNMENT, size), max((each.offset + each.bytes for each in found if each.is_zeroed), default=0)


def check_reductions(epilogue: Epilogue, problem: Problem) -> None:
    """Raise `ArgumentError` where an output would be a reduction of no elements."""
    if 0 not in (problem.m, problem.n):
        return
    values = {"row": problem.n, "column": problem.m, "scalar": 1}
    for each in epilogue.outputs:
        if values.get(each.kind, 0) * problem.batches:
            raise ArgumentError(f"'{each.name}' would reduce a D of {problem.m}×{problem.n}, which has no elements")
