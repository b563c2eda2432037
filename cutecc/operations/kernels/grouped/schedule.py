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


def turns_along(description: GroupedDescription, m: Any, n: Any) -> tuple[Any, Any]:
    """How many turns a group of M×N has along each."""
    of_m, of_n = turn_tile(description)
    return ceil_div(m, of_m), ceil_div(n, of_n)


def tiles(description: GroupedDescription, m: Any, n: Any) -> Any:
    """How many turns a group of M×N has."""
    along_m, along_n = turns_along(description, m, n)
    return along_m * along_n


def turns_before(description: GroupedDescription, m: Any, n: Any, groups: Any, begin: Any) -> Any:
    """How many turns the first `groups` packed groups have at most, of M×N in all; the next one begins at `begin`.

    Nothing else is known of their sizes before they are added up. Each has less than a turn more, along the extent that
    varies, than it would have as a part of one: so what is between the numbers of two groups is enough for the first.
    """
    (of_m, of_n), (along_m, along_n) = turn_tile(description), turns_along(description, m, n)
    match description.packing:
        case "rows":
            return (begin // of_m + groups) * along_n
        case "columns":
            return along_m * (begin // of_n + groups)
        case _:
            return along_m * along_n * groups


def most_turns(description: GroupedDescription, m: Any, n: Any, k: Any, groups: Any) -> Any:
    """How many turns packed groups have at most, of M×N×K in all."""
    return turns_before(description, m, n, groups, {"rows": m, "columns": n}.get(description.packing, k))


def has_table(description: GroupedDescription) -> bool:
    """Whether kernels are given the tiles before each group: where the host schedules them, and of lists, all of whose
    sizes it knows, where a reduction has to find what the tiles of a group have left."""
    if description.packing == "list":
        return description.schedule == "host" or description.gemm.epilogue.has_reductions
    return description.schedule == "host" and description.packing != "depth"


def tiles_before(description: GroupedDescription, sizes: Iterable[Sequence[int]]) -> list[int]:
    """The turns before each group, and all turns: what a kernel with the schedule `host` is given.

    `description` is as it is compiled; `sizes` are (M, N, …) of each group.
    """
    return [0, *accumulate(tiles(description, *each[:2]) for each in sizes)]
