# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""Along K of a gathered matrix, from one step to the next without a division.

| walk | K is | kept | iterators |
|---|---|---|---|
| `TapWalk` | taps × the channels of a group, filled up to whole steps | once for all threads | optimized, analytic |
| `Odometer` | the elements one after the other, as digits of mixed radix | for each column of a thread | all others |

A walk can also `seek` a step from scratch: the first one of a slice of K, and each one of an analytic iterator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import cutlass
from cutlass import cute

from cutecc.operations.kernels.convolution.digits import digits_of, quotient, where


@dataclass(frozen=True)
class WalkedAxis:
    """One spatial axis of a filter, as it is walked along: the same number of taps each time."""

    count: Any
    """Taps."""
    shift: Any
    """From one tap to the next in the gathered tensor: pixels."""
    gathered: Any
    """The same in its memory: elements, `Int64`."""
    filters: Any
    """From one tap to the next in the memory of the filters."""


class TapWalk:
    """A step's tap and its first channel, with where they are in the gathered tensor and in the filters."""

    def __init__(self, axes: Sequence[WalkedAxis], channels, depth: int, distances: tuple[Any, Any]):
        """`axes` from the slowest to the fastest; a step is `depth` channels long.

        `distances` are the elements between channels of the gathered tensor, and of the filters.
        """
        self.axes, self.channels, self.depth = axes, channels, depth
        self.distances = tuple(map(cutlass.Int64, distances))
        self.chunks = (channels + (depth - 1)) // depth
        self.indices = cute.make_rmem_tensor(len(axes), cutlass.Int32)
        self.shifts = cute.make_rmem_tensor(len(axes), cutlass.Int32)
        self.channel = cute.make_rmem_tensor(1, cutlass.Int32)
        self.offsets = cute.make_rmem_tensor(2, cutlass.Int64)
        """In the gathered tensor, and in the filters."""

    @property
    def steps(self):
        """Along all of K."""
        count = self.chunks
        for axis in self.axes:
            count = count * axis.count
        return count

    def seek(self, step) -> None:
        """Go to a step."""
        tap, chunk = quotient(step, self.chunks)
        self.channel[0] = channel = chunk * self.depth
        gathered, filters = (cutlass.Int64(channel) * distance for distance in self.distances)
        for number, axis in reversed(list(enumerate(self.axes))):
            tap, index = quotient(tap, axis.count) if number else (0, tap)
            self.indices[number], self.shifts[number] = index, index * axis.shift
            gathered = gathered + cutlass.Int64(index) * axis.gathered
            filters = filters + cutlass.Int64(index) * axis.filters
        self.offsets[0], self.offsets[1] = gathered, filters

    @cute.jit
    def advance(self):
        """Go to the next step."""
        self.go(self.depth)
        if self.channel[0] >= self.channels:
            self.go(-(self.chunks * self.depth))
            self.next_tap(len(self.axes) - 1)

    @cute.jit
    def next_tap(self, number: cutlass.Constexpr[int]):
        """Go to the next tap along an axis, or else to its first and to the next along the axis before."""
        axis = self.axes[number]
        self.turn(number, 1)
        if cutlass.const_expr(number > 0):  # noqa: SIM102
            if self.indices[number] == axis.count:
                self.turn(number, -axis.count)
                self.next_tap(number - 1)

    def turn(self, number: int, taps) -> None:
        """Go on by some taps along an axis."""
        axis = self.axes[number]
        self.indices[number] = self.indices[number] + taps
        self.shifts[number] = self.shifts[number] + taps * axis.shift
        self.move(cutlass.Int64(taps) * axis.gathered, cutlass.Int64(taps) * axis.filters)

    def go(self, channels) -> None:
        """Go on by some channels."""
        self.channel[0] = self.channel[0] + channels
        self.move(*(cutlass.Int64(channels) * distance for distance in self.distances))

    def move(self, gathered, filters) -> None:
        self.offsets[0] = self.offsets[0] + cutlass.Int64(gathered)
        self.offsets[1] = self.offsets[1] + cutlass.Int64(filters)


@dataclass(frozen=True)
class Digit:
    """One extent of K, as `Odometer` counts it."""

    extent: Any
    divisor: Any
    """The extent as something that numbers are divided by; `None` of the slowest digit."""
    unit: Any
    """What one more adds to the digit's value: pixels of the gathered tensor, else 1."""
    distance: Any
    """What one more adds to the offset in memory: elements, `Int64`."""


class Odometer:
    """The places of a thread's columns along K: the value of each digit times its unit, and the offset in memory."""

    def __init__(self, digits: Sequence[Digit], depth: int, columns: Sequence[Any]):
        """`digits` from the fastest to the slowest; a step is `depth` long, of which a thread has the `columns`."""
        self.digits, self.depth, self.columns = digits, depth, columns
        self.values = cute.make_rmem_tensor((len(columns), len(digits)), cutlass.Int32)
        self.offsets = cute.make_rmem_tensor(len(columns), cutlass.Int64)
        self.limits = [digit.extent * digit.unit for digit in digits]
        step = self.digits_of(cutlass.Int32(depth))
        self.steps = [value * digit.unit for value, digit in zip(step, digits, strict=True)]
        self.step_offset = self.offset_of(step)
        self.wraps = [
            upper.distance - cutlass.Int64(lower.extent) * lower.distance for lower, upper in pairwise(digits)
        ]

    def digits_of(self, number) -> Sequence[Any]:
        """The digits of a place along K."""
        return digits_of(number, [digit.divisor for digit in self.digits[:-1]])

    def offset_of(self, values: Sequence[Any]):
        offset = cutlass.Int64(0)
        for value, digit in zip(values, self.digits, strict=True):
            offset = offset + cutlass.Int64(value) * digit.distance
        return offset

    def seek(self, step) -> None:
        """Go to a step."""
        for j, column in enumerate(self.columns):
            values = self.digits_of(step * self.depth + column)
            self.offsets[j] = self.offset_of(values)
            for i, digit in enumerate(self.digits):
                self.values[j, i] = values[i] * digit.unit

    def advance(self) -> None:
        """Go to the next step."""
        for j in range(len(self.columns)):
            carry, offset = 0, self.offsets[j] + self.step_offset
            for i in range(len(self.digits)):
                value = self.values[j, i] + self.steps[i] + carry
                if i + 1 < len(self.digits):
                    # A step and a carry are together less than twice the extent: it wraps once at most.
                    wraps = value >= self.limits[i]
                    value = value - where(wraps, cutlass.Int32(self.limits[i]))
                    offset = offset + where(wraps, self.wraps[i])
                    carry = where(wraps, cutlass.Int32(self.digits[i + 1].unit))
                self.values[j, i] = value
            self.offsets[j] = offset

    def is_inside(self, j: int):
        """Whether column `j` is still in K."""
        return self.values[j, len(self.digits) - 1] < self.limits[-1]
