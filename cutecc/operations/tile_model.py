"""How long a GEMM takes, estimated from its tile: what ranks tiles and splits of K before anything is measured.

Cycles of one streaming multiprocessor (SM), from how much it multiplies a cycle, how many bytes reach it, and how
evenly tiles are spread over all of them. The figures are rounded from NVIDIA's architecture whitepapers; they rank
tiles of one target against each other, and promise no time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import ceil, prod

from cutecc.operations.description import SPLIT_K_MODES, GemmDescription
from cutecc.operations.kernels.family import family
from cutecc.operations.operand import type_bits
from cutecc.operations.tile_rules import accumulator_registers, limits_of
from cutecc.target import Target


@dataclass(frozen=True)
class Problem:
    """The sizes of a product: D of M×N, K products for each element, L matrices."""

    m: int
    n: int
    k: int
    batches: int = 1

    def transposed(self) -> Problem:
        """M and N exchanged."""
        return Problem(self.n, self.m, self.k, self.batches)


LARGE = Problem(32768, 32768, 8192)
"""Stands for sizes that are not known: tiles that keep a whole GPU busy."""


@dataclass(frozen=True)
class Machine:
    """What a target does in a cycle."""

    multiprocessors: int
    """Of the largest product of this architecture in data centers."""
    tensor: int
    """Multiply-adds of f16 a cycle and SM by `mma.sync`."""
    warpgroup: int
    """The same by `wgmma`; 0 where there is none."""
    f64: int
    """Multiply-adds of f64 a cycle and SM outside of tensor cores."""
    f64_tensor: int
    f32: int
    l2_bytes: float
    """Bytes a cycle and SM from the L2 cache."""


_MACHINES: dict[tuple[int, int], Machine] = {
    (8, 0): Machine(108, 1024, 0, 32, 64, 64, 46),
    (8, 6): Machine(84, 512, 0, 2, 2, 128, 28),
    (8, 7): Machine(16, 512, 0, 2, 2, 128, 28),
    (8, 9): Machine(142, 512, 0, 2, 2, 128, 28),
    (9, 0): Machine(132, 1280, 2048, 64, 128, 128, 46),
    (10, 0): Machine(148, 1024, 0, 64, 64, 128, 46),
    (10, 3): Machine(148, 1024, 0, 2, 2, 128, 46),
    (11, 0): Machine(20, 512, 0, 2, 2, 128, 28),
    (12, 0): Machine(188, 512, 0, 2, 2, 128, 28),
    (12, 1): Machine(48, 512, 0, 2, 2, 128, 28),
}
_SHARED_BYTES = 128
"""A cycle and SM from shared memory."""
_GLOBAL_BYTES = 16
"""A cycle and SM to and from global memory: what epilogues and partial sums take."""
_START = 1500
"""Cycles until the first tiles of A and B are in shared memory."""
_TILE = 500
"""Cycles between the tiles of a block or a persistent one."""
_STEP = 30
"""Cycles of a step along K in which nothing is multiplied."""
_LAUNCH = 8000
"""Cycles until a second kernel has begun."""
_WORKING_REGISTERS = 96
"""Registers a thread besides those of accumulators."""
_WGMMA_ISSUE = 8
"""Columns of a `wgmma` that would be multiplied in the time that it takes to begin one."""
_ALONE = 1.15
"""How much longer a single warpgroup takes, which nobody relieves between two steps."""
_COMFORTABLE_REGISTERS = 128
"""Registers a thread of accumulators, besides which an epilogue has room."""
_CROWDED = 1.1
"""How much longer a tile with more of them takes."""
_FEW_WARPS = 8
"""With fewer warps on an SM, some of its time nobody multiplies."""


def machine(target: str) -> Machine:
    """What a target does in a cycle."""
    return _machine(target)


@cache
def _machine(name: str) -> Machine:
    target = Target.parse(name)
    return _MACHINES[target.major, target.minor]


def slices(description: GemmDescription, problem: Problem, multiprocessors: int | None = None) -> int:
    """Into how many slices of K a launch is best split: 1 in modes that do not split.

    `multiprocessors` are those of the GPU, where they are not the target's usual ones.
    """
    if description.mode not in SPLIT_K_MODES:
        return 1
    steps = ceil(problem.k / description.tile.threadblock[2])
    most = max(1, min(32, steps // 4))
    counts = multiprocessors or machine(description.target).multiprocessors
    return min(range(1, most + 1), key=lambda each: cycles(description, problem, counts, each))


def cycles(
    description: GemmDescription, problem: Problem, multiprocessors: int | None = None, split: int | None = None
) -> float:
    """Estimated cycles of a valid description on a problem; `split` slices of K, the best number if not given."""
    if split is None:
        split = slices(description, problem, multiprocessors)
    if description.is_compiled_transposed:
        description, problem = description.transposed(), problem.transposed()
    tile = description.tile
    m, n, k = tile.threadblock
    gpu = machine(description.target)
    steps = ceil(ceil(problem.k / k) / split)
    # A cluster is launched whole, also beyond the edge of D.
    along_m, along_n = tile.cluster
    clusters = ceil(problem.m / (m * along_m)) * ceil(problem.n / (n * along_n))
    tiles = clusters * along_m * along_n * problem.batches * split
    busiest = ceil(tiles / (multiprocessors or gpu.multiprocessors))
    together = min(busiest, resident_blocks(description))
    main = steps * (_step_cycles(description, gpu, together) + _STEP) + _TILE
    out = _epilogue_bytes(description, split) / _GLOBAL_BYTES
    if tile.schedule == "pingpong":
        # One warpgroup writes its tile while the other multiplies the next one.
        per_tile = max(main, out) + out * 0.1
        total = busiest * per_tile + _START + out
    elif tile.schedule == "cooperative":
        total = busiest * (main + out) + _START
    else:
        rounds = ceil(busiest / together)
        total = busiest * main + rounds * (_START + out) + (busiest - rounds) * out * 0.5
    return total + _split_cycles(description, problem, split, gpu)


def resident_blocks(description: GemmDescription) -> int:
    """Threadblocks that an SM holds at once, as shared memory, threads and estimated registers allow."""
    tile = description.tile
    if tile.schedule != "multistage":
        return 1
    limits = limits_of(description.target)
    threads = 32 * prod(tile.warps)
    registers = min(255, accumulator_registers(tile, description.instruction.accumulator) + _WORKING_REGISTERS)
    return max(
        1,
        min(
            limits.shared_memory_per_sm // (family(description.family).shared_memory_bytes(description) + 1024),
            limits.threads_per_sm // threads,
            limits.registers_per_sm // (threads * registers),
            limits.blocks_per_sm,
        ),
    )


def _step_cycles(description: GemmDescription, gpu: Machine, together: int) -> float:
    """One step of a threadblock along K, when `together` of them share the SM."""
    tile, instruction = description.tile, description.instruction
    m, n, k = tile.threadblock
    multiply = m * n * k / _rate(description, gpu)
    loaded = (m * description.a.bits / tile.cluster[1] + n * description.b.bits / tile.cluster[0]) * k / 8
    load = loaded / gpu.l2_bytes
    if instruction.unit == "wgmma":
        # Each instruction reads its 64 rows of A and all columns of B from shared memory.
        read = k * m * (description.a.bits + n / 64 * description.b.bits) / 8 / _SHARED_BYTES
        busy = max(multiply * (1 + _WGMMA_ISSUE / n), load, read)
        if tile.schedule == "cooperative" and tile.warps[0] == 1:
            busy *= _ALONE
        crowded = accumulator_registers(tile, instruction.accumulator) > _COMFORTABLE_REGISTERS
        return busy * (_CROWDED if crowded else 1.0)
    along_m, along_n, _ = tile.warps
    if instruction.unit == "simt":
        rows, columns = m / along_m / 8, n / along_n / 4
        # Lanes of a row or column read the same elements at once.
        read = m * n * k * (8 / rows / 32 + 4 / columns / 32) * description.a.bits / 8 / _SHARED_BYTES
    else:
        read = k * (m * along_n * description.a.bits + n * along_m * description.b.bits) / 8 / _SHARED_BYTES
    warps = prod(tile.warps) * together
    return max(multiply * max(1.0, (_FEW_WARPS / warps) ** 0.5), read, load) + min(multiply, read) * 0.1


def _rate(description: GemmDescription, gpu: Machine) -> float:
    """Multiply-adds a cycle and SM."""
    instruction = description.instruction
    if instruction.unit == "simt":
        return gpu.f64 if instruction.a == "f64" else gpu.f32
    if instruction.a == "f64":
        return gpu.f64_tensor
    rate = (gpu.warpgroup if instruction.unit == "wgmma" else gpu.tensor) * 16 / type_bits(instruction.a)
    if instruction.shape == (16, 8, 8) and instruction.a != "tf32":
        rate *= 0.75
    return rate / 3 if instruction.arithmetic == "multiply_add_fast_f32" else rate


def _epilogue_bytes(description: GemmDescription, split: int) -> float:
    m, n, _ = description.tile.threadblock
    bits = sum(type_bits(each.dtype) for each in description.epilogue.operands if each.kind == "full")
    if description.mode == "split_k_serial":
        bits += 2 * 32 * (split - 1) / split
    return m * n * bits / 8


def _split_cycles(description: GemmDescription, problem: Problem, split: int, gpu: Machine) -> float:
    """What slices cost besides their tiles: waiting for turns, or the kernel that adds them up."""
    if description.mode == "split_k_serial":
        m, n, _ = description.tile.threadblock
        return (split - 1) * (m * n * 4 / _GLOBAL_BYTES / 4 + 500)
    if description.mode == "split_k_parallel":
        partials = problem.m * problem.n * 4 * split * 2
        return _LAUNCH + partials / gpu.multiprocessors / _GLOBAL_BYTES
    return 0.0
