"""How long a warp-specialised GEMM takes, estimated from its tile: TMA, clusters, persistent blocks, `wgmma`.

A step along K takes as long as its multiplications and its loads, which overlap but not wholly. Loads take their share
of what all SMs together get out of the L2 cache, so a step is shorter where few blocks are at work. An SM computes one
tile after the other; all but the last of its tiles end when those of all others do.

What is not in the architecture's whitepaper is measured: least squares of the logarithms of 7000 times, those of 264
kernels for f16 on 55 random shapes on an H200. What splits of K cost, and how fast a few SMs read, was chosen so that
the tile with the least estimate loses little, of 3464 times of 569 kernels for bf16 on 170 random shapes.
`tools/fit_tile_model.py` fits all with the times of another GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from cutecc.operations.description import GemmDescription
from cutecc.operations.kernels.operand_copies import copied_bytes, is_read_along_k
from cutecc.operations.kernels.sm90 import clusters_at_once, leaves_by_tma
from cutecc.operations.machine import GLOBAL_BYTES, machine
from cutecc.operations.operand import WIDEST_ALIGNMENT, type_bits
from cutecc.operations.problem_sizes import Problem
from cutecc.operations.tile import TileDescription

_ROW_BYTES = 128
"""Of a row of a tile in shared memory, as TMA fetches it."""
_BOX_ROWS = 64
"""Of a part of D that TMA writes at once; it is 128 bytes wide, or less where the tile is no multiple of that."""
_PAIR = 2
"""Blocks of a small cluster."""
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
    fetched: float = 0.45
    """Rows a cycle that come first to the L2 cache for the two SMs of a TPC, or for one where the other has no block.

    41 blocks, each alone in its TPC, read as many bytes of memory a second as 130, and more than 72 to 82.
    """
    received: float = 1.043
    """Rows a cycle that arrive at an SM, those that others of its cluster have fetched for it too."""
    round_trip: float = 400.0
    """Cycles from a load until its tile may be multiplied: what the other stages have to bridge."""
    issue: float = 6.96
    """Columns of a `wgmma` that would be multiplied in the time that it takes to begin one."""
    full: float = 1.12
    """How much longer products of many sums take when warpgroups share a tile. Seen on all shapes, not understood.

    Least squares give less; of large products, of which there are few among the shapes, 1.12 chooses better.
    """
    coupled: float = 1.03
    """How much longer blocks take that share what they load, and so wait for each other."""
    uneven: float = 1.2
    """The same of clusters of more than two blocks with several tiles each. Not fitted: seen on a few shapes."""
    throttle: float = 1.137
    """How much slower tensor cores are than their rate when all are busy: the clock falls with the power they take."""
    result_bytes: float = 18.0
    """Bytes a cycle and SM of results, when all SMs write theirs."""
    box: float = 100.0
    """Cycles for each box of D that a warpgroup gathers in shared memory. A guess."""
    lanes: float = 42.0
    """Instructions of single threads a cycle that an SM gets through in epilogues, of 128 at most: from gelu alone."""
    scattered: float = 3.0
    """Elements that an SM stores a cycle where D does not leave by TMA: one by one or in pairs, from registers."""
    turn: float = 4000.0
    """Cycles from the end of a slice until the next one of its tile goes on."""
    turn_bytes: float = 25.0
    """Bytes a cycle of sums that one slice leaves and the next one reads."""
    gather: float = 862.0
    """Cycles until the blocks of a cluster know that sums are there, and have read the first of them."""
    gathered_bytes: float = 15.1
    """Bytes a cycle of sums that a block gets from others of its cluster."""
    sum_launch: float = 473.0
    """Of the kernel that adds up slices of K."""
    sum_slice: float = 638.0
    """For each slice that it adds."""
    sum_bytes: float = 14.3
    """Bytes a cycle and SM that it reads and writes."""


MEASURED = Costs()


@dataclass(frozen=True)
class Cuts:
    """How tiles cut the work of products that differ in nothing else: arrays with a number for each tile."""

    m: np.ndarray
    n: np.ndarray
    k: np.ndarray
    stages: np.ndarray
    along_m: np.ndarray
    """Blocks of a cluster along M that share what they load of B."""
    along_n: np.ndarray
    slices: np.ndarray
    """Of K, those of the blocks of a cluster."""
    groups: np.ndarray
    """Warpgroups that share a tile."""
    takes_turns: np.ndarray
    """Whether warpgroups do, each with a tile of its own."""

    @classmethod
    def of(cls, description: GemmDescription, tiles: Sequence[TileDescription]) -> Cuts:
        """Those of tiles for what is compiled."""
        is_split = description.mode == "split_k_cluster"
        rows = [
            (
                *each.threadblock,
                each.stages,
                *((1, 1, prod(each.cluster)) if is_split else (*each.cluster, 1)),
                1 if each.schedule == "pingpong" else each.warps[0],
                each.schedule == "pingpong",
            )
            for each in tiles
        ]
        return cls(*np.array(rows, np.int64).reshape(-1, 9).T)

    @property
    def blocks(self) -> np.ndarray:
        """Of a cluster."""
        return self.along_m * self.along_n * self.slices


def cycles(
    description: GemmDescription, problem: Problem, multiprocessors: int, split: int, costs: Costs = MEASURED
) -> float:
    """Estimated cycles of a launch of what is compiled, with K in `split` slices."""
    cuts = Cuts.of(description, [description.tile])
    return float(cycles_of(description, cuts, problem, multiprocessors, split, costs)[0])


def cycles_of(
    description: GemmDescription,
    cuts: Cuts,
    problem: Problem,
    multiprocessors: int,
    split: Any,
    costs: Costs = MEASURED,
) -> np.ndarray:
    """The same of each tile, in place of the description's own; `split` and sizes are numbers, or one for each."""
    # A cluster is launched whole, also beyond the edge of D.
    grid = _ceil_div(problem.m, cuts.m * cuts.along_m), _ceil_div(problem.n, cuts.n * cuts.along_n)
    tasks = grid[0] * grid[1] * problem.batches * split
    at_once = clusters_at_once(cuts.blocks, multiprocessors)
    turns = _ceil_div(tasks, at_once)
    last = tasks - (turns - 1) * at_once
    steps = _ceil_div(_ceil_div(problem.k, cuts.k), split * cuts.slices)
    at_work = (tasks * cuts.slices, at_once * cuts.slices)
    loads = _Loads(description, cuts, problem, grid, at_work, multiprocessors, costs)
    gathering = costs.gather * (cuts.slices > 1) + (cuts.slices - 1) * cuts.m * cuts.n * 4 / costs.gathered_bytes

    coupled = np.where(cuts.along_m * cuts.along_n > 1, costs.coupled, 1)
    coupled = np.where((cuts.blocks > _PAIR) & (turns > 1), costs.uneven, coupled)

    def main_loop(clusters: np.ndarray) -> np.ndarray:
        return steps * coupled * _step(description, cuts, loads.cycles(clusters * cuts.slices), costs) + gathering

    alone = _result(description, cuts, problem, grid, last, multiprocessors, costs)
    """While results are written, and nothing is multiplied."""
    total = main_loop(last) + alone
    whole, write = main_loop(at_once), _result(description, cuts, problem, grid, at_once, multiprocessors, costs)
    # With pingpong, one warpgroup writes its tile while the other multiplies the next one.
    turn = np.where(cuts.takes_turns, np.maximum(whole, (whole + write) / 2), whole + write)
    total = total + (turns - 1) * turn
    alone = alone + np.where(cuts.takes_turns, 0, (turns - 1) * write)
    (of_a, of_b) = problem.repeats
    once = (problem.m * description.a.bits / of_a + problem.n * description.b.bits / of_b) * problem.k
    once += problem.m * problem.n * _result_bits(description)
    memory = once * problem.batches / 8 / GLOBAL_BYTES / multiprocessors
    blocks = tasks * cuts.blocks
    powered = blocks * steps * _multiplying(description, cuts) / multiprocessors * costs.throttle
    total = _norm(_SHARPNESS, total, memory, powered + alone) + costs.launch
    if description.mode == "split_k_serial":
        total = total + (split - 1) * (costs.turn + 2 * cuts.m * cuts.n * 4 / costs.turn_bytes)
    if copied := copied_bytes(description, problem.m, problem.n, problem.k, problem.batches):
        total = total + costs.launch + 2 * copied / GLOBAL_BYTES / multiprocessors
    if description.mode == "split_k_parallel":
        bits = 32 * split + description.epilogue.full_bits
        summed = problem.m * problem.n * bits / 8 / costs.sum_bytes / multiprocessors
        total = total + costs.sum_launch + split * costs.sum_slice + summed
    return total


