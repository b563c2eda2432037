"""Comparing what a kernel wrote with what its reference expects."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from cutecc.arguments.dtypes import find_numeric_type
from cutecc.errors import UsageError
from cutecc.harness.elements import Array, Elements
from cutecc.harness.tensors import Tensor
from cutecc.record import Workload

_CHUNK = 1 << 22
"""Elements compared at a time, so that large outputs need little memory beside themselves."""
_DEFAULT_TOLERANCE = {"f64": 1e-9, "f32": 1e-4, "tf32": 1e-3, "f16": 2e-3}
_NARROW_TOLERANCE = 1e-4
"""Of narrower types, which may be a step off besides: they are computed in f32, and rounded once."""


@dataclass(frozen=True)
class Difference:
    """One element that is wrong."""

    coordinate: tuple[int, ...]
    value: int | float | bool
    expected: int | float | bool
    ulps: int | None = None
    """Steps of the type between the two, where these count."""


@dataclass(frozen=True)
class Comparison:
    """One output against what was expected."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    tolerance: float
    ulp: int | None
    """Steps of the type that an element may be off, whatever its relative error; `None` where that alone counts."""
    max_absolute_error: float
    max_relative_error: float
    """The largest |x − y| / (|y| + s) for expected values y, their root mean square s, and what the kernel wrote, x."""
    wrong: int
    """Elements that differ by more than the tolerance, those never written among them."""
    unwritten: int
    """Elements that still hold the poison, where something else is expected."""
    stray_bytes: int
    """Bytes outside of the tensor, around it and in its gaps, that the kernel has overwritten."""
    undefined: bool
    """The reference expects NaN everywhere, so nothing was compared: it may read an output, which is poisoned."""
    first: Difference | None
    """The first wrong element in row-major order."""

    @property
    def allowed(self) -> str:
        """How far elements may be off, in short: `0.0001`, `1 ulp`, `1 ulp or 0.0001`."""
        relative = f"{self.tolerance:g}"
        if self.ulp is None:
            return relative
        return f"{self.ulp} ulp or {relative}" if self.tolerance else f"{self.ulp} ulp"

    @property
    def ok(self) -> bool | None:
        """Whether the output is what was expected, and nothing else was written; `None` for one without elements."""
        if self.wrong or self.stray_bytes or self.undefined:
            return False
        return True if math.prod(self.shape) else None

    def problems(self) -> list[str]:
        """What is wrong, a sentence each."""
        found: list[str] = []
        total = math.prod(self.shape)
        if self.unwritten:
            # Of so few values that there are, the poison is one.
            known = find_numeric_type(self.dtype)
            perhaps = ", or given the value that outputs begin with" if known and known.width <= 8 else ""
            found.append(f"{_count(self.unwritten)} of {self.name} {_were(self.unwritten)} never written{perhaps}")
        if rest := self.wrong - self.unwritten:
            found.append(f"{rest:,} of {_count(total)} of {self.name} {'differs' if rest == 1 else 'differ'}")
        if self.first:
            where = ", ".join(map(str, self.first.coordinate))
            apart = "" if self.first.ulps is None else f" ({self.first.ulps:,} ulp)"
            found.append(
                f"the first at {self.name}[{where}]: {self.first.value}, expected {self.first.expected}{apart}"
            )
        if self.stray_bytes:
            found.append(f"{self.stray_bytes:,} bytes around the elements of {self.name} were overwritten")
        if self.undefined:
            found.append(f"the reference expects NaN in all of {self.name}: outputs hold NaN before a run")
        return found


def bounds_of(elements: Elements, workload: Workload) -> tuple[float, int | None]:
    """The relative error and the steps of its type that an element may be off, by default where no file says.

    Raises `UsageError` for bounds that would have an output of zeros be right, or half of what was expected.
    """
    tolerance, ulp = workload.tolerance or 0.0, workload.ulp or 0
    if not 0 <= tolerance < 1:
        raise UsageError(
            f"a tolerance of {tolerance:g} bounds nothing: with 1 or more, zeros are right whatever is expected"
        )
    if elements.is_float and not 0 <= ulp * elements.largest_step <= 1:
        raise UsageError(
            f"{ulp:,} ulp of {elements.dtype.name} bound nothing: numbers that far apart differ by a factor of 2"
        )
    if not elements.is_float:
        return tolerance, None
    if workload.tolerance is not None or workload.ulp is not None:
        return tolerance, workload.ulp
    name = elements.dtype.name
    known = _DEFAULT_TOLERANCE.get(name)
    return (_NARROW_TOLERANCE, 1) if known is None else (known, None)


