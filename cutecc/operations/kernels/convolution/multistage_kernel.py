# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""Convolutions by the multistage kernels of GEMM in CuTe; `multistage.py` says how they work."""

from __future__ import annotations

from typing import Any

import cutlass
from cutlass import cute

from cutecc.operations.convolution.description import ConvolutionDescription
from cutecc.operations.kernels import simt_kernel, sm80_copies
from cutecc.operations.kernels.convolution.implicit_product import KINDS, Dgrad, ImplicitProduct, divisors
from cutecc.operations.kernels.convolution.multistage import (
    phase_count,
    reduces_phases,
    sm80_plans,
    tiled_rows,
    tiles_by_phase,
)
from cutecc.operations.kernels.convolution.phases import Phase
from cutecc.operations.kernels.convolution.signature import Geometry
from cutecc.operations.kernels.signature import full_operand
from cutecc.operations.kernels.simt_kernel import SimtGemm
from cutecc.operations.kernels.sm80_kernel import Sm80Gemm
from cutecc.operations.kernels.split_k import slice_of


class MultistageConvolution:
    """What convolutions have in place of a GEMM's way to its operands; a class of kernels comes behind it."""

    def __init__(self, description: ConvolutionDescription):
        super().__init__(description.gemm)
        self.convolution, self.tiles_by_phase = description, tiles_by_phase(description)
        self.__name__ = description.kernel_name

    @cute.jit
    def __call__(self, problem, geometry, a, b, operands, workspace, slices, multiprocessors, stream):
        """Launch all that the operation takes; `signature.py` says on what."""
        operands = self.operands_of_product(operands)
        self.launch_all(problem, (Geometry(*geometry), a), b, operands, workspace, slices, multiprocessors, stream)

    def operands_of_product(self, operands) -> tuple[Any, ...]:
        """Those of the epilogue as it takes them: of interleaved ones M goes through all images."""
        full = [full_operand(self.description, each) for each in self.description.epilogue.operands]
        return tuple(
            of_images(argument) if each is not None and each.is_interleaved else argument
            for each, argument in zip(full, operands, strict=True)
        )

    def counted(self, problem, a):
        """Phases have tiles of their own; slices of K are added up in others."""
        geometry, _ = a
        return (tiled_rows(self.convolution, geometry), *problem[1:]) if reduces_phases(self.convolution) else problem

    def launch(self, problem, a, b, operands, workspace, slices, multiprocessors, stream) -> None:
        """One block for each tile of D, group and slice of K; each phase of a strided dgrad has tiles of its own."""
        geometry, a = a
        groups = 1 if self.convolution.groups == "single" else problem[3]
        tiled = (tiled_rows(self.convolution, geometry), *problem[1:]) if self.tiles_by_phase else problem
        self.kernel(
            *(problem, tiled, geometry, divisors(self.convolution, geometry, groups)),
            *(a, b, operands, workspace, slices),
        ).launch(
            grid=self.rasterization.grid(tiled, slices),
            block=(self.threads, 1, 1),
            stream=stream,
            **self.occupancy,
        )

    @cute.kernel
    def kernel(self, problem, tiled, geometry, divisors, a, b, operands, workspace, slices):
        """One tile of D, or one slice of it."""
        thread, _, _ = cute.arch.thread_idx()
        block = cute.arch.block_idx()
        tile_m, tile_n, group = self.rasterization.of_block(block, tiled)
        stages = self.allocate_stages()
        tensors, rest = (geometry, divisors, a, b, group), (workspace, slices, block[2], thread)
        if cutlass.const_expr(self.tiles_by_phase):
            tiles = tiled[0] // self.tile[0] // phase_count(geometry)
            phase = Phase(geometry, tile_m // tiles)
            if self.has_part(tile_m % tiles * self.tile[0], phase):
                of_phase, results = (tile_m % tiles, tile_n), (operands, phase.row, (tile_m, tile_n))
                self.compute_phase(
                    phase, self.counted(problem, (geometry, a)), tensors, stages, of_phase, results, *rest
                )
        else:
            product = KINDS[self.convolution.kind](self.convolution, problem, *tensors)
            self.compute(product, problem, stages, (tile_m, tile_n), group, (operands, None, None), *rest)

    def has_part(self, first_row, phase: Phase):
        """Whether a tile of a phase has rows, others of the phases being larger, or leaves its part of a reduction."""
        return True if reduces_phases(self.convolution) else first_row < phase.rows

    def compute_phase(self, phase: Phase, problem, tensors, stages, tile, operands, *rest) -> None:
        """One tile of the rows of a phase."""
        product = Dgrad(self.convolution, problem, *tensors, phase=phase)
        self.compute(product, problem, stages, tile, tensors[-1], operands, *rest)

    def apply(self, sums, coordinates, problem, batch, operands, workspace, slices, tile, warp):
        """The epilogue of one tile.

        `operands` are the kernel's, which row of D one of the product is, and which of the tiles of all phases this is.
        """
        operands, rows, among = operands
        place = {"workspace": workspace, "slices": slices, "tile": among or tile, "warp": warp}
        self.epilogue.apply(sums, coordinates, problem, batch, operands, rows=rows, **place)

    def compute(
        self, product: ImplicitProduct, problem, stages, tile, group, operands, workspace, slices, slice_index, thread
    ) -> None:
        """One tile of `product`; `operands` are those of `apply`."""
        first, steps = slice_of(product.steps, slices, slice_index)
        copies = [self.tiled_copy(plan) for plan in self.plans]
        fetches = product.fetches(self.plans, copies, stages, tile, thread, first)
        sums = self.multiply(first, steps, self.end(first, steps), fetches, stages, thread)
        self.give(sums, problem, tile, group, stages[0], operands, workspace, slices, slice_index, thread)

    def tiled_copy(self, plan) -> cute.TiledCopy:
        """The copies of a whole tile of an operand."""
        raise NotImplementedError

    def end(self, first, steps):
        """Where fetches end by themselves; `None` where nothing behind the last step is asked for."""
        return None


def of_images(tensor: cute.Tensor) -> cute.Tensor:
    """The interleaved (pixel, 32, channels / 32, image) as (M, 32, N / 32, L), where M goes through all images."""
    (pixels, together, groups, images), (of_pixel, of_channel, of_group, of_image) = tensor.shape, tensor.stride
    shape, stride = ((pixels, images), together, groups, 1), ((of_pixel, of_image), of_channel, of_group, 0)
    return cute.make_tensor(tensor.iterator, cute.make_layout(shape, stride=stride))


class Sm80Convolution(MultistageConvolution, Sm80Gemm):
    """By tensor cores."""

    def __init__(self, description: ConvolutionDescription):
        super().__init__(description)
        self.plans = sm80_plans(description)

    def tiled_copy(self, plan) -> cute.TiledCopy:
        return sm80_copies.tiled_copy(plan)

    def begin(self, first, extent):
        """Fetches know themselves where K begins."""
        return None


class SimtConvolution(MultistageConvolution, SimtGemm):
    """Each thread by itself."""

    def tiled_copy(self, plan) -> cute.TiledCopy:
        return simt_kernel.tiled_copy(plan)

    def end(self, first, steps):
        return first + steps
