"""The multistage GEMMs over groups: how many blocks run at once. Needs no DSL."""

from __future__ import annotations

from cutecc.operations.grouped.description import GroupedDescription
from cutecc.operations.kernels import simt, sm80
from cutecc.operations.operand import type_bits
from cutecc.target import Target

_OTHER_REGISTERS = 96
"""Of a thread, besides its sums: fragments, addresses and predicates."""
_RESERVED = 1024
"""Bytes of shared memory of a block that belong to the system."""


def blocks_per_sm(description: GroupedDescription) -> int:
    """How many blocks a multiprocessor is given: about as many as it runs at once."""
    gemm = description.gemm
    if gemm.family == "simt":
        return simt.blocks_per_sm(gemm)
    limits, threads = Target.parse(gemm.target).limits, sm80.block_threads(gemm)
    m, n, _ = gemm.tile.threadblock
    sums = m * n * type_bits(gemm.instruction.accumulator) // 32 // sm80.holding_threads(gemm)
    registers = min(sums + _OTHER_REGISTERS, 255) * threads
    memory = sm80.shared_memory_bytes(gemm) + _RESERVED
    return max(min(limits.registers_per_sm // registers, limits.shared_memory_per_sm // memory), 1)
