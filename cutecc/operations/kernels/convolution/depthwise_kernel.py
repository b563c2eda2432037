# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""The depthwise convolution in CuTe; `depthwise.py` says how it works."""

from __future__ import annotations

from math import prod

import cutlass
from cutlass import cute
from cutlass._mlir import ir
from cutlass._mlir.dialects import llvm
from cutlass.cutlass_dsl import T, dsl_user_op

from cutecc.operations.convolution.description import ConvolutionDescription
from cutecc.operations.kernels.access import vector_copy
from cutecc.operations.kernels.convolution import depthwise
from cutecc.operations.kernels.convolution.depthwise_pixels import Place
from cutecc.operations.kernels.convolution.signature import Geometry, product
from cutecc.operations.kernels.gemm_kernel import GemmKernel
from cutecc.operations.kernels.lanes import warp_place
from cutecc.operations.kernels.numeric import numeric


class DepthwiseConvolution(GemmKernel):
    """What the kernels of all kinds have in common."""

    def __init__(self, description: ConvolutionDescription):
        super().__init__(product(description))
        self.convolution, self.rank = description, description.rank
        self.__name__ = description.kernel_name
        self.tile, self.warps = description.gemm.tile.threadblock, description.gemm.tile.warps
        self.channels = self.tile[0 if description.kind == "wgrad" else 1]
        """Of a block."""
        self.threads, self.vector = depthwise.threads(description), depthwise.vector(description)
        self.lanes, self.run = depthwise.lanes(description), depthwise.run(description)
        self.patch = depthwise.patch(description)
        self.element = numeric(description.gemm.a.dtype)
        self.occupancy = {
            "min_blocks_per_mp": depthwise.blocks_per_sm(description),
            "preferred_smem_carveout": depthwise.shared_memory_percentage(description),
        }

    @cute.jit
    def __call__(self, problem, geometry, a, b, operands, workspace, slices, multiprocessors, stream):
        """Launch all that the operation takes; `signature.py` says on what."""
        self.launch_all(problem, (Geometry(*geometry), a), b, operands, workspace, slices, multiprocessors, stream)

    def loaded(self, tensor: cute.Tensor, offset, channel, is_inside, alignment: int) -> cute.TensorSSA:
        """The thread's channels of a pixel as accumulators; zeros where there is no such pixel, or channel."""
        width = depthwise.width(self.convolution, alignment)
        channels = tensor.shape[self.rank + 1]
        pointer = tensor.iterator + cute.assume(offset + channel, divby=width)
        if width * self.element.width % 32 == 0:
            count = width * self.element.width // 32
            words = cute.make_rmem_tensor((self.vector // width * count,), cutlass.Uint32)
            for i, first in enumerate(range(0, self.vector, width)):
                is_there = is_inside & (channel + first < channels)
                for j, word in enumerate(loaded_words(pointer + first, is_there, count)):
                    words[i * count + j] = word
            # A layout of one word would make none of several elements.
            elements = cute.recast_ptr(words.iterator, dtype=self.element)
            return cute.make_tensor(elements, cute.make_layout(self.vector)).load().to(self.accumulator)
        piece = cute.make_rmem_tensor((self.vector,), self.element)
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
        self.epilogue.lanes = self.lanes

    def launch_all(self, problem, a, b, operands, workspace, slices, multiprocessors, stream) -> None:
        """As for a product of whole tiles: parts of reductions are those of blocks."""
        cut = depthwise.cut(self.convolution, a[0], cutlass.min)
        tiled = (depthwise.tiled_rows(self.convolution, a[0], cut), *problem[1:])
        super().launch_all(tiled, (*a, cut), b, operands, workspace, slices, multiprocessors, stream)

    def launch(self, problem, a, b, operands, workspace, slices, multiprocessors, stream) -> None:
        """A thread for each patch of pixels and vector of channels."""
        geometry, a, cut = a
        outer = (geometry.output if self.is_fprop else geometry.image)[:-2]
        tiles = depthwise.tiles(self.convolution, geometry, cut)
        sizes = tiles[1:], (cut.runs, cut.seen[1], prod(geometry.filter[-2:])), outer, geometry.stride
        divisors = tuple(tuple(cute.fast_divmod_create_divisor_v2(size) for size in each) for each in sizes)
        self.kernel(problem, geometry, cut, divisors, a, b, operands, workspace, slices).launch(
            grid=self.rasterization.grid(problem), block=(self.threads, 1, 1), stream=stream, **self.occupancy
        )

    @cute.kernel
    def kernel(self, problem, geometry, cut, divisors, a, b, operands, workspace, slices):
        """One tile of D."""
        thread, _, _ = cute.arch.thread_idx()
        tile_m, tile_n, _ = self.rasterization.of_block(cute.arch.block_idx(), problem)
        warp = warp_place(thread, self.warps[:2])
        place = Place(self, geometry, cut, divisors, a, b, thread, warp, tile_m, tile_n * self.channels)
        place.add()

        whole = cute.make_identity_tensor((self.run, problem[1]))
        coordinates = cute.local_tile(whole, (self.run, self.vector), (0, place.channel // self.vector))
        self.epilogue.apply(
            *(place.sums, coordinates, problem, 0, operands),
            **{"workspace": workspace, "slices": slices, "tile": (tile_m, tile_n), "warp": warp, "rows": place.row},
        )


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
