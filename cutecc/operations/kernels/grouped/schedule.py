"""Which tiles the blocks of grouped products take: those of a group follow those of the group before. Needs no DSL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

from cutecc.operations.grouped.description import GroupedDescription
from cutecc.operations.kernels.workspace import ceil_div


def turn_tile(description: GroupedDescription) -> tuple[int, int]:
    """Rows and columns of D that take a turn together: the tiles of a cluster."""
    (m, n, _), (along_m, along_n) = description.gemm.tile.threadblock, description.gemm.tile.cluster
    return m * along_m, n * along_n


def tiles(description: GroupedDescription, m: Any, n: Any) -> Any:
    """How many turns a group of M×N has."""
    of_m, of_n = turn_tile(description)
    return ceil_div(m, of_m) * ceil_div(n, of_n)


def tiles_before(description: GroupedDescription, sizes: Iterable[Sequence[int]]) -> list[int]:
    """The turns before each group, and all turns: what a kernel with the schedule `host` is given.

    `description` is as it is compiled; `sizes` are (M, N, …) of each group.
    """
    return [0, *accumulate(tiles(description, *each[:2]) for each in sizes)]
