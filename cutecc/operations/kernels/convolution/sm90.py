"""The warp-specialised Hopper convolution: what it takes, and the boxes in which TMA gathers. Needs no DSL.

It is the GEMM of `kernels/sm90.py` in all but what its loading warp fetches. One operand is gathered by TMA in boxes of
some pixels by some channels, for one tap of the filter at a time (im2col): TMA steps over pixels by the stride, adds
the tap's offset, and fills in zeros around the tensor.

| kind | gathered | a step along K is | the other operand |
|---|---|---|---|
| `fprop` | A, activations | 128 bytes of channels of one tap | B, filters: (filter, channel, tap) |
| `dgrad` | A, outputs' gradient | 128 bytes of filters of one tap | B, filters: (channel, filter, tap) |
| `wgrad` | B, activations: boxes for several taps | 128 bytes of pixels | A, outputs' gradient: (filter, pixel) |

What is left over of the channels of each tap is filled with zeros, which the tensors' ends give; channels of groups
end within a tensor, so those of a group are whole steps, or of `wgrad` whole boxes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from cutecc.operations.convolution.description import ConvolutionDescription
from cutecc.operations.kernels import sm90


@dataclass(frozen=True)
class GatheredBoxes:
    """How TMA brings a tile of the gathered operand: side by side along the channels, the pixels cut among blocks."""

    pixels: int
    """Of a box, which one block of those that share a tile loads."""
    channels: int
    """Of a box: a row of shared memory, 128 bytes or fewer."""
    across: int
    """Boxes side by side."""
    sharers: int
    """Blocks of a cluster that load the pixels of a tile together."""


def gathered_boxes(description: ConvolutionDescription) -> GatheredBoxes:
    """Those of a description."""
    (m, n, k), (along_m, along_n) = description.gemm.tile.threadblock, description.gemm.tile.cluster
    if description.kind == "wgrad":
        channels = gcd(n, sm90.SWIZZLE_BYTES * 8 // description.gemm.b.bits)
        return GatheredBoxes(k // along_m, channels, n // channels, along_m)
    return GatheredBoxes(m // along_n, k, 1, along_n)
