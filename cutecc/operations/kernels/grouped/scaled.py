"""Hopper's grouped products with scales of blocks: what lies in shared memory beside their tiles. Needs no DSL."""

from __future__ import annotations

from math import ceil

from cutecc.operations.description import GemmDescription
from cutecc.operations.grouped.description import SCALE_BLOCK, GroupedDescription
from cutecc.operations.kernels import sm90

ALIGNMENT = 16
"""Bytes at which the scales begin."""
_SCALE_BYTES = 4


def columns(description: GemmDescription) -> int:
    """Of a `wgmma`, whose sums take registers beside those of the tile: a wide tile is multiplied block by block."""
    return min(description.tile.threadblock[1], SCALE_BLOCK)


def factors(description: GroupedDescription) -> tuple[int, int]:
    """The scales of a step: one for each row of the tile, and one for each block of columns, of `depth` each column."""
    m, n, _ = description.gemm.tile.threadblock
    return m, n if description.packing == "depth" else ceil(n / SCALE_BLOCK)


def shared_memory_bytes(description: GroupedDescription) -> int:
    """Dynamic shared memory of one threadblock: that of a GEMM, and scales of each stage."""
    gemm = description.gemm
    return sm90.shared_memory_bytes(gemm, sum(factors(description)) * gemm.tile.stages * _SCALE_BYTES + ALIGNMENT)
