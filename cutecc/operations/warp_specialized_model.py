"""How long a warp-specialised GEMM takes, estimated from its tile: TMA, clusters, persistent blocks, `wgmma`.

A step along K takes as long as its multiplications and its loads, which overlap but not wholly. Loads take their share
of what all SMs together get out of the L2 cache, so a step is shorter where few blocks are at work. An SM computes one
tile after the other; all but the last of its tiles end when those of all others do.

What is not in the architecture's whitepaper is measured: least squares of the logarithms of 7000 times, those of 264
kernels for f16 on 55 random shapes on an H200. `tools/fit_tile_model.py` does it again with the times of another GPU.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, gcd

from cutecc.operations.description import GemmDescription
from cutecc.operations.kernels.operand_copies import copied_bytes, is_read_along_k
from cutecc.operations.machine import GLOBAL_BYTES, machine
from cutecc.operations.operand import WIDEST_ALIGNMENT, type_bits
from cutecc.operations.problem_sizes import Problem

_ROW_BYTES = 128
"""Of a row of a tile in shared memory, as TMA fetches it."""
_BOX_ROWS = 64
"""Of a part of D that TMA writes at once; it is 128 bytes wide, or less where the tile is no multiple of that."""
_SHARPNESS = 8
"""The power of the norm that joins limits: the one that takes longest counts, and others near it a little."""
_OVERLAP = 5
"""The same for multiplying and loading."""
_MANY_SUMS = 96 * 128
"""Accumulators of a warpgroup: above, `Costs.full` counts."""

_FUNCTIONS = {"normal_cdf": 12, "erf": 13, "sigmoid": 5, "exp": 2, "log": 2, "sqrt": 2, "rsqrt": 2, "tanh": 2, "div": 2}
"""Instructions of the approximations that results of 16 bits get."""


@dataclass(frozen=True)
class Costs:
    """What was measured; cycles of an SM at 1.75 GHz. A row is 128 bytes of A or B."""

    launch: float = 4705.0
    """Of a kernel besides its tiles: until it has begun, its first loads are there, and the next one may begin."""
    rows: float = 175.0
    """Rows a cycle that all SMs together get from the L2 cache, where they are whole lines of it."""
    half_aligned: float = 1.73
    """Rows that one counts for where they begin at multiples of 32 bytes."""
    least_aligned: float = 3.28
    """Rows that one counts for where they begin at multiples of 16 bytes: they lie in two lines and five sectors."""
    outside: float = 9.3
    """Rows that one counts for that lies beyond the edge, and is filled with zeros."""
    distinct_rows: float = 89.0
    """Rows a cycle that come to the L2 cache, or from its far half, first for any block."""
    received: float = 1.043
    """Rows a cycle that arrive at an SM, those that others of its cluster have fetched for it too."""
    round_trip: float = 400.0
    """Cycles from a load until its tile may be multiplied: what the other stages have to bridge."""
    issue: float = 6.96
    """Columns of a `wgmma` that would be multiplied in the time that it takes to begin one."""
    full: float = 1.06
    """How much longer products of many sums take when warpgroups share a tile. Seen on all shapes, not understood.

    Least squares give 1.04; of large products, of which there are few among the shapes, 1.06 chooses better.
    """
    throttle: float = 1.137
    """How much slower tensor cores are than their rate when all are busy: the clock falls with the power they take."""
    result_bytes: float = 18.0
    """Bytes a cycle and SM of results, when all SMs write theirs."""
    box: float = 100.0
    """Cycles for each box of D that a warpgroup gathers in shared memory. A guess."""
    lanes: float = 42.0
    """Instructions of single threads a cycle that an SM gets through in epilogues, of 128 at most: from gelu alone."""
    sum_launch: float = 473.0
    """Of the kernel that adds up slices of K."""
    sum_slice: float = 503.0
    """For each slice that it adds."""
    sum_bytes: float = 14.3
    """Bytes a cycle and SM that it reads and writes."""


MEASURED = Costs()


def cycles(
    description: GemmDescription, problem: Problem, multiprocessors: int, split: int, costs: Costs = MEASURED
) -> float:
    """Estimated cycles of a launch of what is compiled, with K in `split` slices."""
    tile = description.tile
    (m, n, k), (along_m, along_n) = tile.threadblock, tile.cluster
    # A cluster is launched whole, also beyond the edge of D.
    grid = ceil(problem.m / (m * along_m)), ceil(problem.n / (n * along_n))
    tasks = grid[0] * grid[1] * problem.batches * split
    at_once = max(1, multiprocessors // (along_m * along_n))
    turns = ceil(tasks / at_once)
    last = tasks - (turns - 1) * at_once
    steps = ceil(ceil(problem.k / k) / split)
    loads = _Loads(description, problem, grid, costs)

    def main_loop(clusters: int) -> float:
        return steps * _step(description, loads.cycles(clusters), costs)

    alone = _result(description, problem, grid, last, multiprocessors, costs)
    """While results are written, and nothing is multiplied."""
    total = main_loop(last) + alone
    if turns > 1:
        multiply, write = main_loop(at_once), _result(description, problem, grid, at_once, multiprocessors, costs)
        # With pingpong, one warpgroup writes its tile while the other multiplies the next one.
        overlaps = tile.schedule == "pingpong"
        total += (turns - 1) * (max(multiply, (multiply + write) / 2) if overlaps else multiply + write)
        alone += 0 if overlaps else (turns - 1) * write
    (of_a, of_b) = problem.repeats
    once = (problem.m * description.a.bits / of_a + problem.n * description.b.bits / of_b) * problem.k
    once += problem.m * problem.n * _result_bits(description)
    memory = once * problem.batches / 8 / GLOBAL_BYTES / multiprocessors
    powered = tasks * along_m * along_n * steps * _multiplying(description) / multiprocessors * costs.throttle
    total = _norm(_SHARPNESS, total, memory, powered + alone) + costs.launch
    if copied := copied_bytes(description, problem.m, problem.n, problem.k, problem.batches):
        total += costs.launch + 2 * copied / GLOBAL_BYTES / multiprocessors
    if description.mode == "split_k_parallel":
        bits = 32 * split + description.epilogue.full_bits
        summed = problem.m * problem.n * bits / 8 / costs.sum_bytes / multiprocessors
        total += costs.sum_launch + split * costs.sum_slice + summed
    return total


def _step(description: GemmDescription, load: float, costs: Costs) -> float:
    """One step along K, when loading takes so long."""
    tile = description.tile
    m, n, _ = tile.threadblock
    multiply = _multiplying(description) * (1 + costs.issue / n)
    if tile.schedule == "cooperative" and m * n > _MANY_SUMS * tile.warps[0]:
        multiply *= costs.full
    return _norm(_OVERLAP, multiply, load)


def _multiplying(description: GemmDescription) -> float:
    """The tensor cores' cycles of a step along K."""
    m, n, k = description.tile.threadblock
    return m * n * k / (machine(description.target).warpgroup * 16 / type_bits(description.instruction.a))