def compare(
    tensor: Tensor,
    expected: Any,
    workload: Workload,
    stray_bytes: int = 0,
    *,
    sampled: bool = False,
) -> Comparison:
    """`tensor`, as it is after a run, against the array that the reference returned for it.

    `sampled`: only some of the blocks have run, so elements that still hold the poison are left out.

    An element x is right when it has the bits of the expected y, when both are NaN and x is not the poison, or when
    |x − y| ≤ tolerance · (|y| + s), s being the root mean square of all finite y; or when it is at most `ulp` steps of
    its type from y, rounded to that. Tolerance and ulp are the workload's, or those of the type. Raises `UsageError`
    when the reference returned an array of another shape.
    """
    elements = tensor.elements
    wanted = np.asarray(expected)
    if wanted.shape != tensor.shape:
        raise UsageError(
            f"the reference returns {wanted.shape} for '{tensor.name}', which has shape {tensor.shape}",
            hints=["it returns one array for each of `outputs`, in that order"],
        )
    tolerance, ulp = bounds_of(elements, workload)
    codes, wanted = np.ascontiguousarray(tensor.codes).reshape(-1), np.ascontiguousarray(wanted).reshape(-1)
    scale = _root_mean_square(wanted)
    wrong = unwritten = 0
    absolute = relative = 0.0
    defined = wanted.size == 0
    first: Difference | None = None
    for start in range(0, codes.size, _CHUNK):
        code, y = codes[start : start + _CHUNK], wanted[start : start + _CHUNK]
        x = elements.decode(code)
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            equal = x == y
            error = np.where(equal, 0.0, np.abs(x.astype("f8") - y.astype("f8")))
            bound = np.abs(y.astype("f8")) + scale
            ratio = np.where(error == 0, 0.0, error / bound)
        x_is_nan, y_is_nan = np.isnan(x.astype("f8")), np.isnan(y.astype("f8"))
        defined |= bool((~y_is_nan).any())
        poison = tensor.is_poison(code)
        untouched = poison if sampled else poison & _same_bits(x, y)
        # The difference of 64-bit integers may be lost in f64.
        close = ratio <= tolerance if tolerance else equal
        steps: Array | None = None
        if ulp is not None:
            with np.errstate(invalid="ignore", over="ignore"):
                steps = elements.ulps(code, elements.encode(y))
            close |= (steps <= ulp) & ~(x_is_nan | y_is_nan)
        right = close | (x_is_nan & y_is_nan & ~poison) | untouched
        bad = np.flatnonzero(~right)
        wrong += bad.size
        unwritten += int(np.count_nonzero(poison & ~right))
        if bad.size and first is None:
            place = np.unravel_index(start + int(bad[0]), tensor.shape)
            apart = None if steps is None or x_is_nan[bad[0]] or y_is_nan[bad[0]] else int(steps[bad[0]])
            first = Difference(tuple(int(c) for c in place), x[bad[0]].item(), y[bad[0]].item(), apart)
        absolute = max(absolute, _largest(error, untouched | (x_is_nan & y_is_nan)))
        relative = max(relative, _largest(ratio, untouched | (x_is_nan & y_is_nan)))
    return Comparison(
        tensor.name,
        elements.dtype.name,
        tensor.shape,
        tolerance,
        ulp,
        absolute,
        relative,
        wrong,
        unwritten,
        stray_bytes,
        not defined,
        first,
    )


def _root_mean_square(values: Array) -> float:
    total, count = 0.0, 0
    for start in range(0, values.size, _CHUNK):
        part = values[start : start + _CHUNK].astype("f8")
        part = part[np.isfinite(part)]
        total += float(np.square(part).sum())
        count += part.size
    return math.sqrt(total / count) if count else 0.0


def _largest(errors: Array, without: Array) -> float:
    """The largest error; NaN, where one side is NaN, counts as infinite."""
    kept = errors[~without]
    return float(np.where(np.isnan(kept), np.inf, kept).max()) if kept.size else 0.0


def _same_bits(x: Array, y: Array) -> Array:
    if x.dtype != y.dtype:
        return np.zeros(x.shape, "?")
    return x.view(f"u{x.itemsize}") == y.view(f"u{y.itemsize}")


def _count(elements: int) -> str:
    return f"{elements:,} element{'' if elements == 1 else 's'}"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"
