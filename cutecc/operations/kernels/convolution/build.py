"""From the description of a convolution to its kernel object."""

from __future__ import annotations

from typing import Any

from cutecc.operations.convolution.description import ConvolutionDescription


def kernel(description: ConvolutionDescription) -> Any:
    """The kernel that a description asks for: an object with a `@cute.jit` `__call__`. Needs the DSL."""
    if description.gemm.family == "sm90":
        from cutecc.operations.kernels.convolution import sm90_kernel

        return sm90_kernel.kernel(description)
    from cutecc.operations.kernels.convolution.kernels import SimtConvolution, Sm80Convolution

    return (SimtConvolution if description.gemm.family == "simt" else Sm80Convolution)(description)
