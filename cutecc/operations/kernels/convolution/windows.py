"""Where TMA gathers: the pixels that it walks over, and the taps of a filter that are added to them. Needs no DSL.

The arithmetic works on Python's integers, and on the DSL's in kernels. Spatial modes come the fastest first, as TMA has
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from cutecc.operations.convolution.description import ConvolutionDescription
from cutecc.operations.kernels.convolution.signature import Geometry


@dataclass(frozen=True)
class Window:
    """The pixels that TMA walks over in each spatial mode.

    Pixel `i` of the `extent` of a mode is at `lower + i * step` of the tensor; the offset of a tap is added to that.
    """

    extent: tuple[Any, ...]
    lower: tuple[Any, ...]
    step: tuple[Any, ...]

    def upper(self, sizes: Sequence[Any]) -> tuple[Any, ...]:
        """Where the window ends: from the end of a tensor of these sizes on."""
        each = zip(self.extent, self.lower, self.step, sizes, strict=True)
        return tuple(lower + (extent - 1) * step + 1 - size for extent, lower, step, size in each)


def window(description: ConvolutionDescription, geometry: Geometry) -> Window:
    """The window of the tap whose offset is 0, if there is one: the least that there are, so that none is negative.

    Of a strided `dgrad` it is that of each phase of pixels: those that leave the same when divided by the stride. The
    largest phase fills it.
    """
    image, filter, output, padding, stride, dilation = (tuple(reversed(each)) for each in geometry[3:])
    if description.kind != "dgrad":
        return Window(output, tuple(-each for each in padding), stride)
    lower = tuple(before - (taps - 1) * each for before, taps, each in zip(padding, filter, dilation, strict=True))
    if has_phases(description):
        image = tuple((size + step - 1) // step for size, step in zip(image, stride, strict=True))
        lower = tuple(at // step for at, step in zip(lower, stride, strict=True))
    return Window(image, lower, (1,) * description.rank)


def has_phases(description: ConvolutionDescription) -> bool:
    """Whether pixels of D are computed in phases, of which each meets taps of its own."""
    return description.kind == "dgrad" and description.stride == "strided"


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
    """The taps of all spatial modes."""

    axes: tuple[TapAxis, ...]
    filter: tuple[Any, ...]
    """How many there are in the filter."""
    is_turned: bool
    """Whether the filter is turned by half a turn."""

    @property
    def counts(self) -> tuple[Any, ...]:
        """Of the taps in each mode: bases of the digits that count them."""
        return tuple(axis.count for axis in self.axes)

    @property
    def count(self):
        return prod(self.counts)

    def offsets(self, digits: Sequence[Any]) -> list[Any]:
        """What TMA adds to pixels for a tap."""
        return [axis.offset + at * axis.shift for axis, at in zip(self.axes, digits, strict=True)]

    def number(self, digits: Sequence[Any]):
        """Which tap of the filters that is."""
        number = 0
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
