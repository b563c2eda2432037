"""How long a multistage GEMM takes, estimated from its tile: `cp.async`, a tile a block, `mma.sync` or SIMT.

Cycles of one streaming multiprocessor (SM), from how much it multiplies a cycle, how many bytes reach it, and how
evenly tiles are spread over all of them. The figures are rounded from NVIDIA's architecture whitepapers.
"""

from __future__ import annotations

from math import ceil, prod

from cutecc.operations.description import GemmDescription
from cutecc.operations.kernels.family import family
from cutecc.operations.machine import GLOBAL_BYTES, Machine, machine
from cutecc.operations.operand import type_bits
from cutecc.operations.problem_sizes import Problem
from cutecc.operations.tile_rules import accumulator_registers, limits_of

_SHARED_BYTES = 128
"""A cycle and SM from shared memory."""
_START = 1500
"""Cycles until the first tiles of A and B are in shared memory."""
_TILE = 500
"""Cycles between the tiles of a block or a persistent one."""
_STEP = 30
"""Cycles of a step along K in which nothing is multiplied."""
_TURN = 500
"""Cycles from the end of a slice until the next one of its tile goes on."""
_LAUNCH = 8000
"""Cycles until a second kernel has begun."""
_WORKING_REGISTERS = 96
"""Registers a thread besides those of accumulators."""
_FEW_WARPS = 8
"""With fewer warps on an SM, some of its time nobody multiplies."""


def cycles(description: GemmDescription, problem: Problem, multiprocessors: int, split: int) -> float:
    """Estimated cycles of a launch of what is compiled, with K in `split` slices."""
    gpu = machine(description.target)
    m, n, k = description.tile.threadblock
    steps = ceil(ceil(problem.k / k) / split)
    tiles = ceil(problem.m / m) * ceil(problem.n / n) * problem.batches * split
    busiest = ceil(tiles / multiprocessors)
    together = min(busiest, resident_blocks(description))
    rounds = ceil(busiest / together)
    main = steps * (_step_cycles(description, gpu, together) + _STEP) + _TILE
    out = _epilogue_bytes(description, split) / GLOBAL_BYTES
    total = _LAUNCH + busiest * main + rounds * (_START + out) + (busiest - rounds) * out * 0.5
    if description.mode == "split_k_serial":
        # One writes its sums, then the other reads them: at twice an SM's share of the memory, which few use at once.
        total += (split - 1) * (2 * m * n * 4 / (2 * GLOBAL_BYTES) + _TURN)
    if description.mode == "split_k_parallel":
        total += _LAUNCH + problem.m * problem.n * 4 * split * 2 / multiprocessors / GLOBAL_BYTES
    return total


def resident_blocks(description: GemmDescription) -> int:
    """Threadblocks that an SM holds at once, as shared memory, threads and estimated registers allow."""
    tile = description.tile
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
    load = (m * description.a.bits + n * description.b.bits) * k / 8 / gpu.l2_bytes
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
    rate = gpu.tensor * 16 / type_bits(instruction.multiplies)
    if instruction.shape == (16, 8, 8) and instruction.multiplies != "tf32":
        rate *= 0.75
    return rate / 3 if instruction.arithmetic == "multiply_add_fast_f32" else rate


def _epilogue_bytes(description: GemmDescription, split: int) -> float:
    m, n, _ = description.tile.threadblock
    bits: float = description.epilogue.full_bits
    if description.mode == "split_k_serial":
        bits += 2 * 32 * (split - 1) / split
    return m * n * bits / 8
