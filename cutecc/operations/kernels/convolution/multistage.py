"""Convolutions by the multistage kernels of `tensor_op` and `simt`: what they take, how they work. Needs no DSL.

They are those of GEMM in all but how the tiles of A and B are fetched. A thread copies the same vectors of every tile.
What belongs to a vector's row, its pixel and its place in memory, is computed once; what belongs to its step along K
goes on from step to step: one tap after the other, or with `few_channels`, `fixed_channels` and of `wgrad` element
after element. The `analytic` iterator computes that anew at each step, and multiplies every tap of a strided dgrad.

The `optimized` strided dgrad takes pixels by phases instead, those that leave the same when divided by the stride: see
`phases.py`. Each has tiles of its own.
"""

from __future__ import annotations

from cutecc.operations.convolution.description import ConvolutionDescription
from cutecc.operations.kernels.family import Refusal


def has_phases(description: ConvolutionDescription) -> bool:
    """Whether rows are taken by phases."""
    return (description.kind, description.stride, description.iterator) == ("dgrad", "strided", "optimized")


def accepts(description: ConvolutionDescription) -> Refusal | None:
    """What the code cannot do, once the rules of convolutions and of the product hold."""
    if not has_phases(description):
        return None
    if description.gemm.mode == "split_k_serial":
        return Refusal("slices of a strided dgrad do not take turns: phases have tiles of their own", ("mode",))
    for output in description.gemm.epilogue.outputs:
        if output.reduction != "none" and output.kind != "column" and description.gemm.mode == "gemm":
            reason = f"columns of a strided dgrad are not reduced, as '{output.name}' is: phases have own tiles"
            return Refusal(reason, ("epilogue",))
    return None
