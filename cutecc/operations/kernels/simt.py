"""The SIMT GEMM of f32 and f64: what it takes, and how its operands lie in shared memory. Needs no DSL.

A block of `warps` warps computes one tile of D, each thread with its own multiply-adds. Tiles of A and B, each
`threadblock` K deep, go through a ring of `stages` in shared memory, by `cp.async` of 4, 8 or 16 bytes.

| step | how |
|---|---|
| global to shared | up to 16 bytes along M or N; where K is contiguous, element by element, which transposes |
| shared memory | (rows, K), rows contiguous, and room between the K so that transposing has no bank conflicts |
| shared to registers | 16 bytes along M and along N; the elements of the next K while this one's are multiplied |
| edges | beyond M, N and K zeros are loaded |
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from cutecc.operations.description import GemmDescription
from cutecc.operations.kernels.family import Part, Refusal
from cutecc.operations.operand import WIDEST_ALIGNMENT, Operand, type_bits
from cutecc.target import Target

WARP = 32
WARP_LANES = (8, 4)
"""Lanes of a warp along M and N."""
_OTHER_REGISTERS = 32
_MOST_THREADS = 512
"""Of an SM: more would not make it faster."""


@dataclass(frozen=True)
class OperandPlan:
    """How A or B is loaded: its tile is (rows, K), where rows are M or N."""

    operand: Operand
    is_k_major: bool
    """Whether elements are contiguous along K, else along the rows."""
    tile: tuple[int, int]
    threads: int
    """Of the block."""

    @property
    def vector(self) -> int:
        """Elements of one copy to shared memory."""
        if self.is_k_major:
            return 1
        return gcd(self.operand.alignment, WIDEST_ALIGNMENT * 8 // self.operand.bits, self.tile[0])

    @property
    def copying(self) -> tuple[int, int]:
        """Threads along the rows and along K; those next to each other copy what lies next to each other."""
        rows, depth = self.tile
        if self.is_k_major:
            along = gcd(depth, self.threads)
            return self.threads // along, along
        along = gcd(rows // self.vector, self.threads)
        return along, self.threads // along

    @property
    def row_stride(self) -> int:
        """Elements from one K to the next in shared memory."""
        # Four banks more a step: a warp that transposes writes 8 K of 4 rows, or more of either.
        return self.tile[0] + (WIDEST_ALIGNMENT * 8 // self.operand.bits if self.is_k_major else 0)

    @property
    def stage_elements(self) -> int:
        return self.row_stride * self.tile[1]


def plans(description: GemmDescription) -> tuple[OperandPlan, OperandPlan]:
    m, n, k = description.tile.threadblock
    threads = block_threads(description)
    return (
        OperandPlan(description.a, description.a.layout == "row", (m, k), threads),
        OperandPlan(description.b, description.b.layout == "column", (n, k), threads),
    )


def block_threads(description: GemmDescription) -> int:
    along_m, along_n, _ = description.tile.warps
    return along_m * along_n * WARP


def vector(description: GemmDescription) -> tuple[int, int]:
    """How many consecutive elements along M and N a thread multiplies: 16 bytes, or what a warp's part has."""
    widest = WIDEST_ALIGNMENT * 8 // type_bits(description.instruction.accumulator)
    m, n, _ = description.tile.threadblock
    along_m, along_n, _ = description.tile.warps
    return gcd(widest, m // along_m // WARP_LANES[0]), gcd(widest, n // along_n // WARP_LANES[1])


def blocks_per_sm(description: GemmDescription) -> int:
    """How many blocks should fit the registers of an SM at once, so that one computes while others wait."""
    m, n, _ = description.tile.threadblock
    threads, words = block_threads(description), type_bits(description.instruction.accumulator) // 32
    along_m, along_n = m // description.tile.warps[0] // WARP_LANES[0], n // description.tile.warps[1] // WARP_LANES[1]
    # Sums, two sets of fragments, addresses and predicates.
    registers = words * (along_m * along_n + 2 * (along_m + along_n)) + _OTHER_REGISTERS
    limits = Target.parse(description.target).limits
    blocks = min(limits.registers_per_sm // (threads * registers), _MOST_THREADS // threads)
    return max(min(blocks, limits.shared_memory_per_sm // _reserved(description)), 1)


def shared_memory_percentage(description: GemmDescription) -> int:
    """How much of an SM's memory for L1 and shared memory should be shared, so that these blocks fit."""
    limits = Target.parse(description.target).limits
    return min(-(-100 * blocks_per_sm(description) * _reserved(description) // limits.shared_memory_per_sm), 100)


def _reserved(description: GemmDescription) -> int:
    """Bytes of shared memory that a block takes, with those that belong to the system."""
    return shared_memory_bytes(description) + 1024


def shared_memory_bytes(description: GemmDescription) -> int:
    """Dynamic shared memory of one threadblock: the stages."""
    stages = description.tile.stages
    return sum(plan.stage_elements * stages * plan.operand.bits // 8 for plan in plans(description))


def accepts(description: GemmDescription) -> Refusal | None:
    m, n, k = description.tile.threadblock
    along_m, along_n, along_k = description.tile.warps
    if along_k != 1:
        return Refusal(f"{along_k} warps along K; a thread adds up all of K itself", ("tile.warps",))
    if description.tile.stages < 2:
        return Refusal("one stage; copies need another one than the multiply-adds read", ("tile.stages",))
    if m % (along_m * WARP_LANES[0]) or n % (along_n * WARP_LANES[1]):
        reason = f"{along_m}x{along_n} warps of 8x4 lanes do not divide a tile of {m}x{n}"
        return Refusal(reason, ("tile.m", "tile.n", "tile.warps"))
    layouts: tuple[Part, Part] = ("a.layout", "b.layout")
    for name, layout, plan in zip("AB", layouts, plans(description), strict=True):
        if plan.operand.is_interleaved:
            return Refusal(f"{name} is interleaved, which f32 and f64 never are", (layout,))
        rows, depth = plan.copying
        covered = rows * (1 if plan.is_k_major else plan.vector)
        if plan.tile[0] % covered or plan.tile[1] % depth:
            reason = f"{plan.threads} threads cannot share a tile of {plan.tile[0]}x{k} of {name} evenly"
            return Refusal(reason, ("tile.m", "tile.n", "tile.k", "tile.warps"))
    return None
