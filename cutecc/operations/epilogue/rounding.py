"""What the steps of epilogues compute, and numbers rounded to the types of operands, in numpy's float64."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cutecc.operations.epilogue.values import Conversion, default_conversion

Array = NDArray[Any]


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


OPERATIONS: Mapping[str, Callable[..., Any]] = {
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
"""By the operation of a step; `to` is `rounded`."""
