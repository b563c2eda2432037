# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""Folds taps into channels, in CuTe: a thread writes 16 bytes of a pixel or of a filter.

Where taps follow one another and pixels lie side by side, what the taps of a pixel meet is one run of a line. It begins
anywhere, so vectors of 16 bytes are shifted; else elements are gathered one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import cutlass
from cutlass import cute

from cutecc.operations.convolution.description import ConvolutionDescription
from cutecc.operations.kernels.convolution.digits import pixel_of, quotient
from cutecc.operations.kernels.convolution.folding import (
    FILTERS,
    FOLDED,
    Lines,
    converted,
    folded_lines,
    folded_operand,
    offsets,
)
from cutecc.operations.kernels.convolution.signature import Geometry
from cutecc.operations.kernels.line_vectors import LineVectors
from cutecc.operations.kernels.workspace import ceil_div
from cutecc.operations.operand import WIDEST_ALIGNMENT

THREADS = 256


class Folding:
    """Writes what `folded_lines` lists of a description."""

    def __init__(self, description: ConvolutionDescription):
        self.description = description
        self.is_of_channels = description.iterator == "few_channels"
        self.is_wgrad = description.kind == "wgrad"
        self.is_turned = description.mode == "convolution"
        self.reader = LineVectors(folded_operand(description))
        self.__name__ = f"fold_{description.kernel_name}"

    def launch(self, geometry: Geometry, folded: Geometry, a, b, workspace, slices, stream):
        """Fold A or B, and the filters, into the workspace; returns both as the inner convolution reads them."""
        is_of_b = self.is_wgrad and self.is_of_channels
        source = b if is_of_b else self.pixels(geometry, a) if self.is_wgrad else a
        lines, places = folded_lines(self.description, folded), self.places(folded, workspace, slices)
        blocks = {name: ceil_div(each.count * each.vectors, THREADS) for name, each in lines.items()}
        extents = folded.image if self.is_of_channels else folded.output
        divisors = tuple(map(cute.fast_divmod_create_divisor_v2, (lines[FOLDED].vectors, *extents)))
        tensors = {FOLDED: source, FILTERS: b}
        targets = {name: places[name](tensors[name].element_type) for name in lines}
        filters = None if self.is_wgrad else (b, targets[FILTERS], lines[FILTERS].count)
        of_pixels = (source, targets[FOLDED], lines[FOLDED].count)
        self.kernel.set_name_prefix(self.__name__, remove_cutlass_symbol=True, keep_mangled_name=False)
        self.kernel(tuple(geometry), tuple(folded), divisors, of_pixels, filters, blocks[FOLDED]).launch(
            grid=(cutlass.max(sum(blocks.values()), 1), 1, 1), block=(THREADS, 1, 1), stream=stream, use_pdl=True
        )
        tensor = self.folded_tensor(folded, targets[FOLDED], lines[FOLDED])
        if self.is_wgrad:
            return (a, tensor) if self.is_of_channels else (tensor, b)
        return tensor, self.folded_filters(folded, targets[FILTERS], lines[FILTERS])

    def places(self, folded: Geometry, workspace, slices) -> dict[str, Callable[[Any], cute.Tensor]]:
        """Each region of the workspace, as a tensor of a type that is still to be said."""
        wide = converted(folded, cutlass.Int64)
        count = cutlass.Int64(1 if slices is None else slices)
        found = offsets(self.description, wide, count)

        def place(offset: Any) -> Callable[[Any], cute.Tensor]:
            return lambda dtype: cute.make_tensor(
                cute.recast_ptr((workspace.iterator + offset).align(WIDEST_ALIGNMENT), dtype=dtype),
                cute.make_layout((1,)),
            )

        return {name: place(offset) for name, offset in found.items()}

    def pixels(self, geometry: Geometry, matrix) -> cute.Tensor:
        """The matrix (pixel, filter) of outputs as (image, spatial, filter)."""
        distance, strides = cutlass.Int64(matrix.stride[0]), []
        for extent in reversed((*geometry.output,)):
            strides.insert(0, distance)
            distance = distance * extent
        shape = (geometry.images, *geometry.output, geometry.filters)
        return cute.make_tensor(matrix.iterator, cute.make_layout(shape, stride=(distance, *strides, 1)))

    def folded_tensor(self, folded: Geometry, place, lines: Lines) -> cute.Tensor:
        """What is folded as the inner convolution takes it."""
        pitch = self.pitch(lines)
        if self.is_wgrad and not self.is_of_channels:
            layout = cute.make_layout((lines.count, lines.length), stride=(pitch, 1))
            return cute.make_tensor(place.iterator, layout)
        extents, strides, distance = folded.image if self.is_of_channels else folded.output, [], pitch
        for extent in reversed((*extents,)):
            strides.insert(0, distance)
            distance = cute.assume(distance * extent, divby=lines.vector)
        shape = (folded.images, *extents, lines.length)
        return cute.make_tensor(place.iterator, cute.make_layout(shape, stride=(distance, *strides, 1)))

    def folded_filters(self, folded: Geometry, place, lines: Lines) -> cute.Tensor:
        pitch, taps = self.pitch(lines), prod(folded.filter)
        shape = (folded.filters, taps, lines.length)
        of_filter = cute.assume(pitch * taps, divby=lines.vector)
        return cute.make_tensor(place.iterator, cute.make_layout(shape, stride=(of_filter, pitch, 1)))

    def pitch(self, lines: Lines):
        return cute.assume(cutlass.Int64(lines.pitch), divby=lines.vector)

    @cute.kernel
    def kernel(self, geometry, folded, divisors, of_pixels, filters, blocks):
        """256 vectors of 16 bytes: the first `blocks` write the tensor, the others filters."""
        thread, _, _ = cute.arch.thread_idx()
        block, _, _ = cute.arch.block_idx()
        cute.arch.griddepcontrol_launch_dependents()
        cute.arch.griddepcontrol_wait()
        if cutlass.const_expr(filters is None):
            self.fold_pixels(geometry, divisors, *of_pixels, block * THREADS + thread)
        else:
            if block < blocks:
                self.fold_pixels(geometry, divisors, *of_pixels, block * THREADS + thread)
            else:
                self.fold_filters(geometry, folded, *filters, (block - blocks) * THREADS + thread)

    @cute.jit
    def fold_pixels(self, geometry, divisors, source, target, count, index):
        """A vector of the channels, or filters, of a pixel in all taps of a line."""
        geometry = Geometry(*geometry)
        channels, extent, step, before = self.along_line(geometry)
        taps, apart = geometry.filter[-1], geometry.dilation[-1]
        pixel, number = quotient(index, divisors[0])
        if pixel < count:
            image, places = pixel_of(pixel, divisors[1:])
            line = cutlass.Int64(0)
            for at, stride in zip((image, *places[:-1]), source.stride, strict=False):
                line = line + cutlass.Int64(at) * stride
            first, behind = places[-1] * step - before, number * self.reader.vector
            vector = self.reader.words(1)
            # Then what the taps meet lies in one piece.
            if (source.stride[-2] == channels) & (apart == 1) & self.meets_all(geometry):
                run, length = source.iterator + line, taps * channels - behind
                self.read_run(run, first * channels + behind, extent * channels, length, vector)
            else:

                def met(tap):
                    at, is_inside = self.met(geometry, first + tap * apart, extent)
                    return line + cutlass.Int64(at) * source.stride[-2], is_inside

                self.gather(source, behind, channels, taps, met, vector)
            _store(vector, target, index)

    @cute.jit
    def read_run(self, line, first, extent, length, vector):
        """Read `length` elements, as far as they fit, from the `first` one of a line on, which has `extent`."""
        address = line.toint() + cutlass.Int64(first) * self.reader.bytes
        behind = cutlass.Int32(address & (WIDEST_ALIGNMENT - 1))
        begin, place = address - behind, first - behind // self.reader.bytes
        high = self.reader.words(1)
        if length > 0:
            self.read_block(line, begin, place, extent, vector)
            self.read_block(line, begin + WIDEST_ALIGNMENT, place + self.reader.vector, extent, high)
        self.reader.shift(vector, high, 0, behind)
        elements = cute.recast_tensor(vector, self.reader.code)
        for i in cutlass.range_constexpr(self.reader.vector):
            elements[i] = self.reader.code(cutlass.select_(i < length, elements[i], self.reader.code(0)))

    @cute.jit
    def read_block(self, line, address, place, extent, words):
        """The 16 bytes at an address that is a multiple of 16: elements of a line from a `place` on, zeros outside."""
        words.fill(0)
        if (place >= 0) & (place + self.reader.vector <= extent):
            pointer = cute.make_ptr(cutlass.Uint32, address, cute.AddressSpace.gmem, assumed_align=WIDEST_ALIGNMENT)
            cute.autovec_copy(cute.make_tensor(pointer, cute.make_layout((cute.size(words),))), words[None, 0])
        elif (place + self.reader.vector > 0) & (place < extent):
            codes = cute.recast_ptr(line, dtype=self.reader.code)
            elements = cute.recast_tensor(words, self.reader.code)
            for i in cutlass.range_constexpr(self.reader.vector):
                if (place + i >= 0) & (place + i < extent):
                    elements[i] = cute.make_tensor(codes + cutlass.Int64(place + i), cute.make_layout((1,)))[0]

    @cute.jit
    def fold_filters(self, geometry, folded, source, target, count, index):
        """A vector of what a row of filters multiplies a pixel's channels with."""
        geometry, folded = Geometry(*geometry), Geometry(*folded)
        lines = folded_lines(self.description, folded)[FILTERS]
        line, place = quotient(index, lines.vectors)
        if line < count:
            of_filter, of_tap, _ = source.stride
            filter, row = quotient(line, prod(folded.filter))
            taps, last = geometry.filter[-1], geometry.filter[-1] - 1
            of_line, of_filters = cutlass.Int32(0), taps
            if cutlass.const_expr(not self.is_of_channels):
                of_line, filter = quotient(filter, geometry.filters)
                of_filters = cutlass.Int32(1)
            base = cutlass.Int64(filter) * of_filter + cutlass.Int64(row * taps) * of_tap

            def met(tap):
                at = tap if self.is_of_channels else of_line
                at = last - at if self.is_turned == self.is_of_channels else at
                return base + cutlass.Int64(at) * of_tap, (at >= 0) & (at < taps)

            vector = self.reader.words(1)
            self.gather(source, place * lines.vector, geometry.channels, of_filters, met, vector)
            _store(vector, target, index)

    def along_line(self, geometry: Geometry):
        """Of what is folded the channels and how long its lines are; how far a pixel is from the next, where the first
        tap of the first one is before the line."""
        taps, apart = geometry.filter[-1], geometry.dilation[-1]
        if self.is_of_channels:
            return geometry.channels, geometry.image[-1], geometry.stride[-1], geometry.padding[-1]
        # Taps meet outputs in reverse: the last is folded first.
        return geometry.filters, geometry.output[-1], 1, (taps - 1) * apart - geometry.padding[-1]

    def meets_all(self, geometry: Geometry):
        """Whether each tap meets something, but for the edges."""
        if self.is_of_channels or self.description.stride == "unity":
            return True
        return geometry.stride[-1] == 1

    def met(self, geometry: Geometry, place, extent):
        """Where in a line of `extent` what a tap reaches is, and whether there is such a thing."""
        if self.is_of_channels or self.description.stride == "unity":
            return place, (place >= 0) & (place < extent)
        at, rest = quotient(cutlass.max(place, 0), geometry.stride[-1])
        return at, (place >= 0) & (rest == 0) & (at < extent)

    def gather(self, source, first, channels, taps, met, vector) -> None:
        """Fill a vector with elements from the `first` one of (tap, channel) on; zeros for those that there are not."""
        code, found = self.reader.code, cute.recast_tensor(vector, self.reader.code)
        elements = cute.recast_ptr(source.iterator, dtype=code)
        tap, channel = quotient(first, channels)
        for i in range(self.reader.vector):
            offset, is_inside = met(tap)
            is_inside = is_inside & (tap < taps)
            offset = cutlass.Int64(cutlass.select_(is_inside, offset + channel, cutlass.Int64(0)))
            # Loaded wherever it is, so that no load waits for another: what lies outside is the first element.
            element = cute.make_tensor(elements + offset, cute.make_layout((1,)))[0]
            found[i] = code(cutlass.select_(is_inside, element, code(0)))
            channel = channel + 1
            wraps = channel == channels
            channel = cutlass.Int32(cutlass.select_(wraps, cutlass.Int32(0), channel))
            tap = tap + cutlass.Int32(wraps)


def _store(vector: cute.Tensor, target: cute.Tensor, index) -> None:
    """Write a vector of words."""
    place = cute.recast_ptr(target.iterator, dtype=cutlass.Uint32) + cutlass.Int64(index) * cute.size(vector)
    layout = cute.make_layout((cute.size(vector),))
    cute.autovec_copy(vector[None, 0], cute.make_tensor(place.align(WIDEST_ALIGNMENT), layout))
