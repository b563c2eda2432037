"""What an epilogue computes, in numpy's float64 on whole matrices: what kernels are compared with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from cutecc.errors import EpilogueError
from cutecc.operations.epilogue.graph import Epilogue
from cutecc.operations.epilogue.rounding import OPERATIONS, Array, rounded
from cutecc.operations.epilogue.trace import with_language
from cutecc.operations.epilogue.values import (
    ACCUM,
    INFINITIES,
    Argument,
    Input,
    Kind,
    Output,
)


@dataclass(frozen=True)
class Evaluated:
    """One output, in the shape of its kind: (L, M, N), (L, N), (L, M) or (L,)."""

    exact: Array
    """Before it is rounded, in float64."""
    rounded: Array
    """As numbers of the output's type, still in float64."""


def evaluate(epilogue: Epilogue, accum: Any, operands: Mapping[str, Any] | None = None) -> dict[str, Evaluated]:
    """Every output of `epilogue` by its name.

    `accum` is (L, M, N), or (M, N), and then outputs have no batches either. Full operands are like it; rows (N,) or
    (L, N), columns (M,) or (L, M), scalars a number or (L,); rows also (…, 1, N) and columns (…, M, 1). Operands of
    one batch are for all. Numbers with a default can be missing. Raises `EpilogueError` for operands that are missing
    or of another shape.
    """
    matrix = np.asarray(accum, np.float64)
    batched = matrix.ndim == 3
    size = matrix.shape if batched else (1, *matrix.shape)
    values: dict[Argument, Any] = {ACCUM: matrix.reshape(size), **INFINITIES}
    given = operands or {}
    for operand in epilogue.inputs:
        values[operand.name] = _spread(operand, given.get(operand.name, operand.default), size)
    with np.errstate(all="ignore"):
        for step in epilogue.steps:
            arguments = [values[each] if isinstance(each, str) else each for each in step.arguments]
            if step.operation == "to":
                values[step.name] = rounded(arguments[0], step.dtype)
            else:
                values[step.name] = OPERATIONS[step.operation](*arguments)
        results = {each.name: _reduced(each, np.broadcast_to(values[each.value], size)) for each in epilogue.outputs}
        return {
            each.name: Evaluated(
                exact if batched else exact[0],
                rounded(exact if batched else exact[0], each.dtype, each.conversion),
            )
            for each in epilogue.outputs
            for exact in [results[each.name]]
        }


def evaluate_function(
    function: Callable[..., Any], epilogue: Epilogue, accum: Any, operands: Mapping[str, Any] | None = None
) -> dict[str, Array]:
    """What the function that `epilogue` was traced from returns for numpy arrays, before anything is rounded.

    It is simply called; so it must not use what arrays do not have, `x.to(…)` for one: `to(x, …)` is for both.
    """
    matrix = np.asarray(accum, np.float64)
    batched = matrix.ndim == 3
    size = matrix.shape if batched else (1, *matrix.shape)
    given = operands or {}
    arguments = {each.name: _spread(each, given.get(each.name, each.default), size) for each in epilogue.inputs}
    with np.errstate(all="ignore"):
        returned = with_language(function)(matrix.reshape(size), **arguments)  # type: ignore[arg-type]
    found = cast("Sequence[Any]", returned if isinstance(returned, (tuple, list)) else [returned])
    if isinstance(returned, dict):
        found = list(cast("dict[str, Any]", returned).values())
    return {each.name: (value if batched else value[0]) for each, value in zip(epilogue.outputs, found, strict=True)}


def _spread(operand: Input, given: Any, size: tuple[int, ...]) -> Array:
    """An operand in a shape that numpy broadcasts over (L, M, N)."""
    if given is None:
        raise EpilogueError(f"the operand {operand.name} is missing")
    array = np.asarray(given, np.float64)
    batches, m, n = size
    inner: dict[Kind, tuple[int, int]] = {"full": (m, n), "row": (1, n), "column": (m, 1), "scalar": (1, 1)}
    vectors = {"row": n, "column": m, "scalar": 1}
    shape = array.shape
    ways: list[tuple[int, ...]] = [(1, *inner[operand.kind]), (batches, *inner[operand.kind])]
    for way in ways:
        accepted: list[tuple[int, ...]] = [way, way[1:]] if way[0] == 1 else [way]
        if operand.kind != "full":
            count = vectors[operand.kind]
            accepted += [(way[0], count), (count,)] if way[0] == 1 else [(way[0], count)]
        if operand.kind == "scalar":
            accepted += [(way[0],), ()] if way[0] == 1 else [(way[0],)]
        if shape in accepted:
            return array.reshape(way)
    raise EpilogueError(
        f"the operand {operand.name} of shape {shape} is not {operand.kind} of {m}×{n}, {batches} batches"
    )


def _reduced(output: Output, values: Array) -> Array:
    if output.reduction == "none":
        return values
    axes: dict[Kind, tuple[int, ...]] = {"row": (1,), "column": (2,), "scalar": (1, 2)}
    functions: dict[str, tuple[Callable[..., Any], float]] = {
        "sum": (np.sum, 0),
        "max": (np.max, -np.inf),
        "min": (np.min, np.inf),
    }
    function, nothing = functions[output.reduction]
    return function(values, axis=axes[output.kind], initial=nothing)
