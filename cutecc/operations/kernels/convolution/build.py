"""From the description of a convolution to its kernel object."""

from __future__ import annotations

from typing import Any

from cutecc.operations.convolution.description import ConvolutionDescription
from cutecc.operations.kernels.convolution.windows import has_phases


def kernel(description: ConvolutionDescription) -> Any:
    """The kernel that a description asks for: an object with a `@cute.jit` `__call__`. Needs the DSL."""
    if description.groups == "depthwise":
        from cutecc.operations.kernels.convolution.depthwise_kernel import DepthwisePixels
        from cutecc.operations.kernels.convolution.depthwise_wgrad_kernel import DepthwiseWgrad

        return DepthwiseWgrad(description) if description.kind == "wgrad" else DepthwisePixels(description)
    match description.gemm.family:
        case "simt":
            from cutecc.operations.kernels.convolution.multistage_kernel import SimtConvolution

            return SimtConvolution(description)
        case "sm80":
            from cutecc.operations.kernels.convolution.multistage_kernel import Sm80Convolution

            return Sm80Convolution(description)
        case "sm90":
            return _hopper(description)


def _hopper(description: ConvolutionDescription) -> Any:
    if description.is_folded:
        return _folded(description)
    if description.kind == "wgrad":
        from cutecc.operations.kernels.convolution.sm90_wgrad_kernel import Sm90Wgrad

        return Sm90Wgrad(description)
    if has_phases(description):
        from cutecc.operations.kernels.convolution.sm90_strided_kernel import Sm90StridedDgrad

        return Sm90StridedDgrad(description)
    from cutecc.operations.kernels.convolution.sm90_kernel import Sm90TapConvolution

    return Sm90TapConvolution(description)


def _folded(description: ConvolutionDescription) -> Any:
    from cutecc.operations.kernels.convolution import folded_kernel

    if description.kind == "wgrad":
        return folded_kernel.FoldedWgrad(description)
    return (folded_kernel.FoldedStridedDgrad if has_phases(description) else folded_kernel.FoldedTaps)(description)
