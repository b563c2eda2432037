"""From the description of a convolution to its kernel object."""

from __future__ import annotations

from typing import Any

from cutecc.operations.convolution.description import ConvolutionDescription


def kernel(description: ConvolutionDescription) -> Any:
    """The kernel that a description asks for: an object with a `@cute.jit` `__call__`. Needs the DSL."""
    from cutecc.operations.kernels.convolution.kernels import SimtConvolution, Sm80Convolution

    match description.gemm.family:
        case "simt":
            return SimtConvolution(description)
        case "sm80":
            return Sm80Convolution(description)
        case "sm90":
            raise NotImplementedError
