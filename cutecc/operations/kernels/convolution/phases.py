# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""Phases of a strided dgrad: the pixels that leave the same when divided by the stride, which the same taps meet.

A tap r of an output p meets the pixel h = p·stride - padding + r·dilation. Of the pixels h = h'·stride + left, those
are the taps with (left + padding - r·dilation) a multiple of the stride: one, and from it every `period`-th. Within a
phase p changes by one from one h' to the next: it is a dgrad with a stride of 1, of fewer taps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import cutlass
from cutlass import cute

from cutecc.operations.kernels.convolution.digits import pixel_of, quotient, where
from cutecc.operations.kernels.convolution.signature import Geometry

BEYOND = 1 << 30
"""A tap that no filter has."""


@dataclass(frozen=True)
class PhaseAxis:
    """One spatial axis of a phase."""

    left: Any
    """Pixels before the first one of the phase."""
    extent: Any
    """Pixels of the phase."""
    taps: Any
    """That meet them."""
    first_tap: Any
    period: Any
    """Taps from one of them to the next."""
    first_pixel: Any
    """Which output the first tap meets the first pixel with; maybe a negative number."""
    shift: Any
    """Outputs from one tap to the next."""


class Phase:
    """One of as many phases as the product of all strides."""

    def __init__(self, geometry: Geometry, number):
        self.geometry = geometry
        axes = []
        for axis in reversed(range(len(geometry.image))):
            stride = geometry.stride[axis]
            number, left = quotient(number, stride)
            axes.append(self.along(axis, left))
        self.axes: Sequence[PhaseAxis] = list(reversed(axes))

    @property
    def extents(self) -> list[Any]:
        """Its pixels along each axis, to divide by: of one without any, whose rows are none, 1."""
        return [cutlass.max(axis.extent, 1) for axis in self.axes]

    @property
    def rows(self):
        """Pixels of all images."""
        return self.geometry.images * prod(axis.extent for axis in self.axes)

    def along(self, axis: int, left) -> PhaseAxis:
        """What the phase has along an axis on which `left` pixels are before its first one."""
        geometry = self.geometry
        stride, dilation = geometry.stride[axis], geometry.dilation[axis]
        reach = left + geometry.padding[axis]
        first, period = meeting_taps(reach, dilation, stride)
        # Numbers below are only of interest where there are such taps, which `first` is beyond where there are none.
        taps = cutlass.max(geometry.filter[axis] - first + period - 1, 0) // period
        extent = (geometry.image[axis] - left + stride - 1) // stride
        shift = -(period * dilation // stride)
        return PhaseAxis(left, extent, taps, first, period, (reach - first * dilation) // stride, shift)

    def row(self, number) -> tuple[Any, Any]:
        """The row of D of one of the phase's, and whether there is it."""
        image, pixel = pixel_of(number, self.extents)
        row = image
        for axis, at, stride, size in zip(self.axes, pixel, self.geometry.stride, self.geometry.image, strict=True):
            row = row * size + at * stride + axis.left
        return row, number < self.rows


@cute.jit
def meeting_taps(reach, dilation, stride):
    """The first tap r with which reach - r dilation is a multiple of the stride, and from how many to how many it is.

    Where there is none, the first one is `BEYOND`.
    """
    first, period = cutlass.Int32(BEYOND), cutlass.Int32(stride)
    left, back = quotient(reach, stride)[1], quotient(dilation, stride)[1]
    for tap in range(stride):
        if left == 0:
            period = cutlass.min(period, cutlass.max(tap - first, 0) + where(first >= tap, cutlass.Int32(stride)))
            first = cutlass.min(first, tap)
        left = left - back
        if left < 0:
            left = left + stride
    return first, period
