# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""Hopper convolutions of few channels or filters in CuTe: the kernels of many, on what `folding.py` says is folded."""

from __future__ import annotations

from math import prod

import cutlass
from cutlass import cute

from cutecc.operations.convolution.description import ConvolutionDescription
from cutecc.operations.kernels.convolution import folding, signature
from cutecc.operations.kernels.convolution.folding_kernel import Folding
from cutecc.operations.kernels.convolution.signature import Geometry
from cutecc.operations.kernels.convolution.sm90_kernel import Sm90TapConvolution
from cutecc.operations.kernels.convolution.sm90_strided_kernel import Sm90StridedDgrad
from cutecc.operations.kernels.convolution.sm90_wgrad_kernel import Sm90Wgrad
from cutecc.operations.kernels.reduction_kernel import SliceSums, Summation
from cutecc.operations.kernels.split_k import partial_sums


class Folded:
    """A convolution whose operands are folded first; a class of Hopper's convolutions comes behind it."""

    def __init__(self, description: ConvolutionDescription):
        super().__init__(folding.inner(description))
        self.whole, self.folding = description, Folding(description)
        self.__name__ = description.kernel_name

    @cute.jit
    def __call__(self, problem, geometry, a, b, operands, workspace, slices, multiprocessors, stream):
        """Launch all that the operation takes; `signature.py` says on what."""
        product, a, b = self.fold(problem, Geometry(*geometry), a, b, workspace, slices, stream)
        self.launch_all(product, a, b, operands, workspace, slices, multiprocessors, stream)

    def fold(self, problem, geometry: Geometry, a, b, workspace, slices, stream):
        """Fold; returns the sizes of the inner convolution with its geometry behind them, and its A and B."""
        folded = folding.converted(folding.folded_geometry(self.whole, geometry), cutlass.Int32)
        a, b = self.folding.launch(geometry, folded, a, b, workspace, slices, stream)
        product = signature.problem(self.convolution, folded, 1)[:3]
        return (*map(cutlass.Int32, product), problem[3], tuple(folded)), a, b


class FoldedTaps(Folded, Sm90TapConvolution):
    """`fprop`, and `dgrad` of strides of 1."""


class FoldedStridedDgrad(Folded, Sm90StridedDgrad):
    """The phases are those of the lines."""


class FoldedWgrad(Folded, Sm90Wgrad):
    """The sums of slices are those of the inner convolution, and D has its own order of taps and channels."""

    @cute.jit
    def __call__(self, problem, geometry, a, b, operands, workspace, slices, multiprocessors, stream):
        """Launch all that the operation takes; `signature.py` says on what."""
        geometry = Geometry(*geometry)
        product, a, b = self.fold(problem, geometry, a, b, workspace, slices, stream)
        self.kernel.set_name_prefix(self.__name__, remove_cutlass_symbol=True, keep_mangled_name=False)
        partials = partial_sums(self.description, workspace, product, slices)
        self.launch(product, a, b, (partials,), workspace, slices, multiprocessors, stream)
        SliceSums().launch(partials, stream)
        unfolded = self.unfolded(geometry, Geometry(*product[4]), partials)
        Summation(self.whole.gemm, alignment=1).launch(problem, unfolded, operands, workspace, 1, stream)

    def unfolded(self, geometry: Geometry, folded: Geometry, partials) -> cute.Tensor:
        """The partial sums (filter, (channel, tap of a line, line of the filter), slice), as D has them."""
        of_row, _, of_slice = partials.stride
        taps, channels, filters = geometry.filter[-1], geometry.channels, geometry.filters
        of_tap = cutlass.Int64(channels) if self.folding.is_of_channels else of_row * filters
        first = cutlass.Int64(0)
        if self.folding.is_turned == self.folding.is_of_channels:
            first, of_tap = of_tap * (taps - 1), -of_tap
        shape = (filters, (channels, taps, prod(geometry.filter[:-1])), 1)
        stride = (of_row, (1, of_tap, cutlass.Int64(folded.channels)), of_slice)
        return cute.make_tensor(partials.iterator + first, cute.make_layout(shape, stride=stride))