class _Loads:
    """What a step along K loads."""

    def __init__(self, description: GemmDescription, problem: Problem, grid: tuple[int, int], costs: Costs):
        (m, n, _), (along_m, along_n) = description.tile.threadblock, description.tile.cluster
        self.grid, self.swizzle, self.costs = grid, description.swizzle, costs
        self.waiting = costs.round_trip / (description.tile.stages - 1)
        inside_m, inside_n = problem.m / (grid[0] * m * along_m), problem.n / (grid[1] * n * along_n)
        of_a, of_b = problem.repeats
        self.distinct = m * along_m * inside_m / of_a, n * along_n * inside_n / of_b
        """Rows of A, and of B, of a cluster that come to the L2 cache first."""
        # The blocks of a cluster that share rows fetch a part of them each.
        counted_a = m * along_m * _counted(description, "a", problem, inside_m, costs)
        counted_b = n * along_n * _counted(description, "b", problem, inside_n, costs)
        self.counted = counted_a + counted_b
        self.received = (m + n) / costs.received

    def cycles(self, clusters: int) -> float:
        """With so many clusters at work at once."""
        tiles = min(clusters, self.grid[0] * self.grid[1])
        down, across = _spread(self.swizzle, tiles, self.grid)
        # Other batches and slices of K have rows of their own.
        distinct = (down * self.distinct[0] + across * self.distinct[1]) * clusters / tiles
        return (
            clusters * self.counted / self.costs.rows
            + distinct / self.costs.distinct_rows
            + self.waiting
            + self.received
        )


