"""From the description of a convolution to its kernel object."""

from __future__ import annotations

from typing import Any

from cutecc.operations.convolution.description import ConvolutionDescription


def kernel(description: ConvolutionDescription) -> Any:
    """The kernel that a description asks for: an object with a `@cute.jit` `__call__`. Needs the DSL."""
    match description.gemm.family:
        case "simt":
            from cutecc.operations.kernels.convolution.multistage_kernel import SimtConvolution

            return SimtConvolution(description)
        case "sm80":
            from cutecc.operations.kernels.convolution.multistage_kernel import Sm80Convolution

            return Sm80Convolution(description)
        case "sm90":
            from cutecc.operations.kernels.convolution import sm90_kernel

            return sm90_kernel.kernel(description)
