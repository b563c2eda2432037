"""How long a GEMM takes, estimated from its tile: what ranks tiles and splits of K before anything is measured.

The estimates rank the tiles of one target against each other, and promise no time.
"""

from __future__ import annotations

from math import ceil

import numpy as np

from cutecc.operations import multistage_model, warp_specialized_model
from cutecc.operations.description import SPLIT_K_MODES, GemmDescription
from cutecc.operations.machine import Machine, machine
from cutecc.operations.problem_sizes import LARGE, Problem
from cutecc.operations.warp_specialized_model import Cuts

__all__ = ["LARGE", "Machine", "Problem", "cycles", "cycles_of", "has_few_tiles", "machine", "slices"]

_TILE = 128
"""M and N of a tile of usual size."""
_MOST_SLICES = 32
_FEWEST_STEPS = 4
"""Along K in a slice."""
_ENOUGH = 3
"""Tiles for every SM, beside which slices would gain nothing."""
_SLICES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
_ROUNDS = (1, 2, 3, 4)
"""How often slices may fill all SMs."""


def has_few_tiles(problem: Problem, target: str) -> bool:
    """Whether D has too few tiles to keep a GPU busy, so that splitting K may help."""
    tiles = ceil(problem.m / _TILE) * ceil(problem.n / _TILE)
    return tiles < 2 * machine(target).multiprocessors


def slices(description: GemmDescription, problem: Problem, multiprocessors: int | None = None) -> int:
    """Into how many slices of K a launch is best split: 1 in modes that do not split.

    `multiprocessors` are those of the GPU, where they are not the target's usual ones.
    """
    return min(_estimates(description, problem, multiprocessors))[1]


def cycles(
    description: GemmDescription, problem: Problem, multiprocessors: int | None = None, split: int | None = None
) -> float:
    """Estimated cycles of a valid description on a problem; `split` slices of K, the best number if not given."""
    return min(_estimates(description, problem, multiprocessors, split))[0]


def cycles_of(compiled: GemmDescription, cuts: Cuts, problem: Problem) -> np.ndarray:
    """Estimated cycles of what is compiled for `wgmma` with each of some tiles; the problem has M and N as compiled."""
    gpu = machine(compiled.target).multiprocessors
    if min(problem.m, problem.n, problem.batches) < 1:
        return np.zeros(len(cuts.m))
    if compiled.mode not in SPLIT_K_MODES:
        return warp_specialized_model.cycles_of(compiled, cuts, problem, gpu, 1)
    clusters = -(-problem.m // (cuts.m * cuts.along_m)) * -(-problem.n // (cuts.n * cuts.along_n))
    at_once = np.maximum(1, gpu // cuts.blocks)
    steps = -(-problem.k // cuts.k)
    most = np.where(clusters >= _ENOUGH * at_once, 1, np.clip(steps // _FEWEST_STEPS, 1, _MOST_SLICES))
    filling = [rounds * at_once // clusters for rounds in _ROUNDS]
    best = np.full(len(cuts.m), np.inf)
    for split in (*_SLICES, *filling):
        allowed = (split >= 1) & (split <= most)
        if not np.any(allowed):
            continue
        number = np.maximum(split, 1)
        found = warp_specialized_model.cycles_of(compiled, cuts, problem, gpu, number)
        best = np.where(allowed, np.minimum(best, found), best)
    return best


def _estimates(
    description: GemmDescription, problem: Problem, multiprocessors: int | None, split: int | None = None
) -> list[tuple[float, int]]:
    """Cycles with each number of slices that may be best, and the number."""
    if min(problem.m, problem.n, problem.batches) < 1:
        return [(0.0, split or 1)]
    if description.is_compiled_transposed:
        description, problem = description.transposed(), problem.transposed()
    gpu = multiprocessors or machine(description.target).multiprocessors
    model = warp_specialized_model if description.family == "sm90" else multistage_model
    counts = [split] if split else _counts(description, problem, gpu)
    return [(model.cycles(description, problem, gpu, each), each) for each in counts]


def _counts(description: GemmDescription, problem: Problem, multiprocessors: int) -> list[int]:
    """Numbers of slices worth a try: powers of two and halfway between them, and what fills an SM once, twice, …."""
    if description.mode not in SPLIT_K_MODES:
        return [1]
    (m, n, k), (along_m, along_n) = description.tile.threadblock, description.tile.cluster
    clusters = ceil(problem.m / (m * along_m)) * ceil(problem.n / (n * along_n))
    at_once = max(1, multiprocessors // (along_m * along_n))
    if clusters >= _ENOUGH * at_once:
        return [1]
    most = max(1, min(_MOST_SLICES, ceil(problem.k / k) // _FEWEST_STEPS))
    filling = (rounds * at_once // clusters for rounds in _ROUNDS)
    return sorted({each for each in (*_SLICES, *filling) if 1 <= each <= most})
