"""Convolutions of few channels or filters, whose taps are folded first: their tiles, their time, how K is split."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil

from cutecc.operations import candidates, tile_model
from cutecc.operations.convolution.description import ConvolutionDescription
from cutecc.operations.convolution.geometry import ConvolutionProblem
from cutecc.operations.kernels.convolution import folding
from cutecc.operations.machine import GLOBAL_BYTES, machine
from cutecc.operations.problem_sizes import Problem
from cutecc.operations.tile import TileDescription, TileRequest
from cutecc.operations.warp_specialized_model import MEASURED

_MOST_STAGES = 12
_FEWEST_STEPS = 4
"""Along K in a slice."""


def sizes(description: ConvolutionDescription, given: ConvolutionProblem) -> ConvolutionProblem:
    """Those of the inner convolution."""
    folded = folding.folded_geometry(description, given.geometry)
    return ConvolutionProblem(
        *(folded.images, folded.image, folded.channels, folded.filters, folded.filter),
        padding=(*given.padding[:-1], (0, 0)),
        stride=folded.stride,
        dilation=folded.dilation,
    )


def tiles(description: ConvolutionDescription, request: TileRequest) -> Iterator[TileDescription]:
    """Tiles worth a try, with the parts that are asked for: those of any product, and with shorter steps along K."""
    usual = folding.DEPTHS[-1]
    for tile in candidates.tiles(folding.inner(description).gemm, request):
        yield tile
        if description.kind == "wgrad" or request.threadblock:
            continue
        m, n, k = tile.threadblock
        for depth in folding.DEPTHS[:-1]:
            stages = request.stages or min(tile.stages * usual // depth, _MOST_STAGES)
            yield replace(tile, threadblock=(m, n, k * depth // usual), stages=stages)


def slices(description: ConvolutionDescription, product: Problem) -> int:
    """Into how many slices K of a folded `wgrad` is split when nobody says: as many as keep a GPU busy."""
    (m, n, k), (along_m, along_n) = description.gemm.tile.threadblock, description.gemm.tile.cluster
    blocks = ceil(product.m / (m * along_m)) * ceil(product.n / (n * along_n)) * along_m * along_n
    most = ceil(product.k / k) // _FEWEST_STEPS
    return max(1, min(most, machine(description.target).multiprocessors // blocks))


def cycles(description: ConvolutionDescription, given: ConvolutionProblem, product: Problem) -> float:
    """Estimated cycles of folding, and of the `product` of what is folded."""
    folded = folding.folded_geometry(description, given.geometry)
    written = sum(each.bytes for each in folding.folded_lines(description, folded).values())
    copying = MEASURED.launch + 2 * written / GLOBAL_BYTES / machine(description.target).multiprocessors
    split = slices(description, product) if description.kind == "wgrad" else None
    return tile_model.cycles(folding.inner(description).gemm, product, split=split) + copying
