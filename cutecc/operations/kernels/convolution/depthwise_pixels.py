# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""What a thread of a depthwise `fprop` or `dgrad` adds up; `depthwise.py` says how it works."""

from __future__ import annotations

from math import prod
from typing import Any

import cutlass
from cutlass import cute

from cutecc.operations.kernels.convolution import depthwise
from cutecc.operations.kernels.convolution.depthwise_stage import Stage, wait
from cutecc.operations.kernels.convolution.digits import pixel_of, quotient
from cutecc.operations.kernels.convolution.multistage_copies import is_within
from cutecc.operations.kernels.workspace import ceil_div

_MOST_AT_ONCE = 8
"""Taps of filters that a thread loads before it stores them."""


class Place:
    """Where a thread is: a patch of pixels of D, and a vector of channels; and their sums."""

    def __init__(self, kernel, geometry, cut: depthwise.Cut, divisors, a, b, thread, warp, tile, tile_channel):
        """The block has the rectangle number `tile`, and the channels from `tile_channel` on."""
        self.kernel, self.geometry, self.a, self.b, self.thread = kernel, geometry, a, b, thread
        (lines, columns), (lanes, channel_lanes) = kernel.patch, kernel.lanes
        tile_divisors, (run_divisor, self.seen_divisor, self.tap_divisor), self.outer_divisors, self.strides = divisors
        self.planes, self.seen = depthwise.planes(kernel.convolution, geometry), cut.seen
        self.is_staged = depthwise.is_staged(kernel.convolution, geometry, cut)
        lane = thread % depthwise.WARP
        self.tile_channel, self.across = tile_channel, (warp[1] * channel_lanes + lane % channel_lanes) * kernel.vector
        """The first channel of the block, and how far that of the thread is from it."""
        self.group, self.run = quotient(warp[0] * lanes + lane // channel_lanes, run_divisor)
        self.plane, (line, column) = pixel_of(tile, tile_divisors)
        shift = depthwise.shift(kernel.convolution, self.planes)
        self.begin = line * (cut.groups * lines), column * (cut.runs * columns) - shift
        """The first pixel of the block, and that of the thread."""
        self.first = self.begin[0] + self.group * lines, self.begin[1] + self.run * columns
        self.is_inside: Any = self.group < cut.groups
        layout = cute.make_layout((kernel.run, kernel.vector), stride=(kernel.vector, 1))
        self.sums = cute.make_rmem_tensor(layout, kernel.accumulator)
        self.sums.fill(0)
        allocator, convolution = cutlass.utils.SmemAllocator(), kernel.convolution
        pixels = allocator.allocate_tensor(
            kernel.element, cute.make_layout(depthwise.room(convolution) * kernel.channels), 16
        )
        self.gathered = geometry.image if kernel.is_fprop else geometry.output
        extents = (geometry.images, self.gathered[0]) if kernel.rank == 1 else self.gathered[-2:]
        alignment = convolution.gemm.a.alignment
        self.stage = Stage(kernel, pixels.iterator, a, alignment, extents, tile_channel, thread)
        filters = (depthwise.MOST_TAPS, kernel.channels)
        layout = cute.make_layout(filters, stride=(depthwise.filter_row(convolution), 1))
        self.filters = allocator.allocate_tensor(kernel.accumulator, layout, 16)

    @property
    def channel(self):
        """The first of the thread."""
        return self.tile_channel + self.across

    @cute.jit
    def add(self):
        """Add all taps, a line of pixels at a time where a line of the filter is one that is unrolled."""
        planes, is_usual = self.planes, self.is_staged
        steps = depthwise.steps(self.kernel.convolution)
        is_done = cutlass.Boolean(False)
        for step in cutlass.range_constexpr(1, len(steps) + 1):
            for width in cutlass.range_constexpr(len(depthwise.WIDTHS)):
                is_this = is_usual & (planes.stride[1] == step) & (planes.filter[1] == depthwise.WIDTHS[width])
                is_done = is_done | is_this
                if is_this:
                    self.add_planes(depthwise.WIDTHS[width], step)
        if not is_done:
            self.add_taps(prod(self.geometry.filter))

    @cute.jit
    def add_planes(self, width: cutlass.Constexpr[int], step: cutlass.Constexpr[int]):
        """Add the taps of a filter that see the same plane, from `step` to `step` columns, and then those of others."""
        taps = prod(self.planes.filter)
        if cutlass.const_expr(self.kernel.rank < 3):
            self.add_plane(0, taps, width, step)
        else:
            for outer in range(self.geometry.filter[0]):
                if outer > 0:
                    cute.arch.sync_threads()
                self.add_plane(outer, taps, width, step)

    def add_plane(self, outer, taps, width: int, step: int) -> None:
        is_inside, offset = self.seen_plane(outer)
        self.stage.fill(offset, is_inside, self.first_seen(), self.seen, self.seen_divisor)
        at_once = min(ceil_div(width * width * self.kernel.channels, self.kernel.threads), _MOST_AT_ONCE)
        self.load_filters(outer * taps, taps, self.tap_divisor, at_once)
        wait()
        self.add_lines(width, step)

    def first_seen(self) -> list[Any]:
        """The line and column of the first pixel in shared memory."""
        planes = self.planes
        if self.kernel.is_fprop:
            return [self.begin[axis] * planes.stride[axis] - planes.padding[axis] for axis in range(2)]
        first = [self.begin[axis] + planes.padding[axis] - (planes.filter[axis] - 1) for axis in range(2)]
        # Rounded down, of what may be negative.
        if self.kernel.divides:
            first = [
                quotient(each + planes.filter[axis] * planes.stride[axis], planes.stride[axis])[0] - planes.filter[axis]
                for axis, each in enumerate(first)
            ]
        return first

    def seen_plane(self, tap) -> tuple[Any, Any]:
        """Whether there is the plane that a tap outside of planes sees, and where: elements, `Int64`."""
        if self.kernel.rank == 1:
            return cutlass.Boolean(True), cutlass.Int64(0)
        image, outer = pixel_of(self.plane, self.outer_divisors)
        is_inside, offset = cutlass.Boolean(True), cutlass.Int64(image) * self.a.stride[0]
        if self.kernel.rank == 3:
            found, is_inside = self.met(0, outer[0], tap)
            offset = offset + cutlass.Int64(found) * self.a.stride[1]
        return is_inside, offset

    @cute.jit
    def add_lines(self, width: cutlass.Constexpr[int], step: cutlass.Constexpr[int]):
        """Add what the thread sees of a plane in shared memory."""
        kernel, planes, (lines, columns) = self.kernel, self.planes, self.kernel.patch
        taps, stride, begin, run = planes.filter[0], planes.stride[0], self.group * lines, self.run * columns
        if cutlass.const_expr(kernel.is_fprop):
            begin, run, count = begin * stride, run * step, (lines - 1) * stride + taps
            pixels, first = (columns - 1) * step + width, cutlass.Int32(0)
        else:
            begin, run, count = begin // stride, run // step, lines + taps - 1
            pixels, first = (columns + width - 2) // step + 1, cutlass.Int32(taps - 1)
            if cutlass.const_expr(kernel.divides):
                count = cutlass.min((lines + taps - 2) // stride + 3, self.seen[0] - begin)
                first = self.first[0] + planes.padding[0] - (self.first_seen()[0] + begin) * stride
        place = (begin * self.seen[1] + run) * kernel.channels
        place = cutlass.select_(self.is_inside, place, cutlass.Int32(0)) + self.across
        count = cutlass.select_(self.is_inside, count, cutlass.Int32(0))
        for line in range(count):
            seen = self.stage.load(place + line * self.seen[1] * kernel.channels, pixels)
            for own in cutlass.range_constexpr(lines):
                tap = line - own * stride if kernel.is_fprop else own + first - line * stride
                if is_within(tap, taps):
                    self.add_line(width, step, own, tap, seen)

    def add_line(self, width: int, step: int, line: int, tap, pixels: cute.Tensor) -> None:
        """Add a line of taps to a line of the patch."""
        columns = self.kernel.patch[1]
        filters = [self.filter(tap * width + each) for each in range(width)]
        sums = [self.sums[line * columns + each, None].load() for each in range(columns)]
        for x in range(pixels.shape[1]):
            for column in range(columns):
                own = x - column * step if self.kernel.is_fprop else column + width - 1 - x * step
                if 0 <= own < width:
                    sums[column] = sums[column] + pixels[None, x].load() * filters[own]
        for column, each in enumerate(sums):
            self.sums[line * columns + column, None].store(each)

    @cute.jit
    def add_taps(self, taps):
        """Add one tap after the other, of any stride and dilation, from global memory."""
        for first in range(0, taps, depthwise.MOST_TAPS):
            count = cutlass.min(taps - first, depthwise.MOST_TAPS)
            cute.arch.sync_threads()
            self.load_filters(first, count, count, _MOST_AT_ONCE)
            cute.arch.sync_threads()
            for i in range(count):
                for line in cutlass.range_constexpr(self.kernel.patch[0]):
                    self.add_tap(i, *quotient(first + i, self.geometry.filter[-1]), line)

    def add_tap(self, number, tap_line, tap, line: int) -> None:
        taps, columns = self.filter(number), self.kernel.patch[1]
        is_inside, offset = self.line(tap_line, self.first[0] + line)
        for column in range(columns):
            along, is_there = self.met(self.kernel.rank - 1, self.first[1] + column, tap)
            value, at = self.pixel(offset, along, is_inside & is_there), line * columns + column
            self.sums[at, None].store(self.sums[at, None].load() + value * taps)

    def row(self, number: int) -> tuple[Any, Any]:
        """The row of D of one of the pixels, and whether there is it."""
        line, column = (
            first + more for first, more in zip(self.first, divmod(number, self.kernel.patch[1]), strict=True)
        )
        row = (self.plane * self.planes.lines + line) * self.planes.columns + column
        return row, self.is_inside & (line < self.planes.lines) & is_within(column, self.planes.columns)

    def met(self, axis: int, pixel, tap) -> tuple[Any, Any]:
        """What a tap meets along an axis from a pixel of D, and whether there is it."""
        geometry = self.geometry
        if self.kernel.is_fprop:
            found = pixel * geometry.stride[axis] - geometry.padding[axis] + tap * geometry.dilation[axis]
            return found, is_within(found, self.gathered[axis])
        found = pixel + geometry.padding[axis] - tap * geometry.dilation[axis]
        if not self.kernel.divides:
            return found, is_within(found, self.gathered[axis])
        output, rest = quotient(cutlass.max(found, 0), self.strides[axis])
        return output, (found >= 0) & (rest == 0) & (output < self.gathered[axis])

    def line(self, tap, line) -> tuple[Any, Any]:
        """Whether a line of taps meets a line of pixels from a line of D, and where: elements, `Int64`."""
        if self.kernel.rank == 1:
            return self.is_inside & (line < self.planes.lines), cutlass.Int64(line) * self.a.stride[0]
        outer_tap, tap = quotient(tap, self.geometry.filter[-2])
        found, is_there = self.met(self.kernel.rank - 2, line, tap)
        is_inside, offset = self.seen_plane(outer_tap)
        offset = offset + cutlass.Int64(found) * self.a.stride[self.kernel.rank - 1]
        return self.is_inside & is_there & is_inside & (line < self.planes.lines), offset

    def pixel(self, offset, along, is_inside) -> cute.TensorSSA:
        """The channels of a pixel of a line."""
        is_inside = is_inside & is_within(along, self.gathered[-1])
        offset = offset + cutlass.Int64(along) * self.a.stride[self.kernel.rank]
        alignment = self.kernel.convolution.gemm.a.alignment
        return self.kernel.loaded(self.a, offset, self.channel, is_inside, alignment)

    @cute.jit
    def load_filters(self, first, count, divisor, at_once: cutlass.Constexpr[int]):
        """Load the block's filters of `count` taps from `first` on into shared memory, `at_once` a thread.

        `divisor` divides by `count`.
        """
        kernel, filters, (channels, taps, _) = self.kernel, self.filters, self.b.shape
        found, size = cute.make_rmem_tensor(at_once, kernel.element), count * kernel.channels
        for begin in range(self.thread, size, kernel.threads * at_once):
            for i in cutlass.range_constexpr(at_once):
                channel, tap = quotient(begin + i * kernel.threads, divisor)
                tap = first + tap
                if cutlass.const_expr(kernel.convolution.mode == "convolution"):
                    tap = taps - 1 - tap
                # What is beyond the last channel is multiplied by zeros, and never stored.
                channel = cutlass.min(self.tile_channel + channel, channels - 1)
                found[i] = self.b[channel, tap, 0]
            for i in cutlass.range_constexpr(at_once):
                if begin + i * kernel.threads < size:
                    channel, tap = quotient(begin + i * kernel.threads, divisor)
                    filters[tap, channel] = found[i].to(kernel.accumulator)

    def filter(self, number) -> cute.TensorSSA:
        """What the thread's channels have of one of the taps in shared memory."""
        row = depthwise.filter_row(self.kernel.convolution)
        place = cute.assume(number * row + self.across, divby=self.kernel.vector)
        return cute.make_tensor(self.filters.iterator + place, cute.make_layout(self.kernel.vector)).load()
