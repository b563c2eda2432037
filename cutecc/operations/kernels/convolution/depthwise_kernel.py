# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""The depthwise convolution in CuTe; `depthwise.py` says how it works."""

from __future__ import annotations

from math import prod
from typing import Any

import cutlass
from cutlass import cute
from cutlass._mlir import ir
from cutlass._mlir.dialects import llvm
from cutlass.cutlass_dsl import T, dsl_user_op

from cutecc.operations.convolution.description import ConvolutionDescription
from cutecc.operations.kernels.access import vector_copy
from cutecc.operations.kernels.convolution import depthwise
from cutecc.operations.kernels.convolution.digits import pixel_of, quotient
from cutecc.operations.kernels.convolution.multistage_copies import is_within
from cutecc.operations.kernels.convolution.signature import Geometry, product
from cutecc.operations.kernels.gemm_kernel import GemmKernel
from cutecc.operations.kernels.lanes import warp_place
from cutecc.operations.kernels.numeric import numeric
from cutecc.operations.kernels.workspace import ceil_div


class DepthwiseConvolution(GemmKernel):
    """What the kernels of all kinds have in common."""

    def __init__(self, description: ConvolutionDescription):
        super().__init__(product(description))
        self.convolution, self.rank = description, description.rank
        self.__name__ = description.kernel_name
        self.tile, self.warps = description.gemm.tile.threadblock, description.gemm.tile.warps
        self.threads, self.vector = depthwise.threads(description), depthwise.vector(description)
        self.run = depthwise.run(description)
        self.element = numeric(description.gemm.a.dtype)

    @cute.jit
    def __call__(self, problem, geometry, a, b, operands, workspace, slices, multiprocessors, stream):
        """Launch all that the operation takes; `signature.py` says on what."""
        self.launch_all(problem, (Geometry(*geometry), a), b, operands, workspace, slices, multiprocessors, stream)

    def loaded(self, tensor: cute.Tensor, offset, channel, is_inside, alignment: int) -> cute.TensorSSA:
        """The thread's channels of a pixel as accumulators; zeros where there is no such pixel, or channel."""
        width = depthwise.width(self.convolution, alignment)
        piece = cute.make_rmem_tensor((self.vector,), self.element)
        channels = tensor.shape[self.rank + 1]
        pointer = tensor.iterator + cute.assume(offset + channel, divby=width)
        if width * self.element.width % 32 == 0:
            words, count = cute.recast_tensor(piece, cutlass.Uint32), width * self.element.width // 32
            for i, first in enumerate(range(0, self.vector, width)):
                is_there = is_inside & (channel + first < channels)
                for j, word in enumerate(loaded_words(pointer + first, is_there, count)):
                    words[i * count + j] = word
            return piece.load().to(self.accumulator)
        piece.fill(0)
        for first in range(0, self.vector, width):
            inside = cute.make_rmem_tensor((1, 1), cutlass.Boolean)
            inside[0] = is_inside & (channel + first < channels)
            layout = cute.make_layout(((width, 1), 1))
            source, target = (cute.make_tensor(each + first, layout) for each in (pointer, piece.iterator))
            cute.copy(vector_copy(self.element, width), source, target, pred=inside)
        return piece.load().to(self.accumulator)


