"""How many blocks of a kernel one SM holds, and which resource allows no more.

The rules are those of `cuda_occupancy.h`, the header of the CUDA runtime that computes the same without a GPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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


@dataclass(frozen=True)
class Raise:
    """The least change by which an SM holds more warps of a kernel."""

    to: Mapping[str, int]
    """By what is changed: the most `registers` of a thread, bytes of `shared memory` or `barriers` of a block; or its
    `threads`."""
    occupancy: Occupancy
    """What it is then."""


def least_raise(
    target: Target, *, registers: int, threads: int, shared_bytes: int, barriers: int | None = None
) -> Raise | None:
    """What would raise the occupancy that `occupancy` gives for the same numbers; `None` where no such change does.

    Another block fits when each resource that limits them is taken less of. Where it is the number of threads or
    blocks, blocks of another size do it.
    """
    taken: dict[str, Any] = {"registers": registers, "threads": threads, "shared memory": shared_bytes}
    taken["barriers"] = barriers
    now = _occupancy_of(target, taken)
    warps = -(-threads // _WARP_THREADS)
    to: dict[str, int] = {}
    for limit in now.limited_by:
        resource, most = _most(target, limit, warps, now.blocks_per_sm + 1)
        to[resource] = most
    if min(to.values()) < 0 or ("threads" in to and len(to) > 1):
        return None
    then = _occupancy_of(target, taken | to)
    return Raise(to, then) if then.fraction > now.fraction else None


def _occupancy_of(target: Target, taken: Mapping[str, Any]) -> Occupancy:
    return occupancy(
        target,
        registers=taken["registers"],
        threads=taken["threads"],
        shared_bytes=taken["shared memory"],
        barriers=taken["barriers"],
    )


def _most(target: Target, limit: str, warps: int, blocks: int) -> tuple[str, int]:
    """What is to change where `limit` allows no more, and what it may be that `blocks` fit; negative where none do."""
    limits = target.limits
    if limit == "registers":
        found = range(limits.registers_per_thread, 0, -1)
        return limit, next((each for each in found if _blocks_by_registers(target, each, warps) >= blocks), -1)
    if limit == "shared memory":
        units = limits.shared_memory_per_sm // blocks // _SHARED_UNIT_BYTES
        return limit, units * _SHARED_UNIT_BYTES - RESERVED_SHARED_BYTES
    if limit == "barriers":
        return limit, _barriers_per_sm(target) // blocks
    # A warp more where there are blocks enough; else so few that one block more has room.
    return "threads", _WARP_THREADS * (warps + 1 if limit == "blocks" else limits.warps_per_sm // blocks)


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