def _step(description: GemmDescription, cuts: Cuts, load: np.ndarray, costs: Costs) -> np.ndarray:
    """One step along K, when loading takes so long."""
    multiply = _multiplying(description, cuts) * (1 + costs.issue / cuts.n)
    has_many = ~cuts.takes_turns.astype(bool) & (cuts.m * cuts.n > _MANY_SUMS * cuts.groups)
    return _norm(_OVERLAP, multiply * np.where(has_many, costs.full, 1), load)


def _multiplying(description: GemmDescription, cuts: Cuts) -> np.ndarray:
    """The tensor cores' cycles of a step along K."""
    rate = machine(description.target).warpgroup * 16 / type_bits(description.instruction.a)
    return cuts.m * cuts.n * cuts.k / rate


class _Loads:
    """What a step along K loads."""

    def __init__(
        self,
        description: GemmDescription,
        cuts: Cuts,
        problem: Problem,
        grid: tuple[Any, Any],
        at_work: tuple[Any, Any],
        multiprocessors: int,
        costs: Costs,
    ) -> None:
        """`at_work` are clusters, or slices of them: in all, and at once."""
        self.grid, self.swizzle, self.costs = grid, description.swizzle, costs
        self.waiting = costs.round_trip / (cuts.stages - 1)
        rows, columns = cuts.m * cuts.along_m, cuts.n * cuts.along_n
        inside_m, inside_n = problem.m / (grid[0] * rows), problem.n / (grid[1] * columns)
        of_a, of_b = problem.repeats
        self.distinct = rows * inside_m / of_a, columns * inside_n / of_b
        """Rows of A, and of B, of a cluster that come to the L2 cache first."""
        # The blocks of a cluster that share rows fetch a part of them each.
        counted_a = rows * _counted(description, "a", cuts.m, problem, inside_m, costs)
        counted_b = columns * _counted(description, "b", cuts.n, problem, inside_n, costs)
        self.counted = counted_a + counted_b
        self.received = (cuts.m + cuts.n) / costs.received
        self.blocks, self.pairs = cuts.along_m * cuts.along_n, multiprocessors // 2
        whole = (problem.m / of_a + problem.n / of_b) * at_work[0] / (grid[0] * grid[1])
        self.from_memory = np.minimum(whole / (self._distinct(at_work[1]) * at_work[0] / at_work[1]), 1)
        """Of the rows that no other block has at that time: those that none has had before, which are in no cache."""

    def cycles(self, clusters: np.ndarray) -> np.ndarray:
        """With so many clusters at work at once."""
        distinct = self._distinct(clusters)
        slowest = np.minimum(self.costs.distinct_rows, self._fetched(clusters * self.blocks))
        return (
            clusters * self.counted / self.costs.rows
            + distinct * (self.from_memory / slowest + (1 - self.from_memory) / self.costs.distinct_rows)
            + self.waiting
            + self.received
        )

    def _distinct(self, clusters: np.ndarray) -> np.ndarray:
        """Rows that so many clusters need for a step."""
        tiles = np.minimum(clusters, self.grid[0] * self.grid[1])
        down, across = _spread(self.swizzle, tiles, self.grid)
        # Other batches and slices of K have rows of their own.
        return (down * self.distinct[0] + across * self.distinct[1]) * clusters / tiles

    def _fetched(self, blocks: np.ndarray) -> np.ndarray:
        """Rows a cycle that the TPCs of so many blocks get, when the one with the most blocks gets all it can."""
        return blocks * self.costs.fetched / np.where(blocks > self.pairs, 2, 1)


