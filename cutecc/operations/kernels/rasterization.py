# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""Which tile of D a block computes: the order in which blocks, or the turns of a persistent one, take the tiles."""

from __future__ import annotations

import cutlass

from cutecc.operations.kernels.workspace import ceil_div
from cutecc.operations.swizzle import Swizzle


class Rasterization:
    """The order that a swizzle gives to the tiles of D, of `tile` = (M, N) elements each.

    Blocks of neighbouring indices run at the same time. `identityN` keeps them in a strip N tiles wide, which they go
    down row by row: they share the rows of A, and the strip's columns of B stay in the L2 cache. `horizontal` goes
    along rows of tiles. A batch is part of the index, and with `batched` the grid's Z; slices of K are along Z too.
    """

    def __init__(self, swizzle: Swizzle, tile: tuple[int, int]):
        self.swizzle, self.tile = swizzle, tile
        self.batches_along_z = swizzle == "batched"
        self.strip = int(swizzle.removeprefix("identity")) if swizzle.startswith("identity") else 1

    def tiles(self, problem):
        """How many tiles lie along M and N."""
        return ceil_div(problem[0], self.tile[0]), ceil_div(problem[1], self.tile[1])

    def grid(self, problem, slices=None):
        """The grid of one block for each tile, batch and slice of K."""
        along_m, along_n = self.tiles(problem)
        if self.batches_along_z:
            return (along_m * along_n, 1, problem[3])
        return (along_m * along_n * problem[3], 1, 1 if cutlass.const_expr(slices is None) else slices)

    def tile_of(self, index, tiles):
        """The (m, n) of the tile that comes at `index` of one matrix with `tiles` along M and N."""
        along_m, along_n = tiles
        if cutlass.const_expr(self.swizzle == "horizontal"):
            return index // along_n, index % along_n
        if cutlass.const_expr(self.strip == 1):
            return index % along_m, index // along_m
        in_strips = along_m * self.strip
        first = index // in_strips * self.strip
        width = cutlass.min(along_n - first, self.strip)  # the last strip may be narrower
        within = index % in_strips
        return within // width, first + within % width

    def split(self, index, problem):
        """The (m, n, batch) of the tile that comes at `index` of all: for a kernel whose blocks take several."""
        tiles = self.tiles(problem)
        matrix = tiles[0] * tiles[1]
        return (*self.tile_of(index % matrix, tiles), index // matrix)

    def of_block(self, block, problem):
        """The (m, n, batch) of the tile of the block with index `block` = (x, y, z) of `grid`."""
        if self.batches_along_z:
            return (*self.tile_of(block[0], self.tiles(problem)), block[2])
        return self.split(block[0], problem)
