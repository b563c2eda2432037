"""How many blocks of a kernel one SM holds, and which resource allows no more.

The rules are those of `cuda_occupancy.h`, the header of the CUDA runtime that computes the same without a GPU.
"""

from __future__ import annotations

from cutecc.record.compilation import Occupancy
from cutecc.target import Target

_WARP_THREADS = 32
_PARTITIONS = 4
"""An SM has four partitions, each with a quarter of the registers; a warp stays in one."""
_REGISTERS_UNIT = 256
"""A warp's registers are allocated in units of this many."""
_SHARED_UNIT_BYTES = 128
RESERVED_SHARED_BYTES = 1024
"""What the system takes of the shared memory of each block, from compute capability 8.0 on."""


def occupancy(
    target: Target, *, registers: int, threads: int, shared_bytes: int, barriers: int | None = None
) -> Occupancy:
    """The occupancy of a kernel on `target`.

    `registers` is per thread, `threads` per block, `shared_bytes` is static plus dynamic shared memory per block
    without the system's part, `barriers` is how many named barriers a block uses (they limit from compute capability
    9.0 on). A kernel that cannot be launched at all has 0 blocks.
    """
    limits = target.limits
    warps = -(-threads // _WARP_THREADS)
    bounds = {
        "registers": _blocks_by_registers(target, registers, warps),
        "shared memory": _blocks_by_shared_memory(target, shared_bytes),
        "threads": limits.warps_per_sm // warps if threads <= limits.threads_per_block else 0,
        "blocks": limits.blocks_per_sm,
    }
    if barriers and target.major >= 9:
        bounds["barriers"] = _barriers_per_sm(target) // barriers
    blocks = min(bounds.values())
    return Occupancy(
        block_threads=threads,
        blocks_per_sm=blocks,
        warps_per_sm=blocks * warps,
        fraction=blocks * warps / limits.warps_per_sm,
        limited_by=[resource for resource, bound in bounds.items() if bound == blocks],
    )


def resident_threads(target: Target, registers: int) -> int:
    """The most threads, with so many registers each, that the registers of an SM hold."""
    limits = target.limits
    if registers > limits.registers_per_thread:
        return 0
    per_warp = _round_up(max(registers, 1) * _WARP_THREADS, _REGISTERS_UNIT)
    return limits.registers_per_sm // _PARTITIONS // per_warp * _PARTITIONS * _WARP_THREADS


def _blocks_by_registers(target: Target, registers: int, warps: int) -> int:
    return resident_threads(target, registers) // _WARP_THREADS // warps


def _blocks_by_shared_memory(target: Target, shared_bytes: int) -> int:
    if shared_bytes > target.limits.shared_memory_per_block:
        return 0
    allocated = _round_up(shared_bytes + RESERVED_SHARED_BYTES, _SHARED_UNIT_BYTES)
    return target.limits.shared_memory_per_sm // allocated


def _barriers_per_sm(target: Target) -> int:
    """Named barriers of an SM: two for each block it can hold on 9.0 and 10.0, one on the others."""
    per_block = 2 if (target.major, target.minor) in ((9, 0), (10, 0)) else 1
    return per_block * target.limits.blocks_per_sm


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
