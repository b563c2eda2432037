# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""The matrices that the product of a convolution multiplies: which vector of A and B is where in the tensors."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import cutlass
from cutlass import cute

from cutecc.operations.convolution.description import ConvolutionDescription
from cutecc.operations.kernels.convolution.digits import pixel_of, quotient
from cutecc.operations.kernels.convolution.multistage_copies import (
    OUTSIDE,
    DigitColumns,
    DividedSource,
    Fetch,
    PlainColumns,
    Row,
    Share,
    Source,
    TapColumns,
)
from cutecc.operations.kernels.convolution.phases import Phase
from cutecc.operations.kernels.convolution.signature import Geometry
from cutecc.operations.kernels.convolution.walks import Digit, Odometer, TapWalk, WalkedAxis
from cutecc.operations.kernels.signature import INTERLEAVED
from cutecc.operations.operand import Operand


def divisors(description: ConvolutionDescription, geometry: Geometry, groups) -> tuple[tuple[Any, ...], ...]:
    """What places are divided by, as is fast: the pixels of a row or of K, a group's channels and the taps, strides.

    They are made on the host, once a launch.
    """
    pixels = geometry.image if description.kind == "dgrad" else geometry.output
    sizes = pixels, (geometry.channels // groups, *geometry.filter[1:]), geometry.stride
    return tuple(tuple(cute.fast_divmod_create_divisor_v2(size) for size in each) for each in sizes)


def channel_distance(tensor: cute.Tensor, operand: Operand):
    """Elements between channels. Of interleaved ones, those between two that are a multiple of 32 apart, for each.

    Steps of K are multiples of 32, and so are the columns of a thread, of which the first lies within 32.
    """
    return tensor.stride[-2] // INTERLEAVED if operand.is_interleaved else 1


class ImplicitProduct:
    """The product of one group in a kernel: what of A and of B a thread fetches. The kinds derive from it."""

    def __init__(self, description: ConvolutionDescription, problem, geometry: Geometry, divisors, a, b, group):
        self.description, self.rank = description, description.rank
        self.depth = description.gemm.tile.threadblock[2]
        self.problem, self.geometry, self.a, self.b, self.group = problem, geometry, a, b, cutlass.Int64(group)
        self.pixel_divisors, self.tap_divisors, self.stride_divisors = divisors
        groups = 1 if description.groups == "single" else problem[3]
        self.channels, self.filters = geometry.channels // groups, geometry.filters // groups
        """Of the group."""
        # Of the taps of a filter behind one along each axis, those that lie between it and the next.
        self.taps_between = [prod(geometry.filter[axis + 1 :]) for axis in range(self.rank)]
        self.walk: TapWalk | None = None
        """That of both operands, where K goes by taps."""

    @property
    def steps(self):
        """Along K."""
        return (self.problem[2] + (self.depth - 1)) // self.depth if self.walk is None else self.walk.steps

    def source_a(self, share: Share) -> Source:
        """Where a thread's `share` of a tile of A comes from: each kind says."""
        raise NotImplementedError

    def source_b(self, share: Share) -> Source:
        """The same of B."""
        raise NotImplementedError

    def fetches(self, plans, copies, stages, tile, thread, first) -> tuple[Fetch, Fetch]:
        """What copies tiles of A and of B, those of the (m, n) `tile`, from the step `first` on."""
        shares = []
        for plan, copy, each, index in zip(plans, copies, stages, tile, strict=True):
            share = Share(copy, plan.tile, each, thread)
            share.rows = [index * plan.tile[0] + row for row in share.rows]
            shares.append(share)
        sources = self.source_a(shares[0]), self.source_b(shares[1])
        fetch_a, fetch_b = (
            Fetch(plan, copy, share, tensor, source, thread)
            for plan, copy, share, tensor, source in zip(plans, copies, shares, (self.a, self.b), sources, strict=True)
        )
        if self.walk is not None:
            self.drive(self.walk, first, fetch_a, fetch_b)
        else:
            for fetch, source in zip((fetch_a, fetch_b), sources, strict=True):
                self.drive(source.columns.walk, first, fetch, fetch)
        return fetch_a, fetch_b

    def drive(self, walk, first, earlier: Fetch, later: Fetch) -> None:
        """Have a walk go along with the fetches that it is of."""
        walk.seek(first)
        if self.description.iterator == "analytic":
            earlier.before.append(walk.seek)
        else:
            later.after.append(walk.advance)

    @property
    def last_tap(self):
        """The tap of a filter that the first one is multiplied as, by the mode."""
        return prod(self.geometry.filter) - 1 if self.description.mode == "convolution" else 0

    @property
    def tap_direction(self) -> int:
        return -1 if self.description.mode == "convolution" else 1

    def at_pixel(self, first, image, coordinates: Sequence[Any], distances: Sequence[Any]):
        """The offset of a pixel behind `first`: elements, `Int64`."""
        offset = cutlass.Int64(first)
        for number, distance in zip((image, *coordinates), distances, strict=True):
            offset = offset + cutlass.Int64(number) * distance
        return offset

    def guarded(self, coordinates: Sequence[Any], is_inside) -> tuple[Any, ...]:
        """Coordinates of which one says whether there is such a row."""
        first, *others = coordinates
        return cutlass.Int32(cutlass.select_(is_inside, first, cutlass.Int32(OUTSIDE))), *others


class Fprop(ImplicitProduct):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        geometry, of_tap, gemm = self.geometry, self.b.stride[1], self.description.gemm
        self.distances = self.a.stride[: self.rank + 1]
        self.of_channels = channel_distance(self.a, gemm.a), channel_distance(self.b, gemm.b)
        self.first_filter = self.group * self.filters * self.b.stride[0] + cutlass.Int64(self.last_tap) * of_tap
        if self.description.iterator in ("analytic", "optimized"):
            axes = [
                WalkedAxis(
                    geometry.filter[axis],
                    geometry.dilation[axis],
                    cutlass.Int64(geometry.dilation[axis]) * self.distances[axis + 1],
                    cutlass.Int64(self.tap_direction * self.taps_between[axis]) * of_tap,
                )
                for axis in range(self.rank)
            ]
            self.walk = TapWalk(axes, self.channels, self.depth, self.of_channels)

    def source_a(self, share: Share) -> Source:
        if self.walk is not None:
            columns, first = TapColumns(self.walk, share, 0, self.of_channels[0]), share.columns[0]
        else:
            columns, first = self.digit_columns(share), 0
        rows = [self.row(row, self.group * self.channels + first) for row in share.rows]
        return Source(rows, columns, self.geometry.image)

    def source_b(self, share: Share) -> Source:
        of_filter, of_tap = self.b.stride[:2]
        if self.walk is not None:
            columns = TapColumns(self.walk, share, 1, self.of_channels[1])
            first = self.first_filter + share.columns[0]
        else:
            digits = [self.channel_digit(), Digit(prod(self.geometry.filter), None, 1, self.tap_direction * of_tap)]
            columns, first = DigitColumns(Odometer(digits, self.depth, share.columns), ()), self.first_filter
        rows = [Row(first + cutlass.Int64(row) * of_filter, is_inside=row < self.problem[1]) for row in share.rows]
        return Source(rows, columns)

    def row(self, row, first) -> Row:
        geometry = self.geometry
        image, pixel = pixel_of(row, self.pixel_divisors)
        pixel = [
            coordinate * stride - padding
            for coordinate, stride, padding in zip(pixel, geometry.stride, geometry.padding, strict=True)
        ]
        return Row(self.at_pixel(first, image, pixel, self.distances), self.guarded(pixel, row < self.problem[0]))

    def digit_columns(self, share: Share) -> DigitColumns:
        """K runs through channels and taps without a gap."""
        geometry = self.geometry
        digits = [self.channel_digit()]
        for axis in reversed(range(self.rank)):
            divisor = self.tap_divisors[axis] if axis else None
            distance = cutlass.Int64(geometry.dilation[axis]) * self.distances[axis + 1]
            digits.append(Digit(geometry.filter[axis], divisor, geometry.dilation[axis], distance))
        return DigitColumns(
            Odometer(digits, self.depth, share.columns), [self.rank - axis for axis in range(self.rank)]
        )

    def channel_digit(self) -> Digit:
        if self.description.iterator == "fixed_channels":
            channels = self.description.gemm.a.alignment
            return Digit(channels, channels, 1, cutlass.Int64(1))
        return Digit(self.channels, self.tap_divisors[0], 1, cutlass.Int64(1))


class Dgrad(ImplicitProduct):
    """`phase` is the part of the rows that a block has, where they are taken by phases."""

    def __init__(self, *arguments, phase: Phase | None = None):
        super().__init__(*arguments)
        geometry, (of_filter, of_tap, _) = self.geometry, self.b.stride
        self.phase, self.distances = phase, self.a.stride[:-1]
        self.divides = self.description.stride == "strided" and phase is None
        axes, first_tap = [], cutlass.Int64(self.last_tap)
        for axis in range(self.rank):
            count, step, shift = geometry.filter[axis], 1, -geometry.dilation[axis]
            if phase is not None:
                own = phase.axes[axis]
                count, step, shift = own.taps, own.period, own.shift
                first_tap = first_tap + cutlass.Int64(self.tap_direction * own.first_tap * self.taps_between[axis])
            distance = cutlass.Int64(0) if self.divides else cutlass.Int64(shift) * self.distances[axis + 1]
            taps = cutlass.Int64(self.tap_direction * step * self.taps_between[axis])
            axes.append(WalkedAxis(count, shift, distance, taps * of_tap))
        self.walk = TapWalk(axes, self.filters, self.depth, (1, of_filter))
        self.first_filter = self.group * self.filters * of_filter + first_tap * of_tap

    def source_a(self, share: Share) -> Source:
        columns, first = TapColumns(self.walk, share, 0), self.group * self.filters + share.columns[0]
        rows = [self.row(row, first) for row in share.rows]
        if self.divides:
            return DividedSource(rows, columns, self.geometry.output, self.stride_divisors, self.distances[1:])
        return Source(rows, columns, self.geometry.output)

    def source_b(self, share: Share) -> Source:
        of_filter, _, _ = self.b.stride
        first = self.first_filter + cutlass.Int64(share.columns[0]) * of_filter
        rows = [Row(first + row, is_inside=row < self.problem[1]) for row in share.rows]
        return Source(rows, TapColumns(self.walk, share, 1, of_filter))

    def row(self, row, first) -> Row:
        if self.phase is None:
            image, pixel = pixel_of(row, self.pixel_divisors)
            is_inside = row < self.problem[0]
            pixel = [coordinate + padding for coordinate, padding in zip(pixel, self.geometry.padding, strict=True)]
        else:
            image, pixel = pixel_of(row, self.phase.extents)
            is_inside = row < self.phase.rows
            pixel = [coordinate + axis.first_pixel for coordinate, axis in zip(pixel, self.phase.axes, strict=True)]
        places = [0] * self.rank if self.divides else pixel
        return Row(self.at_pixel(first, image, places, self.distances), self.guarded(pixel, is_inside))


class Wgrad(ImplicitProduct):
    def source_a(self, share: Share) -> Source:
        first = self.group * self.filters
        rows = [Row(first + row, is_inside=row < self.problem[0]) for row in share.rows]
        return Source(rows, PlainColumns(share, self.depth, self.problem[2], self.a.stride[0]))

    def source_b(self, share: Share) -> Source:
        geometry, distances = self.geometry, self.b.stride[:-1]
        digits = []
        for axis in reversed(range(self.rank)):
            stride = geometry.stride[axis]
            distance = cutlass.Int64(stride) * distances[axis + 1]
            digits.append(Digit(geometry.output[axis], self.pixel_divisors[axis], stride, distance))
        digits.append(Digit(geometry.images, None, 1, distances[0]))
        odometer = Odometer(digits, self.depth, share.columns)
        columns = DigitColumns(odometer, list(reversed(range(self.rank))))
        return Source([self.row(row) for row in share.rows], columns, geometry.image)

    def row(self, row) -> Row:
        geometry = self.geometry
        rest, channel = quotient(row, self.tap_divisors[0])
        first, others = pixel_of(rest, self.tap_divisors[1:])
        pixel = []
        for axis, tap in enumerate([first, *others]):
            if self.description.mode == "convolution":
                tap = geometry.filter[axis] - 1 - tap
            pixel.append(tap * geometry.dilation[axis] - geometry.padding[axis])
        offset = self.at_pixel(self.group * self.channels + channel, 0, pixel, self.b.stride[:-1])
        return Row(offset, self.guarded(pixel, row < self.problem[1]))


KINDS = {"fprop": Fprop, "dgrad": Dgrad, "wgrad": Wgrad}
