"""Epilogues with names, written in the language that users write theirs in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from cutecc.errors import EpilogueError
from cutecc.operations.epilogue.declarations import Declaration, Full, declared
from cutecc.operations.epilogue.functions import (
    gelu,
    hardswish,
    leaky_relu,
    relu,
    sigmoid,
    silu,
    tanh,
)
from cutecc.operations.epilogue.graph import Epilogue
from cutecc.operations.epilogue.values import Conversion, is_float
from cutecc.operations.operand import Operand
from cutecc.support.spelling import did_you_mean


def _identity(accum: Any) -> Any:
    D = accum
    return D


def _linear_combination(accum: Any, C: Any, alpha: Any, beta: Any) -> Any:
    D = alpha * accum + beta * C
    return D


def _leaky_relu(accum: Any, C: Any, alpha: Any, beta: Any, slope: Any = 0.01) -> Any:
    D = leaky_relu(alpha * accum + beta * C, slope)
    return D


def _activation(function: Callable[[Any], Any]) -> Callable[..., Any]:
    """The epilogue that is a function of the linear combination."""

    def activation(accum: Any, C: Any, alpha: Any, beta: Any) -> Any:
        D = function(alpha * accum + beta * C)
        return D

    return activation


_FUNCTIONS: Mapping[str, tuple[Callable[..., Any], Conversion | None]] = {
    "identity": (_identity, None),
    "linear_combination": (_linear_combination, None),
    "linear_combination_clamp": (_linear_combination, "clamp"),
    "linear_combination_fast_clamp": (_linear_combination, "fast_clamp"),
    "relu": (_activation(relu), None),
    "leaky_relu": (_leaky_relu, None),
    "tanh": (_activation(tanh), None),
    "sigmoid": (_activation(sigmoid), None),
    "silu": (_activation(silu), None),
    "hardswish": (_activation(hardswish), None),
    "gelu": (_activation(gelu), None),
}

NAMES = tuple(_FUNCTIONS)
"""`identity` is the accumulators alone, only converted. All others are of `alpha * accum + beta * C`: as it is,
saturated (`clamp`, and `fast_clamp` for 8-bit integers), or an activation of it."""


def named_epilogue(
    name: str,
    *,
    d: Declaration | Operand | str,
    c: Declaration | Operand | str | None = None,
    accumulator: str = "f32",
) -> Epilogue:
    """The epilogue of a name in `NAMES`, of which C and D are like `c` and `d`: operands, or types alone.

    Without `c` no source is read, and there is no `beta`. Raises `EpilogueError` for an unknown name, for a source of
    `identity`, and for a conversion that the type of D does not have.
    """
    if name not in _FUNCTIONS:
        hints = [*did_you_mean(name, NAMES), f"names: {', '.join(NAMES)}"]
        raise EpilogueError(f"there is no epilogue called {name}", hints=hints)
    function, conversion = _FUNCTIONS[name]
    result = _full("D", d, conversion)
    source = result if c is None else _full("C", c, None)
    if function is _identity and c is not None:
        raise EpilogueError("the epilogue identity reads no source", hints=["linear_combination reads one"])
    operands = {"D": result} if function is _identity else {"C": source, "D": result}
    epilogue = replace(Epilogue.trace(function, accumulator=accumulator, **operands), name=name)
    return epilogue.without_source() if c is None else epilogue


def _full(name: str, given: Declaration | Operand | str, conversion: Conversion | None) -> Full:
    found = Full(given) if isinstance(given, str) else declared(name, given, compute="f32", size=None)
    if not isinstance(found, Full):
        raise EpilogueError(f"{name} is a matrix of M×N elements", hints=[f'{name.lower()}=Full("f16")'])
    if conversion == "fast_clamp" and (is_float(found.dtype) or found.dtype == "i32"):
        raise EpilogueError(
            f"a fast clamp is for results of 8-bit integers, not {found.dtype}",
            hints=["linear_combination_clamp saturates to any type"],
        )
    return Full(found.dtype, found.layout, found.alignment, conversion or found.conversion)
