# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""The gradient of depthwise filters in CuTe; `depthwise.py` says how it works."""

from __future__ import annotations

from math import prod
from typing import Any

import cutlass
from cutlass import cute

from cutecc.operations.kernels.convolution import depthwise
from cutecc.operations.kernels.convolution.depthwise_kernel import DepthwiseConvolution
from cutecc.operations.kernels.convolution.digits import pixel_of, quotient
from cutecc.operations.kernels.convolution.multistage_copies import is_within
from cutecc.operations.kernels.split_k import slice_of
from cutecc.operations.kernels.warp_reduction import ROW_LANES, exchanged
from cutecc.operations.kernels.workspace import ceil_div


class DepthwiseWgrad(DepthwiseConvolution):
    """`wgrad`: each slice has some lines of pixels, which the threads of a warp and warps along K share."""

    def launch(self, problem, a, b, operands, workspace, slices, multiprocessors, stream) -> None:
        """A block for each tile of D and slice of the lines."""
        geometry, a = a
        divisors = tuple(cute.fast_divmod_create_divisor_v2(size) for size in geometry.output[:-1])
        self.kernel(problem, geometry, divisors, a, b, operands[0], slices).launch(
            grid=self.rasterization.grid(problem, slices), block=(self.threads, 1, 1), stream=stream
        )

    @cute.kernel
    def kernel(self, problem, geometry, divisors, a, b, partials, slices):
        """The sums of a slice of one tile of D."""
        thread, _, _ = cute.arch.thread_idx()
        block = cute.arch.block_idx()
        tile_m, tile_n, _ = self.rasterization.of_block(block, problem)
        layout = cute.make_layout((self.run * self.vector, depthwise.LANES[1], self.threads // depthwise.WARP))
        left = cutlass.utils.SmemAllocator().allocate_tensor(self.accumulator, layout, 16)
        lines = Lines(self, geometry, divisors, a, b, thread, tile_m, tile_n)
        lines.add(slices, block[2])
        lines.leave(left)
        cute.arch.sync_threads()
        self.store(left, partials[None, None, block[2]], thread, tile_m, tile_n)

    @cute.jit
    def store(self, left, partials, thread, tile_m, tile_n):
        """Add up what warps along K have left, and store it."""
        (m, n, _), (_, along_n, along_k) = self.tile, self.warps
        for index in range(thread, m * n, self.threads):
            channel, tap = index // n, index % n
            place = tap % self.run * self.vector + channel % self.vector
            found = left[place, channel // self.vector, tap // self.run]
            for part in cutlass.range_constexpr(1, along_k):
                found = found + left[place, channel // self.vector, part * along_n + tap // self.run]
            row, column = tile_m * m + channel, tile_n * n + tap
            if (row < partials.shape[0]) & (column < partials.shape[1]):
                partials[row, column] = found


class Lines:
    """A thread's vector of channels and run of taps, and their sums over the lines of pixels that it has."""

    def __init__(self, kernel: DepthwiseWgrad, geometry, divisors, a, b, thread, tile_m, tile_n):
        self.kernel, self.geometry, self.divisors, self.a, self.b = kernel, geometry, divisors, a, b
        self.lane, self.warp = thread % depthwise.WARP, cute.arch.make_warp_uniform(thread // depthwise.WARP)
        self.along_k, along_n = quotient(self.warp, kernel.warps[1])
        self.channel = tile_m * kernel.tile[0] + self.lane % depthwise.LANES[1] * kernel.vector
        self.first_tap = tile_n * kernel.tile[1] + along_n * kernel.run
        layout = cute.make_layout((kernel.run, kernel.vector), stride=(kernel.vector, 1))
        self.sums = cute.make_rmem_tensor(layout, kernel.accumulator)
        self.sums.fill(0)
        self.window = cute.make_rmem_tensor(layout, kernel.accumulator)
        """What a line of taps sees: pixels at their places modulo its width."""

    @cute.jit
    def add(self, slices, index):
        """Add up the lines of a slice."""
        geometry = self.geometry
        lines = geometry.images * prod(geometry.output[:-1])
        at_once = depthwise.LANES[0] * self.kernel.warps[2]
        first, count = slice_of(ceil_div(lines, at_once), slices, index)
        is_usual = (geometry.stride[-1] == 1) & (geometry.dilation[-1] == 1) & (geometry.filter[-1] == self.kernel.run)
        for step in range(first, first + count):
            line = (step * self.kernel.warps[2] + self.along_k) * depthwise.LANES[0] + self.lane // depthwise.LANES[1]
            image, output = pixel_of(line, self.divisors)
            gradients = self.offset(self.a, image, output)
            if cutlass.const_expr(self.kernel.run in depthwise.WIDTHS):
                if is_usual:
                    self.add_line(line < lines, image, output, gradients)
                else:
                    self.add_taps(line < lines, image, output, gradients)
            else:
                self.add_taps(line < lines, image, output, gradients)

    @cute.jit
    def add_line(self, is_inside, image, output, gradients):
        """Add a line of outputs for a line of taps; each pixel of the image is loaded once."""
        pixel, is_there = self.met(self.first_tap, output)
        self.add_window(is_inside, is_inside & is_there, self.offset(self.b, image, pixel), gradients)

    @cute.jit
    def add_window(self, is_inside, is_seen, offset, gradients):
        width, window = self.kernel.run, self.window
        for x in cutlass.range_constexpr(width - 1):
            window[x, None].store(self.pixel(offset, x - self.geometry.padding[-1], is_seen))
        for first in range(0, self.geometry.output[-1], width):
            for x in cutlass.range_constexpr(width):
                self.add_pixel(first + x, x, offset, gradients, is_inside, is_seen)

    def add_pixel(self, output, x: int, offset, gradients, is_inside, is_seen) -> None:
        """Add an output, which is at `x` modulo the width of the window."""
        width = self.kernel.run
        last = self.pixel(offset, output + width - 1 - self.geometry.padding[-1], is_seen)
        self.window[(x + width - 1) % width, None].store(last)
        gradient = self.gradient(gradients, output, is_inside)
        for i in range(width):
            seen = self.window[(x + i) % width, None].load()
            place = width - 1 - i if self.kernel.convolution.mode == "convolution" else i
            self.sums[place, None].store(self.sums[place, None].load() + gradient * seen)

    @cute.jit
    def add_taps(self, is_inside, image, output, gradients):
        """Add a line of outputs, for each of the thread's taps by itself."""
        for x in range(self.geometry.output[-1]):
            self.add_each(x, is_inside, image, output, gradients)

    def add_each(self, x, is_inside, image, output, gradients) -> None:
        gradient, geometry = self.gradient(gradients, x, is_inside), self.geometry
        for i in range(self.kernel.run):
            tap = self.first_tap + i
            pixel, is_there = self.met(tap, output)
            along = self.turned(quotient(tap, geometry.filter[-1])[1], -1)
            along = x * geometry.stride[-1] - geometry.padding[-1] + along * geometry.dilation[-1]
            is_there = is_there & is_inside & (tap < prod(geometry.filter))
            seen = self.pixel(self.offset(self.b, image, pixel), along, is_there)
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

    def pixel(self, offset, along, is_inside) -> cute.TensorSSA:
        """The channels of a pixel of the image."""
        is_inside = is_inside & is_within(along, self.geometry.image[-1])
        offset = offset + cutlass.Int64(along) * self.b.stride[self.kernel.rank]
        return self.kernel.loaded(self.b, offset, self.channel, is_inside, self.kernel.convolution.gemm.b.alignment)

    def gradient(self, offset, along, is_inside) -> cute.TensorSSA:
        """The channels of the gradient of an output."""
        is_inside = is_inside & (along < self.geometry.output[-1])
        offset = offset + cutlass.Int64(along) * self.a.stride[self.kernel.rank]
        return self.kernel.loaded(self.a, offset, self.channel, is_inside, self.kernel.convolution.gemm.a.alignment)

    @cute.jit
    def leave(self, left: cute.Tensor):
        """Add up the sums of the threads of a warp that had other lines, and leave them in shared memory."""
        count = cute.size(self.sums)
        value = cute.make_tensor(self.sums.iterator, cute.make_layout(count)).load()
        for distance in ROW_LANES:
            value = value + exchanged(value, distance)
        if self.lane < depthwise.LANES[1]:
            target = left[None, self.lane, self.warp]
            for i in cutlass.range_constexpr(count):
                target[i] = value[i]
