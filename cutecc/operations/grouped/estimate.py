"""How long grouped products take, estimated as a batch with as many tiles; ranks tiles, and promises no time."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import lru_cache
from math import ceil, floor

from cutecc.operations import tile_model
from cutecc.operations.grouped.description import SCALE_BLOCK, GroupedDescription
from cutecc.operations.grouped.problem import GroupedProblem
from cutecc.operations.kernels import sm90
from cutecc.operations.kernels.grouped import scaled
from cutecc.operations.kernels.grouped.schedule import turn_tile
from cutecc.operations.machine import machine
from cutecc.operations.problem_sizes import Problem

_MOST_SIZES = 64
"""Different sizes that are looked at: of more, as many that are spread over all."""
_ADDING = 300.0
"""Cycles in which a warpgroup adds the sums of a part of a block to those of its tile, and waits; on an H200."""


def cycles(description: GroupedDescription, problem: GroupedProblem) -> float:
    """Estimated cycles of valid grouped products."""
    compiled = description.compiled()
    if description.gemm.is_compiled_transposed:
        problem = problem.transposed()
    tile_m, tile_n = turn_tile(compiled)
    along_m = along_n = depth = groups = 0.0
    for (m, n, k), count in _distinct(problem):
        along_m += ceil(m / tile_m) * count
        along_n += ceil(n / tile_n) * count
        depth += k * count
        groups += count
    if not groups:
        return 0.0
    gemm = replace(compiled.gemm, mode="batched")
    average_m, average_n, k = along_m / groups, along_n / groups, max(1, round(depth / groups))

    def batch(tiles: int) -> float:
        sizes = Problem(tile_m * tiles, tile_n * max(1, round(average_n)), k, max(1, round(groups)))
        return tile_model.cycles(gemm, sizes)

    # Between a batch with fewer rows of tiles, and one with more.
    low, high, part = floor(average_m), ceil(average_m), average_m % 1
    multiplied = batch(low) * (1 - part) + batch(high) * part if part else batch(low)
    tiles = average_m * average_n * groups * gemm.tile.cluster[0] * gemm.tile.cluster[1]
    return multiplied + ceil(tiles / machine(gemm.target).multiprocessors) * _adding(compiled, k)


def _adding(compiled: GroupedDescription, k: int) -> float:
    """Cycles in which nothing is multiplied for a tile, since sums of blocks are added up; none where two share it."""
    gemm = compiled.gemm
    if compiled.scales == "none" or (gemm.tile.schedule == "cooperative" and gemm.tile.warps[0] > 1):
        return 0.0
    parts = gemm.tile.threadblock[1] / scaled.columns(gemm)
    return ceil(k / SCALE_BLOCK) * parts * sm90.rows_of_warpgroup(gemm) / sm90.INSTRUCTION_M * _ADDING


@lru_cache(maxsize=64)
def _distinct(problem: GroupedProblem) -> list[tuple[tuple[int, int, int], float]]:
    """The sizes of groups that have any elements of D, and how many are of each."""
    counted = sorted(Counter(each for each in problem.sizes if each[0] and each[1]).items())
    if len(counted) <= _MOST_SIZES:
        return [(sizes, float(count)) for sizes, count in counted]
    every = sorted(each for each in problem.sizes if each[0] and each[1])
    picked = [every[(2 * index + 1) * len(every) // (2 * _MOST_SIZES)] for index in range(_MOST_SIZES)]
    return [(sizes, len(every) / _MOST_SIZES) for sizes in picked]
