"""Few channels, or few filters, on Hopper: a convolution along whose lines no taps are left. Needs no DSL.

Three channels of 16 bits are six bytes a pixel. TMA copies nothing so narrow, and a step along K of a single tap would
be zeros but for three elements. So the taps of a line are folded into channels first: a kernel writes a tensor to the
workspace that has, for each pixel, what all taps of a line of the filter meet from there, side by side.

| iterator | folded | which has as channels | kinds |
|---|---|---|---|
| `few_channels` | activations, at each output of a line | (tap, channel), the channel the faster | `fprop`, `wgrad` |
| `few_filters` | outputs' gradient, at each pixel of a line | (tap, filter), the filter the faster | `dgrad`, `wgrad` |

What is left is a convolution of more channels whose filters are one tap wide, with a stride, dilation and padding of
its lines alone: the `inner` one, by the kernels of `sm90.py`. Its filters are folded alike. Of `wgrad` D is, and is put
back in order where the slices of K are added up.

Each pixel takes as many elements again as a line has taps, less where the stride is larger: few beside the other
tensors, whose channels are many.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import Any, cast

from cutecc.operations.convolution.description import ConvolutionDescription
from cutecc.operations.description import GemmDescription
from cutecc.operations.kernels.convolution import sm90
from cutecc.operations.kernels.convolution.signature import Geometry, problem
from cutecc.operations.kernels.workspace import ceil_div, regions, round_up
from cutecc.operations.operand import WIDEST_ALIGNMENT, Operand

_LIMIT = 1 << 31
_FEWEST_STAGES = 2
DEPTHS = (32, 64, 128)
"""Bytes of a step along K, which are rows of shared memory's swizzles: all channels of a pixel, or a part."""
FOLDED, FILTERS = "folded tensor", "folded filters"
"""Names of the regions of the workspace, behind those of the product."""


def inner(description: ConvolutionDescription) -> ConvolutionDescription:
    """The convolution of what is folded, whose operands are aligned to 16 bytes."""
    gemm = description.gemm
    a, b = (replace(each, alignment=vector(each)) for each in (gemm.a, gemm.b))
    return replace(description, iterator="optimized", gemm=replace(gemm, a=a, b=b))


def copied(description: ConvolutionDescription) -> str:
    """Which of A and B TMA reads from the workspace alone, so that they may be aligned to less than it needs."""
    if description.kind == "wgrad":
        return "b" if description.iterator == "few_channels" else "a"
    return "ab"


def size_refusal(description: ConvolutionDescription, geometry: Geometry) -> str | None:
    """Why a convolution of these sizes has no kernel, in one sentence; `None` where it has one."""
    folded = folded_geometry(description, geometry)
    if sum(each.count * each.vectors for each in folded_lines(description, folded).values()) >= _LIMIT:
        return "what is folded takes 2^31 vectors of 16 bytes or more"
    return sm90.size_refusal(description, folded, 1)


def judged(description: ConvolutionDescription) -> GemmDescription:
    """The product for the rules of GEMM, of which a step along K is 128 bytes long: of what is folded it may be less.

    It has as many stages as take the same shared memory.
    """
    gemm, (m, n, k) = inner(description).gemm, description.gemm.tile.threadblock
    usual = DEPTHS[-1] * 8 // gemm.a.bits
    if description.kind == "wgrad" or k * gemm.a.bits // 8 not in DEPTHS or gemm.tile.stages < _FEWEST_STAGES:
        return gemm
    stages = max(_FEWEST_STAGES, ceil_div(gemm.tile.stages * k, usual))
    return gemm.with_tile(replace(gemm.tile, threadblock=(m, n, usual), stages=stages))


def converted(geometry: Geometry, size: Callable[[Any], Any]) -> Geometry:
    """The geometry with sizes of another type."""

    def each(sizes: Any) -> Any:
        return tuple(map(size, cast("tuple[Any, ...]", sizes))) if isinstance(sizes, tuple) else size(sizes)

    return Geometry(*map(each, geometry))


def vector(operand: Operand) -> int:
    """Elements of 16 bytes."""
    return WIDEST_ALIGNMENT * 8 // operand.bits


def folded_geometry(description: ConvolutionDescription, geometry: Geometry) -> Geometry:
    """The geometry of the inner convolution.

    What is folded is filled up with zeros to what TMA brings at once, since what lies behind an edge it brings slowly.
    """
    taps, channels, filters = geometry.filter[-1], geometry.channels, geometry.filters
    image, output = geometry.image, geometry.output
    boxed = sm90.gathered_boxes(description).channels
    if description.iterator == "few_channels":
        channels = round_up(taps * channels, boxed)
        image = (*image[:-1], output[-1])
    else:
        filters = round_up(taps * filters, vector(description.gemm.a) if description.kind == "wgrad" else boxed)
        output = (*output[:-1], image[-1])
    before, step, apart = (
        (*each[:-1], along) for each, along in ((geometry.padding, 0), (geometry.stride, 1), (geometry.dilation, 1))
    )
    filter = (*geometry.filter[:-1], 1)
    return Geometry(geometry.images, channels, filters, image, filter, output, before, step, apart)


@dataclass(frozen=True)
class Lines:
    """Lines of a region of the workspace: each of some elements, filled up with zeros to whole vectors of 16 bytes."""

    count: Any
    length: Any
    vector: int
    """Elements."""

    @property
    def vectors(self) -> Any:
        """Of a line."""
        return (self.length + (self.vector - 1)) // self.vector

    @property
    def pitch(self) -> Any:
        """From a line to the next, in elements."""
        return self.vectors * self.vector

    @property
    def bytes(self) -> Any:
        return self.count * self.vectors * WIDEST_ALIGNMENT


def folded_lines(description: ConvolutionDescription, folded: Geometry) -> dict[str, Lines]:
    """What is written to the workspace, by region: the channels of each pixel, and what each filter tap multiplies.

    `folded` is the inner geometry.
    """
    is_of_channels = description.iterator == "few_channels"
    pixels, channels = (folded.image, folded.channels) if is_of_channels else (folded.output, folded.filters)
    found = {FOLDED: Lines(folded.images * prod(pixels), channels, vector(folded_operand(description)))}
    if description.kind != "wgrad":
        size = vector(description.gemm.b)
        found[FILTERS] = Lines(folded.filters * prod(folded.filter), folded.channels, size)
    return found


def folded_operand(description: ConvolutionDescription) -> Operand:
    """What is folded."""
    is_b = (description.kind, description.iterator) == ("wgrad", "few_channels")
    return description.gemm.b if is_b else description.gemm.a


def offsets(description: ConvolutionDescription, folded: Geometry, slices: Any) -> dict[str, Any]:
    """Where in the workspace the regions of `folded_lines` begin, in bytes, and under an empty name where it ends."""
    product = inner(description)
    before = regions(product.gemm, *problem(product, folded, 1), slices)
    at = before[-1].offset + before[-1].bytes if before else 0
    found: dict[str, Any] = {}
    for name, lines in folded_lines(description, folded).items():
        found[name] = at
        at = at + lines.bytes
    return found | {"": at}
