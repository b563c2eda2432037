# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""The taps of a filter that a tile multiplies, in the order in which TMA gathers what they meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import cutlass

from cutecc.operations.convolution.description import ConvolutionDescription
from cutecc.operations.kernels.convolution.signature import Geometry


@dataclass(frozen=True)
class TapAxis:
    """The taps along one spatial mode: place `i` of them is tap `first + i * apart`."""

    count: Any
    first: Any
    apart: Any
    offset: Any
    """Of the first: what TMA adds to the pixels of the window."""
    shift: Any
    """From the offset of one to that of the next."""


@dataclass(frozen=True)
class Taps:
    """The taps of all spatial modes, the fastest mode first."""

    axes: tuple[TapAxis, ...]
    filter: tuple[Any, ...]
    """How many there are in the filter."""
    is_turned: bool
    """Whether the filter is turned by half a turn."""

    @property
    def bases(self) -> tuple[Any, ...]:
        """Of the digits that count the taps."""
        return tuple(axis.count for axis in self.axes[:-1])

    @property
    def count(self):
        return prod(axis.count for axis in self.axes)

    def offsets(self, digits: Sequence[Any]) -> list[Any]:
        """What TMA adds to pixels for a tap."""
        return [cutlass.Int32(axis.offset + at * axis.shift) for axis, at in zip(self.axes, digits, strict=True)]

    def number(self, digits: Sequence[Any]):
        """Which tap of the filters that is."""
        number = cutlass.Int32(0)
        for axis, at, count in reversed(list(zip(self.axes, digits, self.filter, strict=True))):
            number = number * count + (axis.first + at * axis.apart)
        return prod(self.filter) - 1 - number if self.is_turned else number


def all_taps(description: ConvolutionDescription, geometry: Geometry) -> Taps:
    """Every tap, in the order of the filters; of `wgrad`, in that of D."""
    filter, dilation = (tuple(reversed(each)) for each in (geometry.filter, geometry.dilation))
    is_turned = description.mode == "convolution"
    # Of dgrad the window is that of the last tap. The filters that wgrad writes are turned with its taps.
    backwards = description.kind == "dgrad" or (description.kind == "wgrad" and is_turned)
    axes = tuple(
        TapAxis(count, 0, 1, (count - 1) * apart, -apart) if backwards else TapAxis(count, 0, 1, 0, apart)
        for count, apart in zip(filter, dilation, strict=True)
    )
    return Taps(axes, filter, is_turned)
