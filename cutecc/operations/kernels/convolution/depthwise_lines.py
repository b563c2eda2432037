# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""What a thread of a depthwise `wgrad` adds up; `depthwise.py` says how it works."""

from __future__ import annotations

from math import prod
from typing import Any

import cutlass
from cutlass import cute

from cutecc.operations.kernels.convolution import depthwise
from cutecc.operations.kernels.convolution.depthwise_stage import Stage, wait
from cutecc.operations.kernels.convolution.digits import pixel_of, quotient
from cutecc.operations.kernels.convolution.multistage_copies import is_within
from cutecc.operations.kernels.split_k import slice_of
from cutecc.operations.kernels.workspace import ceil_div


class Lines:
    """A thread's vector of channels and run of taps, and their sums over the outputs that it has."""

    def __init__(self, kernel, geometry, cut: depthwise.Cut, divisors, a, b, memory, thread, tile_m, tile_n):
        """`a` are the gradients of outputs, `b` the activations, `memory` is the block's shared memory."""
        self.kernel, self.geometry, self.cut, self.a, self.b = kernel, geometry, cut, a, b
        self.tile_divisors, (run_divisor, *self.column_divisors), self.plane_divisors, self.line_divisors = divisors
        self.planes = depthwise.planes(kernel.convolution, geometry)
        lane, warp = thread % depthwise.WARP, cute.arch.make_warp_uniform(thread // depthwise.WARP)
        along_k, along_n = quotient(warp, kernel.warps[1])
        lanes, channel_lanes = kernel.lanes
        self.across = lane % channel_lanes * kernel.vector
        self.channel = tile_m * kernel.channels + self.across
        self.number = along_k * lanes + lane // channel_lanes
        """Of the thread among those along pixels."""
        self.group, self.run = quotient(self.number, run_divisor)
        self.block_tap = tile_n * kernel.tile[1]
        self.first_tap = self.block_tap + along_n * kernel.run
        layout = cute.make_layout((kernel.run, kernel.vector), stride=(kernel.vector, 1))
        self.sums = cute.make_rmem_tensor(layout, kernel.accumulator)
        self.sums.fill(0)
        self.lines, self.width = depthwise.filter_lines(kernel.convolution)
        """Of a filter that is unrolled."""
        memory, size = (
            cute.recast_ptr(memory.iterator, dtype=kernel.element),
            cut.seen[0] * cut.seen[1] * kernel.channels,
        )
        behind = memory + cute.assume(size, divby=kernel.channels)
        image, output = geometry.image, geometry.output
        if kernel.rank == 1:
            image, output = (geometry.images, *image), (geometry.images, *output)
        gemm, channel = kernel.convolution.gemm, tile_m * kernel.channels
        self.pixels = Stage(kernel, memory, b, gemm.b.alignment, image[-2:], channel, thread)
        self.gradients = Stage(kernel, behind, a, gemm.a.alignment, output[-2:], channel, thread)

    @cute.jit
    def add(self, tiles, slices, index):
        """Add up the rectangles of a slice, or the lines of it where lines of the filter are not unrolled."""
        planes = self.planes
        if cutlass.const_expr(self.width):
            is_usual = depthwise.is_staged(self.kernel.convolution, self.geometry, self.cut)
            is_usual = is_usual & (planes.filter[1] == self.width)
            if is_usual & (planes.stride[1] == 1):
                self.add_tiles(tiles, slices, index, 1)
            elif is_usual & (planes.stride[1] == 2):
                self.add_tiles(tiles, slices, index, 2)
            else:
                self.add_lines(slices, index)
        else:
            self.add_lines(slices, index)

    @cute.jit
    def add_tiles(self, tiles, slices, index, step: cutlass.Constexpr[int]):
        """Add up the rectangles of a slice; filters go `step` pixels from one output to the next."""
        first, count = slice_of(tiles, slices, index)
        for tile in range(first, first + count):
            plane, (line, column) = pixel_of(tile, self.tile_divisors)
            begin = line * (self.cut.groups * self.cut.lines), column * (self.cut.runs * self.kernel.patch[1])
            if cutlass.const_expr(self.kernel.rank < 3):
                self.add_tile(plane, begin, 0, tile > first, step)
            else:
                # Lines of the filter that belong to other taps outside of planes see other planes.
                lines = self.kernel.tile[1] // self.width
                taps = prod(self.geometry.filter[:-1])
                begin_line = self.block_tap // self.width
                end_line = cutlass.min(begin_line + lines, taps) - 1
                tap, last = self.seen_line(begin_line), self.seen_line(end_line)
                tap, last = (each // self.geometry.filter[-2] for each in (tap, last))
                if cutlass.const_expr(self.kernel.convolution.mode == "convolution"):
                    tap, last = last, tap
                for outer in range(tap, last + 1):
                    self.add_tile(plane, begin, outer, (tile > first) | (outer > tap), step)

    def seen_line(self, line):
        """Of a line of taps of D, the one that it is as it goes over the pixels."""
        is_turned = self.kernel.convolution.mode == "convolution"
        return prod(self.geometry.filter[:-1]) - 1 - line if is_turned else line

    @cute.jit
    def add_tile(self, plane, begin, outer, is_later, step: cutlass.Constexpr[int]):
        """Add up a rectangle for the taps that see its plane with the tap `outer`."""
        planes, cut = self.planes, self.cut
        if is_later:
            cute.arch.sync_threads()
        first = [begin[axis] * planes.stride[axis] - planes.padding[axis] for axis in range(2)]
        is_inside, pixels, gradients = self.seen_plane(plane, outer)
        self.pixels.fill(pixels, is_inside, first, cut.seen, self.column_divisors[0])
        size = cut.groups * cut.lines, cut.runs * self.kernel.patch[1]
        self.gradients.fill(gradients, cutlass.Boolean(True), begin, size, self.column_divisors[1])
        wait()
        if self.group < cut.groups:
            self.add_staged(outer, step)

    def seen_plane(self, plane, tap) -> tuple[Any, Any, Any]:
        """Whether there is the plane that a tap outside of planes sees, where, and where that of the gradients is."""
        image, outer = pixel_of(plane, self.plane_divisors)
        pixels, gradients = (cutlass.Int64(image) * each.stride[0] for each in (self.b, self.a))
        is_inside = cutlass.Boolean(True)
        if self.kernel.rank == 3:
            geometry = self.geometry
            found = outer[0] * geometry.stride[0] - geometry.padding[0] + tap * geometry.dilation[0]
            is_inside = is_within(found, geometry.image[0])
            pixels = pixels + cutlass.Int64(found) * self.b.stride[1]
            gradients = gradients + cutlass.Int64(outer[0]) * self.a.stride[1]
        return is_inside, pixels, gradients

    @cute.jit
    def add_staged(self, outer, step: cutlass.Constexpr[int]):
        """Add up the thread's part of what is in shared memory, a line of pixels at a time."""
        kernel, cut = self.kernel, self.cut
        columns, channels = kernel.patch[1], kernel.channels
        line_step = 1 if kernel.rank == 1 else step
        place = (self.group * cut.lines * line_step) * cut.seen[1] + self.run * (columns * step)
        place = place * channels + self.across
        of_gradients = (self.group * cut.lines * cut.runs + self.run) * (columns * channels) + self.across
        taps = self.planes.filter[0]
        for line in range((cut.lines - 1) * line_step + taps):
            pixels = self.pixels.load(place + line * cut.seen[1] * channels, (columns - 1) * step + self.width)
            for own in cutlass.range_constexpr(self.lines):
                tap = self.seen_line(self.first_tap // self.width + own) - outer * taps
                output, is_met = line - tap, is_within(tap, taps)
                if cutlass.const_expr(line_step > 1):
                    is_met = is_met & (output % line_step == 0)
                    output = output // line_step
                if is_met & is_within(output, cut.lines):
                    self.add_line(step, own, of_gradients + output * cut.runs * (columns * channels), pixels)

    def add_line(self, step: int, line: int, place, pixels: cute.Tensor) -> None:
        """Add a line of outputs to the sums of a line of taps."""
        columns = self.kernel.patch[1]
        gradients = self.gradients.load(place, columns)
        sums = [self.sums[line * self.width + tap, None].load() for tap in range(self.width)]
        for column in range(columns):
            for tap in range(self.width):
                own = self.width - 1 - tap if self.kernel.convolution.mode == "convolution" else tap
                sums[own] = sums[own] + gradients[None, column].load() * pixels[None, column * step + tap].load()
        for tap, each in enumerate(sums):
            self.sums[line * self.width + tap, None].store(each)

    @cute.jit
    def add_lines(self, slices, index):
        """Add up the lines of a slice, for each of the thread's taps by itself, from global memory."""
        geometry, at_once = self.geometry, depthwise.pixel_threads(self.kernel.convolution)
        lines = geometry.images * prod(geometry.output[:-1])
        first, count = slice_of(ceil_div(lines, at_once), slices, index)
        for step in range(first, first + count):
            line = step * at_once + self.number
            image, output = pixel_of(line, self.line_divisors)
            gradients = self.offset(self.a, image, output)
            for x in range(geometry.output[-1]):
                self.add_each(x, line < lines, image, output, gradients)

    def add_each(self, x, is_inside, image, output, gradients) -> None:
        gradient, geometry = self.loaded(self.a, gradients, x, is_inside), self.geometry
        for i in range(self.kernel.run):
            tap = self.first_tap + i
            pixel, is_there = self.met(tap, output)
            along = self.turned(quotient(tap, geometry.filter[-1])[1], -1)
            along = x * geometry.stride[-1] - geometry.padding[-1] + along * geometry.dilation[-1]
            is_there = is_there & is_inside & (tap < prod(geometry.filter)) & is_within(along, geometry.image[-1])
            seen = self.loaded(self.b, self.offset(self.b, image, pixel), along, is_there)
            self.sums[i, None].store(self.sums[i, None].load() + gradient * seen)

    def turned(self, tap, axis: int):
        """The tap that a filter has in one of its places along an axis."""
        is_turned = self.kernel.convolution.mode == "convolution"
        return self.geometry.filter[axis] - 1 - tap if is_turned else tap

    def met(self, tap, output) -> tuple[list[Any], Any]:
        """The line of pixels that a tap sees from a line of outputs, and whether there is it."""
        geometry, found, is_there = self.geometry, [], cutlass.Boolean(True)
        line, _ = quotient(tap, geometry.filter[-1])
        for axis in reversed(range(self.kernel.rank - 1)):
            line, at = quotient(line, geometry.filter[axis]) if axis else (0, line)
            at = self.turned(at, axis) * geometry.dilation[axis]
            pixel = output[axis] * geometry.stride[axis] - geometry.padding[axis] + at
            is_there = is_there & is_within(pixel, geometry.image[axis])
            found.insert(0, pixel)
        return found, is_there

    def offset(self, tensor, image, coordinates):
        """Where a line of pixels begins: elements, `Int64`."""
        offset = cutlass.Int64(image) * tensor.stride[0]
        for axis, coordinate in enumerate(coordinates):
            offset = offset + cutlass.Int64(coordinate) * tensor.stride[axis + 1]
        return offset

    def loaded(self, tensor, offset, along, is_inside) -> cute.TensorSSA:
        """The channels of a pixel, or of the gradient of an output, of a line at `offset`."""
        gemm = self.kernel.convolution.gemm
        operand = gemm.a if tensor is self.a else gemm.b
        offset = offset + cutlass.Int64(along) * tensor.stride[self.kernel.rank]
        return self.kernel.loaded(tensor, offset, self.channel, is_inside, operand.alignment)