def _counted(
    description: GemmDescription, name: str, rows: np.ndarray, problem: Problem, inside: np.ndarray, costs: Costs
) -> np.ndarray:
    """How many aligned rows a row of A or B counts for, where this part of its tile lies inside the matrix."""
    operand, extent = (description.a, problem.m) if name == "a" else (description.b, problem.n)
    contiguous = problem.k if is_read_along_k(description, name) else extent
    pitch = -(-contiguous * operand.bits // 8 // WIDEST_ALIGNMENT) * WIDEST_ALIGNMENT
    partly = np.where(pitch % 32, costs.least_aligned, costs.half_aligned)
    within = np.where(pitch % _ROW_BYTES == 0, 1.0, partly)
    return _parts(description, name, rows) * (inside * within + (1 - inside) * costs.outside)


def _parts(description: GemmDescription, name: str, rows: np.ndarray) -> Any:
    """In how many parts TMA fetches 128 bytes of a row of A or B: narrow boxes of what does not lie along K."""
    if is_read_along_k(description, name):
        return 1.0
    whole = _ROW_BYTES * 8 // (description.a if name == "a" else description.b).bits
    return whole / np.gcd(rows, whole)


def _spread(swizzle: str, tiles: np.ndarray, grid: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Over how many rows and columns of the grid of clusters as many tiles extend that are computed at once."""
    along_m, along_n = grid
    if swizzle == "horizontal":
        return np.ceil(tiles / along_n), np.minimum(tiles, along_n)
    most = int(swizzle.removeprefix("identity")) if swizzle.startswith("identity") else 1
    strip = np.minimum(most, along_n)
    strips: np.ndarray = _ceil_div(tiles, along_m * strip)
    is_part = tiles < along_m * strip
    return np.where(is_part, tiles / strip, along_m), np.where(is_part, strip, np.minimum(strips * strip, along_n))


def _result(
    description: GemmDescription,
    cuts: Cuts,
    problem: Problem,
    grid: tuple[Any, Any],
    clusters: np.ndarray,
    multiprocessors: int,
    costs: Costs,
) -> np.ndarray:
    """The epilogue of a tile, when as many clusters write theirs."""
    inside = problem.m / (grid[0] * cuts.m * cuts.along_m) * problem.n / (grid[1] * cuts.n * cuts.along_n)
    sharing = cuts.along_m * cuts.along_n
    written = cuts.m * cuts.n * sharing * clusters * inside * _result_bits(description) / 8
    bits = 32 if description.mode == "split_k_parallel" else description.d.bits
    boxes = cuts.m // cuts.groups // _BOX_ROWS * (cuts.n // np.gcd(cuts.n, _ROW_BYTES * 8 // bits))
    computing = cuts.m * cuts.n * _instructions(description) / costs.lanes
    computing = computing + np.where(leaves_by_tma(description, cuts.n), 0, cuts.m * cuts.n / costs.scattered)
    return np.maximum(written / costs.result_bytes / multiprocessors, boxes * costs.box) + computing


def _instructions(description: GemmDescription) -> int:
    """About how many instructions the epilogue's functions take for each element of D, besides simple arithmetic."""
    if description.mode == "split_k_parallel":
        return 0
    return sum(_FUNCTIONS.get(step.operation, 0) for step in description.epilogue.steps if step.kind == "full")


def _result_bits(description: GemmDescription) -> float:
    """Bits that the epilogue reads and writes for each element of D."""
    return 32 if description.mode == "split_k_parallel" else description.epilogue.full_bits


def _ceil_div(numerator: Any, denominator: Any) -> Any:
    return -(-numerator // denominator)


def _norm(power: int, *values: Any) -> np.ndarray:
    return sum(value**power for value in values) ** (1 / power)
