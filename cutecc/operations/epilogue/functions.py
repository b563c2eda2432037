"""The functions of the epilogue language. They take traced values, and numbers and numpy arrays too.

Inside of a traced function they are known by these names without an import, also those that Python has of its own.
On arrays, axis 0 is along a matrix's columns and axis 1 along its rows, whatever batches there are before.
"""

from __future__ import annotations

import builtins
import functools
import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

from cutecc.operations.epilogue.declarations import known_type
from cutecc.operations.epilogue.symbolic import Value
from cutecc.operations.epilogue.values import Operation, Reduction

__all__ = [
    "abs",
    "clamp",
    "erf",
    "exp",
    "gelu",
    "gelu_tanh",
    "hardswish",
    "identity",
    "leaky_relu",
    "log",
    "max",
    "maximum",
    "min",
    "minimum",
    "normal_cdf",
    "relu",
    "rsqrt",
    "sigmoid",
    "silu",
    "sqrt",
    "sum",
    "tanh",
    "to",
    "where",
]


def identity(x: Any) -> Any:
    """`x` itself."""
    return x


def relu(x: Any) -> Any:
    """`x` where it is positive, else 0; NaN of NaN."""
    return maximum(x, 0.0)


def leaky_relu(x: Any, slope: Any = 0.01) -> Any:
    """`x` where it is positive, else `slope * x`."""
    return where(x > 0, x, slope * x)


def sigmoid(x: Any) -> Any:
    """`1 / (1 + exp(-x))`."""
    return _applied("sigmoid", x)


def tanh(x: Any) -> Any:
    """The hyperbolic tangent."""
    return _applied("tanh", x)


def silu(x: Any) -> Any:
    """`x * sigmoid(x)`."""
    return x * sigmoid(x)


def hardswish(x: Any) -> Any:
    """`x * clamp(x + 3, 0, 6) / 6`."""
    return x * clamp(x + 3.0, 0.0, 6.0) * (1 / 6)


def gelu(x: Any) -> Any:
    """`x` times `normal_cdf(x)`."""
    return x * normal_cdf(x)


def gelu_tanh(x: Any) -> Any:
    """The approximation of `gelu` by a hyperbolic tangent."""
    return 0.5 * x * (1.0 + tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def exp(x: Any) -> Any:
    """e to the power of `x`."""
    return _applied("exp", x)


def log(x: Any) -> Any:
    """The natural logarithm."""
    return _applied("log", x)


def sqrt(x: Any) -> Any:
    """The square root."""
    return _applied("sqrt", x)


def rsqrt(x: Any) -> Any:
    """`1 / sqrt(x)`."""
    return _applied("rsqrt", x)


def erf(x: Any) -> Any:
    """The error function."""
    return _applied("erf", x)


def normal_cdf(x: Any) -> Any:
    """The share of the standard normal distribution below `x`, `(1 + erf(x / sqrt(2))) / 2`."""
    return _applied("normal_cdf", x)


def abs(x: Any) -> Any:
    """`x` without its sign."""
    return builtins.abs(x)


def clamp(x: Any, low: Any, high: Any) -> Any:
    """`x`, at least `low` and at most `high`; NaN of NaN."""
    return minimum(maximum(x, low), high)


def where(condition: Any, x: Any, y: Any) -> Any:
    """`x` where the condition is true, else `y`."""
    # A flag of Python's decides while the function is traced.
    if isinstance(condition, bool):
        return x if condition else y
    return _applied("where", condition, x, y)


def maximum(x: Any, y: Any) -> Any:
    """The larger one; NaN when either is NaN."""
    return _applied("max", x, y)


def minimum(x: Any, y: Any) -> Any:
    """The smaller one; NaN when either is NaN."""
    return _applied("min", x, y)


def to(x: Any, dtype: Any) -> Any:
    """`x` rounded to a type, as an output of that type is."""
    if isinstance(x, Value):
        return x.to(dtype)
    from cutecc.operations.epilogue.rounding import rounded

    return rounded(x, known_type(dtype, None))


def sum(x: Any, axis: Any = None) -> Any:
    """The sum over the rows (axis 0: one value a column), the columns (axis 1: one a row) or all elements.

    Of a list or another iterable, Python's own sum.
    """
    if isinstance(x, Value) or _is_array(x):
        return _reduced("sum", x, axis)
    return functools.reduce(operator.add, x)


def max(*values: Any, axis: Any = None) -> Any:
    """Of one value its maximum over an axis, as `sum`; of several the largest, element by element."""
    return _extreme("max", maximum, builtins.max, values, axis)


def min(*values: Any, axis: Any = None) -> Any:
    """Of one value its minimum over an axis, as `sum`; of several the smallest, element by element."""
    return _extreme("min", minimum, builtins.min, values, axis)


def _extreme(
    name: Reduction, pairwise: Callable[[Any, Any], Any], python: Callable[..., Any], values: Iterable[Any], axis: Any
) -> Any:
    given = tuple(values)
    if len(given) != 1:
        return functools.reduce(pairwise, given) if given else python(*given)
    if isinstance(given[0], Value) or _is_array(given[0]):
        return _reduced(name, given[0], axis)
    return functools.reduce(pairwise, given[0])


def _reduced(name: Reduction, x: Any, axis: Any) -> Any:
    if isinstance(x, Value):
        return x.reduced(name, axis)
    import numpy as np

    axes = {0: -2, 1: -1}.get(axis, axis) if isinstance(axis, int) else (-2, -1)
    return {"sum": np.sum, "max": np.max, "min": np.min}[name](x, axis=axes)


def _applied(operation: Operation, *arguments: Any) -> Any:
    """The step of an operation on values; on numbers and arrays, what numpy computes."""
    value = next((each for each in arguments if isinstance(each, Value)), None)
    if value is not None:
        return value.trace.step(operation, *arguments)
    from cutecc.operations.epilogue.rounding import OPERATIONS

    result = OPERATIONS[operation](*arguments)
    return float(result) if not getattr(result, "shape", ()) else result


def _is_array(x: Any) -> bool:
    return len(getattr(x, "shape", ())) > 0
