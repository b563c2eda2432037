"""How many rows of D a kernel has tiles for: what parts of reductions are counted by. Needs no DSL."""

from __future__ import annotations

from cutecc.operations.convolution.description import ConvolutionDescription
from cutecc.operations.kernels.convolution import depthwise, multistage
from cutecc.operations.kernels.convolution.signature import Geometry


def tiled_rows(description: ConvolutionDescription, geometry: Geometry, rows: int) -> int:
    """Of a D of so many rows: more where tiles are those of images or phases, each with its own rest."""
    if description.groups == "depthwise":
        return rows if description.kind == "wgrad" else depthwise.tiled_rows(description, geometry)
    if description.gemm.family != "sm90" and multistage.reduces_phases(description):
        return multistage.tiled_rows(description, geometry)
    return rows
