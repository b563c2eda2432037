# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""Numbers written in digits of several bases, the fastest first: the places of taps and pixels.

The last digit has no base, and grows without end. A base is a number, or what divides by one fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cutlass
from cutlass import cute


def digits_of(number, bases: Sequence[Any]) -> tuple[Any, ...]:
    """The digits of a number from 0: one for each base, and the last."""
    found = []
    for base in bases:
        number, rest = quotient(number, base)
        found.append(rest)
    return (*found, number)


def pixel_of(row, extents: Sequence[Any]) -> tuple[Any, list[Any]]:
    """The image and the coordinates of a row of pixels, `extents` along the axes, the fastest last."""
    *pixel, image = digits_of(row, list(reversed(extents)))
    return image, pixel[::-1]


def quotient(number, base) -> tuple[Any, Any]:
    """The quotient and the rest of a number from 0, which takes less without a sign."""
    if isinstance(base, cute.FastDivmodDivisorV2):
        found, rest = divmod(number, base)
        return cutlass.Int32(found), cutlass.Int32(rest)
    found = cutlass.Int32(unsigned(number) // unsigned(base))
    return found, number - found * base


def unsigned(number):
    """The bits of a number, from which the DSL would keep its sign otherwise where it knows it as part of a layout."""
    return cutlass.Int32(number).bitcast(cutlass.Uint32)


def where(condition, value):
    """`value`, or 0 where the condition does not hold."""
    return type(value)(cutlass.select_(condition, value, type(value)(0)))


def added(digits: Sequence[Any], step: Sequence[Any], bases: Sequence[Any]) -> tuple[Any, ...]:
    """The digits of the sum with `step`, without a division; those of `step` are each below its base."""
    carry, found = cutlass.Int32(0), []
    for digit, more, base in zip(digits, step, bases, strict=False):
        # Two digits and a carry are less than twice the base.
        total = digit + more + carry
        wraps = total >= base
        found.append(cutlass.select_(wraps, total - base, total))
        carry = cutlass.select_(wraps, cutlass.Int32(1), cutlass.Int32(0))
    return (*found, digits[-1] + step[-1] + carry)
