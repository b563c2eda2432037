"""The warp-specialised Hopper convolution: what it takes, and the boxes in which TMA gathers. Needs no DSL.

It is the GEMM of `kernels/sm90.py` in all but what its loading warp fetches. One operand is gathered by TMA in boxes of
some pixels by some channels, for one tap of the filter at a time (im2col): TMA steps over pixels by the stride, adds
the tap's offset, and fills in zeros around the tensor.

| kind | gathered | a step along K is | the other operand |
|---|---|---|---|
| `fprop` | A, activations | 128 bytes of channels of one tap | B, filters: (filter, channel, tap) |
| `dgrad` | A, outputs' gradient | 128 bytes of filters of one tap | B, filters: (channel, filter, tap) |
| `wgrad` | B, activations: boxes for several taps | 128 bytes of pixels | A, outputs' gradient: (filter, pixel) |

What is left over of the channels of each tap is filled with zeros, which the tensors' ends give; channels of a group
end within a tensor, so they are whole steps. Columns of a box of `wgrad` are of one tap, so the box divides the
channels.

Pixels of a strided `dgrad` are computed in phases (`sm90_strided_kernel.py`), whose rows are at no one distance: boxes
of D are then stored row by row.
"""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass
from functools import cache
from math import gcd

from cutecc.operations.convolution.description import ConvolutionDescription
from cutecc.operations.description import SPLIT_K_MODES
from cutecc.operations.kernels import sm90
from cutecc.operations.kernels.convolution.signature import Geometry
from cutecc.operations.kernels.convolution.windows import has_phases, window
from cutecc.operations.kernels.family import Refusal

MOST_STEP = 8
"""Pixels that TMA steps over."""
CORNER_BITS = {1: 16, 2: 8, 3: 5}
"""By the number of spatial modes: those in which TMA has where a window begins and ends, and the offset of a tap."""


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


def registers(description: ConvolutionDescription) -> tuple[int, int] | None:
    """Registers a thread of the loading and of a computing warpgroup, as of a GEMM; boxes of `wgrad` need more."""
    found = sm90.registers(description.gemm)
    return (40, 232) if found is not None and description.kind == "wgrad" else found


def accepts(description: ConvolutionDescription) -> Refusal | None:
    """What the code cannot do, once the rules of convolutions and of the product hold."""
    if not has_im2col():
        reason = "nvidia-cutlass-dsl has TMA's loads of convolutions (im2col) since 4.8, and an older one is installed"
        return Refusal(reason, ("instruction",))
    if not has_phases(description):
        return None
    if description.gemm.mode in SPLIT_K_MODES:
        return Refusal("K is not split where phases of a strided dgrad have as many steps as taps", ("mode",))
    for output in description.gemm.epilogue.outputs:
        if output.reduction != "none" and output.kind != "column":
            reason = f"rows of a strided dgrad have tiles by phase: '{output.name}' is not reduced over them"
            return Refusal(reason, ("instruction", "epilogue"))
    return None


def size_refusal(description: ConvolutionDescription, geometry: Geometry, groups: int) -> str | None:
    """Why a convolution of these sizes has no kernel, in one sentence; `None` where it has one."""
    return _channels_refusal(description, geometry, groups) or _window_refusal(description, geometry)


def _channels_refusal(description: ConvolutionDescription, geometry: Geometry, groups: int) -> str | None:
    kind = description.kind
    what, count = ("filters", geometry.filters) if kind == "dgrad" else ("channels", geometry.channels)
    of_group, step = count // groups, gathered_boxes(description).channels
    if (kind == "wgrad" or groups > 1) and of_group % step:
        whose = f"{what} of a group" if groups > 1 else what
        return f"TMA gathers {step} {what} at once, which do not divide the {of_group} {whose}"
    return None


def _window_refusal(description: ConvolutionDescription, geometry: Geometry) -> str | None:
    bits = CORNER_BITS[description.rank]
    most, end = 1 << bits - 1, 1 << bits
    reach = window(description, geometry)
    if max(reach.step) > MOST_STEP:
        return f"TMA steps over {MOST_STEP} pixels at most, and the stride is {'x'.join(map(str, geometry.stride))}"
    gathered = geometry.output if description.kind == "dgrad" else geometry.image
    corners = *reach.lower, *reach.upper(tuple(reversed(gathered)))
    if min(corners) < -most or max(corners) >= most:
        return f"TMA's window over {description.rank} spatial modes reaches {most} pixels over the edge at most"
    if max(_reaches(description, geometry)) >= end:
        return f"TMA reaches {end - 1} pixels from the first tap of a filter to the last at most"
    return None


def _reaches(description: ConvolutionDescription, geometry: Geometry) -> list[int]:
    """The offset of the farthest tap in each mode."""
    each = zip(geometry.filter, geometry.dilation, geometry.stride, geometry.padding, strict=True)
    if not has_phases(description):
        return [(taps - 1) * apart for taps, apart, _, _ in each]
    return [(step - 1 + before) // step - (before - (taps - 1) * apart) // step for taps, apart, step, before in each]


@cache
def has_im2col() -> bool:
    """Whether the installed DSL has loads by im2col; without one, kernels that were compiled elsewhere have."""
    try:
        version = importlib.metadata.version("nvidia-cutlass-dsl")
    except importlib.metadata.PackageNotFoundError:
        return True
    major, minor = (int(number) for number in version.split(".")[:2])
    return (major, minor) >= (4, 8)
