"""What an epilogue computes, in numpy's float64 on whole matrices: what kernels are compared with."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from cutecc.errors import EpilogueError
from cutecc.operations.epilogue.values import (
    ACCUM,
    INFINITIES,
    Argument,
    Conversion,
    Epilogue,
    Input,
    Kind,
    Output,
    default_conversion,
)

Array = NDArray[Any]


@dataclass(frozen=True)
class Evaluated:
    """One output, in the shape of its kind: (L, M, N), (L, N), (L, M) or (L,)."""

    exact: Array
    """Before it is rounded, in float64."""
    rounded: Array
    """As numbers of the output's type, still in float64."""


@dataclass(frozen=True)
class _Float:
    """A floating-point type: its significant bits, its smallest normal exponent, its largest number."""

    bits: int
    smallest: int
    largest: float
    saturates: bool = False


# IEEE 754; bfloat16 has the exponents of binary32; OCP 8-bit Floating Point Specification.
_FLOATS = {
    "f64": _Float(53, -1022, math.ldexp(2 - 2.0**-52, 1023)),
    "f32": _Float(24, -126, math.ldexp(2 - 2.0**-23, 127)),
    "f16": _Float(11, -14, 65504.0),
    "bf16": _Float(8, -126, math.ldexp(2 - 2.0**-7, 127)),
    "f8E4M3FN": _Float(4, -6, 448.0, saturates=True),
    "f8E5M2": _Float(3, -14, 57344.0, saturates=True),
}
_INTEGERS = {"i32": (-(2**31), 2**31 - 1), "i8": (-128, 127), "u8": (0, 255)}


def _erf(x: Array) -> Array:
    return np.vectorize(math.erf, otypes=[np.float64])(x)


def _normal_cdf(x: Array) -> Array:
    # By erfc, which keeps its digits where the share is small.
    return 0.5 * np.vectorize(math.erfc, otypes=[np.float64])(np.multiply(x, -math.sqrt(0.5)))


def _sigmoid(x: Array) -> Array:
    # Of large negative numbers, exp(-x) is infinite and the quotient 0, as it should be.
    return np.divide(1.0, 1.0 + np.exp(-x))


def _rsqrt(x: Array) -> Array:
    return np.divide(1.0, np.sqrt(x))


_OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "neg": np.negative,
    "abs": np.abs,
    "max": np.maximum,
    "min": np.minimum,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "rsqrt": _rsqrt,
    "tanh": np.tanh,
    "sigmoid": _sigmoid,
    "erf": _erf,
    "normal_cdf": _normal_cdf,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
    "where": np.where,
}


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
                values[step.name] = _OPERATIONS[step.operation](*arguments)
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
    from cutecc.operations.epilogue.calling import with_language

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


def rounded(values: Any, dtype: str, conversion: Conversion | None = None) -> Array:
    """`values` rounded to nearest, ties to even, to numbers of a type; as float64. Outside of its range they become
    what the conversion says, that of outputs of the type if not given."""
    exact = np.asarray(values, np.float64)
    conversion = conversion or default_conversion(dtype)
    if dtype in _INTEGERS:
        low, high = _INTEGERS[dtype]
        return np.clip(np.rint(np.nan_to_num(exact, nan=0.0, posinf=high, neginf=low)), low, high)
    kind = _FLOATS[dtype]
    if dtype == "f64":
        nearest = exact
    else:
        # The distance of neighbours: constant below the normal numbers.
        _, exponents = np.frexp(exact)
        quantum = np.ldexp(1.0, np.maximum(exponents - 1, kind.smallest) - (kind.bits - 1))
        nearest = np.where(np.isfinite(exact), np.rint(exact / quantum) * quantum, exact)
    if kind.saturates or conversion != "round":
        return np.clip(nearest, -kind.largest, kind.largest)
    return np.where(np.abs(nearest) > kind.largest, np.copysign(np.inf, nearest), nearest)


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
    functions: dict[str, Callable[..., Any]] = {"sum": np.sum, "max": np.max, "min": np.min}
    return functions[output.reduction](values, axis=axes[output.kind])