class DepthwisePixels(DepthwiseConvolution):
    """`fprop` and `dgrad`: sums over the taps that a pixel of D meets."""

    def __init__(self, description: ConvolutionDescription):
        super().__init__(description)
        self.is_fprop = description.kind == "fprop"
        self.divides = not self.is_fprop and description.stride == "strided"

    def launch(self, problem, a, b, operands, workspace, slices, multiprocessors, stream) -> None:
        """A thread for each run of pixels and vector of channels."""
        geometry, a = a
        pixels = geometry.output if self.is_fprop else geometry.image
        runs = ceil_div(pixels[-1], self.run)
        tiled = (depthwise.tiled_rows(self.convolution, geometry), *problem[1:])
        divisors = tuple(
            tuple(cute.fast_divmod_create_divisor_v2(size) for size in each)
            for each in ((*pixels[:-1], runs), geometry.stride)
        )
        self.kernel(problem, tiled, geometry, divisors, a, b, operands, workspace, slices).launch(
            grid=self.rasterization.grid(tiled), block=(self.threads, 1, 1), stream=stream
        )

    @cute.kernel
    def kernel(self, problem, tiled, geometry, divisors, a, b, operands, workspace, slices):
        """One tile of D."""
        thread, _, _ = cute.arch.thread_idx()
        tile_m, tile_n, _ = self.rasterization.of_block(cute.arch.block_idx(), tiled)
        warp = warp_place(thread, self.warps[:2])
        lane = thread % depthwise.WARP
        across = (warp[1] * depthwise.LANES[1] + lane % depthwise.LANES[1]) * self.vector
        number = tile_m * (self.tile[0] // self.run) + warp[0] * depthwise.LANES[0] + lane // depthwise.LANES[1]
        filters = cutlass.utils.SmemAllocator().allocate_tensor(
            self.accumulator, cute.make_layout((depthwise.MOST_TAPS, self.tile[1]), stride=(self.tile[1], 1)), 16
        )
        place = Place(self, geometry, divisors, a, b, filters, thread, tile_n * self.tile[1], across, number)
        place.is_inside = number * self.run < tiled[0]
        place.add()

        whole = cute.make_identity_tensor((self.run, problem[1]))
        coordinates = cute.local_tile(whole, (self.run, self.vector), (0, place.channel // self.vector))
        self.epilogue.apply(
            *(place.sums, coordinates, problem, 0, operands),
            **{"workspace": workspace, "slices": slices, "tile": (tile_m, tile_n), "warp": warp, "rows": place.row},
        )


class Place:
    """Where a thread is: a run of pixels of D in a line, and a vector of channels."""

    def __init__(
        self, kernel: DepthwisePixels, geometry, divisors, a, b, filters, thread, tile_channel, across, number
    ):
        self.kernel, self.geometry, self.a, self.b, self.filters, self.thread = kernel, geometry, a, b, filters, thread
        self.tile_channel, self.across, self.channel = tile_channel, across, tile_channel + across
        """Of the first channel of the block; how far the thread's is from it; the thread's."""
        pixel_divisors, self.strides = divisors
        self.image, (*self.outer, run) = pixel_of(number, pixel_divisors)
        self.first = run * kernel.run
        """Along the last axis."""
        self.width = geometry.output[-1] if kernel.is_fprop else geometry.image[-1]
        self.first_row = quotient(number, pixel_divisors[-1])[0] * self.width + self.first
        self.is_inside: Any = True
        layout = cute.make_layout((kernel.run, kernel.vector), stride=(kernel.vector, 1))
        self.sums = cute.make_rmem_tensor(layout, kernel.accumulator)
        self.sums.fill(0)
        self.gathered = geometry.image if kernel.is_fprop else geometry.output

    @cute.jit
    def add(self):
        """Add all taps, a line of the filter at a time where it has a usual width."""
        width, taps = self.geometry.filter[-1], prod(self.geometry.filter)
        is_usual = (self.geometry.stride[-1] == 1) & (self.geometry.dilation[-1] == 1)
        is_usual = is_usual & (taps <= depthwise.MOST_TAPS)
        if is_usual & (width == depthwise.WIDTHS[0]):
            self.add_lines(depthwise.WIDTHS[0])
        elif is_usual & (width == depthwise.WIDTHS[1]):
            self.add_lines(depthwise.WIDTHS[1])
        elif is_usual & (width == depthwise.WIDTHS[2]):
            self.add_lines(depthwise.WIDTHS[2])
        else:
            self.add_taps(taps)

    @cute.jit
    def add_lines(self, width: cutlass.Constexpr[int]):
        """Add lines of `width` taps, of which pixels that are next to each other see the same."""
        lines = prod(self.geometry.filter[:-1])
        self.load_filters(0, lines * width)
        for line in range(lines):
            is_inside, offset = self.line(line)
            self.add_line(width, line * width, is_inside, offset)

    def add_line(self, width: int, first_tap, is_inside, offset) -> None:
        found, filters = [self.sums[i, None].load() for i in range(self.kernel.run)], {}
        first = self.first - self.geometry.padding[-1]
        if not self.kernel.is_fprop:
            first = self.first + self.geometry.padding[-1] - (width - 1)
        for x in range(width + self.kernel.run - 1):
            if x < width:
                filters[x] = self.filter(first_tap + (x if self.kernel.is_fprop else width - 1 - x))
            value = self.pixel(offset, first + x, is_inside)
            for i in range(self.kernel.run):
                if 0 <= x - i < width:
                    found[i] = found[i] + value * filters[x - i]
        for i, each in enumerate(found):
            self.sums[i, None].store(each)

    @cute.jit
    def add_taps(self, taps):
        """Add one tap after the other, of any stride and dilation."""
        for first in range(0, taps, depthwise.MOST_TAPS):
            count = cutlass.min(taps - first, depthwise.MOST_TAPS)
            self.load_filters(first, count)
            for i in range(count):
                line, tap = quotient(first + i, self.geometry.filter[-1])
                is_inside, offset = self.line(line)
                self.add_tap(i, tap, is_inside, offset)

    def add_tap(self, number, tap, is_inside, offset) -> None:
        taps = self.filter(number)
        for i in range(self.kernel.run):
            along, is_there = self.met(self.kernel.rank - 1, self.first + i, tap)
            value = self.pixel(offset, along, is_inside & is_there)
            self.sums[i, None].store(self.sums[i, None].load() + value * taps)

    def row(self, number: int) -> tuple[Any, Any]:
        """The row of D of one of the pixels, and whether there is it."""
        return self.first_row + number, self.is_inside & (self.first + number < self.width)

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

    def line(self, line) -> tuple[Any, Any]:
        """Whether a line of taps meets a line of pixels, and where that begins: elements, `Int64`."""
        is_inside, offset = self.is_inside, cutlass.Int64(self.image) * self.a.stride[0]
        for axis in reversed(range(self.kernel.rank - 1)):
            line, tap = quotient(line, self.geometry.filter[axis]) if axis else (0, line)
            found, is_there = self.met(axis, self.outer[axis], tap)
            is_inside = is_inside & is_there
            offset = offset + cutlass.Int64(found) * self.a.stride[axis + 1]
        return is_inside, offset

    def pixel(self, offset, along, is_inside) -> cute.TensorSSA:
        """The channels of a pixel of a line."""
        is_inside = is_inside & is_within(along, self.gathered[-1])
        offset = offset + cutlass.Int64(along) * self.a.stride[self.kernel.rank]
        alignment = self.kernel.convolution.gemm.a.alignment
        return self.kernel.loaded(self.a, offset, self.channel, is_inside, alignment)

    @cute.jit
    def load_filters(self, first, count):
        """Have the block's filters of `count` taps from `first` on in shared memory."""
        width, taps, filters = self.kernel.tile[1], self.b.shape[1], self.filters
        cute.arch.sync_threads()
        for index in range(self.thread, count * width, self.kernel.threads):
            tap, channel = first + index // width, self.tile_channel + index % width
            if cutlass.const_expr(self.kernel.convolution.mode == "convolution"):
                tap = taps - 1 - tap
            value = self.kernel.accumulator(0)
            if channel < self.b.shape[0]:
                value = self.b[channel, tap, 0].to(self.kernel.accumulator)
            filters[index // width, index % width] = value
        cute.arch.sync_threads()

    def filter(self, number) -> cute.TensorSSA:
        """What the thread's channels have of one of the taps in shared memory."""
        place = cute.assume(number * self.kernel.tile[1] + self.across, divby=self.kernel.vector)
        return cute.make_tensor(self.filters.iterator + place, cute.make_layout(self.kernel.vector)).load()


@dsl_user_op
def loaded_words(pointer, is_inside, count: int, *, loc=None, ip=None) -> list[cutlass.Uint32]:
    """Four bytes of global memory or as many words as two or four, zeros unless `is_inside`.

    A copy of the DSL's would branch around the load, and none be under way while another one is waited for.
    """
    zero = cutlass.Uint32(0).ir_value(loc=loc, ip=ip)
    condition = cutlass.Int32(is_inside).ir_value(loc=loc, ip=ip)
    words = ", ".join(f"${i}" for i in range(count))
    form, words = ("b32", words) if count == 1 else (f"v{count}.b32", f"{{{words}}}")
    result = llvm.inline_asm(
        llvm.StructType.get_literal([T.i32()] * count),
        [pointer.toint(loc=loc, ip=ip).ir_value(loc=loc, ip=ip), condition, *[zero] * count],
        f"{{ .reg .pred p; setp.ne.s32 p, ${count + 1}, 0; @p ld.global.{form} {words}, [${count}]; }}",
        ",".join(["=r"] * count + ["l", "r", *map(str, range(count))]),
        loc=loc,
        ip=ip,
    )
    places = (ir.DenseI64ArrayAttr.get([i]) for i in range(count))
    return [cutlass.Uint32(llvm.extractvalue(T.i32(), result, place, loc=loc, ip=ip)) for place in places]
