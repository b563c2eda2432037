# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""Numbers written in digits of several bases, the fastest first: the places of taps and pixels, without divisions.

The last digit has no base, and grows without end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cutlass


def digits_of(number, bases: Sequence[Any]) -> tuple[Any, ...]:
    """The digits of a number from 0: one for each base, and the last."""
    found = []
    for base in bases:
        number, rest = quotient(number, base)
        found.append(rest)
    return (*found, number)


def quotient(number, base) -> tuple[Any, Any]:
    """The quotient and the rest of a number from 0, which takes less without a sign."""
    found = cutlass.Int32(cutlass.Uint32(number) // cutlass.Uint32(base))
    return found, number - found * base


def added(digits: Sequence[Any], step: Sequence[Any], bases: Sequence[Any]) -> tuple[Any, ...]:
    """The digits of the sum with `step`, whose digits are some of a number: each is below its base."""
    carry, found = cutlass.Int32(0), []
    for digit, more, base in zip(digits, step, bases, strict=False):
        # Two digits and a carry are less than twice the base.
        total = digit + more + carry
        wraps = total >= base
        found.append(cutlass.select_(wraps, total - base, total))
        carry = cutlass.select_(wraps, cutlass.Int32(1), cutlass.Int32(0))
    return (*found, digits[-1] + step[-1] + carry)