def _counted(description: GemmDescription, name: str, problem: Problem, inside: float, costs: Costs) -> float:
    """How many aligned rows a row of A or B counts for, where this part of them lies inside the matrix."""
    operand, extent = (description.a, problem.m) if name == "a" else (description.b, problem.n)
    contiguous = problem.k if is_read_along_k(description, name) else extent
    pitch = ceil(contiguous * operand.bits / 8 / WIDEST_ALIGNMENT) * WIDEST_ALIGNMENT
    within = 1.0 if pitch % _ROW_BYTES == 0 else costs.least_aligned if pitch % 32 else costs.half_aligned
    return _parts(description, name) * (inside * within + (1 - inside) * costs.outside)


def _parts(description: GemmDescription, name: str) -> float:
    """In how many parts TMA fetches 128 bytes of a row of A or B: narrow boxes of what does not lie along K."""
    if is_read_along_k(description, name):
        return 1.0
    whole = _ROW_BYTES * 8 // (description.a if name == "a" else description.b).bits
    return whole / gcd(description.tile.threadblock[name == "b"], whole)


def _spread(swizzle: str, tiles: int, grid: tuple[int, int]) -> tuple[float, float]:
    """Over how many rows and columns of the grid of clusters as many tiles extend that are computed at once."""
    along_m, along_n = grid
    if swizzle == "horizontal":
        return (1, tiles) if tiles <= along_n else (ceil(tiles / along_n), along_n)
    strip = min(int(swizzle.removeprefix("identity")) if swizzle.startswith("identity") else 1, along_n)
    if tiles < along_m * strip:
        return tiles / strip, strip
    return along_m, min(ceil(tiles / (along_m * strip)) * strip, along_n)


def _result(
    description: GemmDescription,
    problem: Problem,
    grid: tuple[int, int],
    clusters: int,
    multiprocessors: int,
    costs: Costs,
) -> float:
    """The epilogue of a tile, when as many clusters write theirs."""
    (m, n, _), (along_m, along_n) = description.tile.threadblock, description.tile.cluster
    inside = problem.m / (grid[0] * m * along_m) * problem.n / (grid[1] * n * along_n)
    written = m * along_m * n * along_n * clusters * inside * _result_bits(description) / 8
    rows = m // (1 if description.tile.schedule == "pingpong" else description.tile.warps[0])
    across = n // gcd(n, _ROW_BYTES * 8 // (32 if description.mode == "split_k_parallel" else description.d.bits))
    boxes = rows // _BOX_ROWS * across
    computing = m * n * _instructions(description) / costs.lanes
    return max(written / costs.result_bytes / multiprocessors, boxes * costs.box) + computing


def _instructions(description: GemmDescription) -> int:
    """About how many instructions the epilogue's functions take for each element of D, besides simple arithmetic."""
    if description.mode == "split_k_parallel":
        return 0
    return sum(_FUNCTIONS.get(step.operation, 0) for step in description.epilogue.steps if step.kind == "full")


def _result_bits(description: GemmDescription) -> float:
    """Bits that the epilogue reads and writes for each element of D."""
    return 32 if description.mode == "split_k_parallel" else description.epilogue.full_bits


def _norm(power: int, *values: float) -> float:
    return sum(value**power for value in values) ** (1 / power)
