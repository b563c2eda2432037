"""The warp-specialised Hopper GEMM: what it takes, and how its operands lie in shared memory. Needs no DSL.

Blocks stay for the whole launch and take one tile of D after the other. One warp of the first warpgroup loads: TMA
brings tiles of A and B, 128 bytes of K deep, into a ring of `stages`. The other warpgroups multiply with `wgmma`.

| schedule | who computes what |
|---|---|
| `cooperative` | all warpgroups one tile, each `threadblock` M / warpgroups rows of it |
| `pingpong` | each of two its own tile; while one multiplies, the other runs its epilogue |

The blocks of a cluster compute tiles that lie next to each other. Those along N multiply the same rows of A, those
along M the same columns of B: each loads its part of what is shared, and TMA writes it to all of them at once.

Operands that TMA or `wgmma` cannot read as they lie are copied first (`operand_copies.py`).

A 16-byte aligned D leaves through shared memory, in boxes of 64 rows that TMA writes while the next one is gathered,
clipped at the edges. Any other D, and every other result of the epilogue, is stored from registers; so is D where the
tile's N is no multiple of 32 bytes.
"""

from __future__ import annotations

from math import gcd

from cutecc.operations.description import GemmDescription
from cutecc.operations.epilogue.values import Output
from cutecc.operations.kernels.family import Refusal
from cutecc.operations.kernels.workspace import product
from cutecc.operations.operand import WIDEST_ALIGNMENT, type_bits

WARPGROUP = 128
"""Threads."""
INSTRUCTION_M = 64
"""Rows of a `wgmma`."""
SWIZZLE_BYTES = 128
"""A row of the widest swizzle of shared memory."""
OUT_BUFFERS = 2
"""Boxes of D, for each warpgroup, that are gathered or on their way out at once."""
STAGES_ALIGNMENT = 1024
"""Bytes at which a swizzled tile in shared memory begins: as often as the widest swizzle repeats."""
BARRIER_BYTES = 8


def warpgroups(description: GemmDescription) -> int:
    """Those that compute."""
    return description.tile.warps[0]


def block_threads(description: GemmDescription) -> int:
    """Threads of a block: the computing warpgroups, and the one of the warp that loads."""
    return (warpgroups(description) + 1) * WARPGROUP


def rows_of_warpgroup(description: GemmDescription) -> int:
    """Rows of D that a warpgroup computes at a time."""
    m = description.tile.threadblock[0]
    return m if description.tile.schedule == "pingpong" else m // warpgroups(description)


def registers(description: GemmDescription) -> tuple[int, int] | None:
    """Registers a thread of the loading and of a computing warpgroup; `None` where there are enough for all.

    Multiples of 8, 64 Ki in all: a block of three warpgroups starts with 168 each.
    """
    if warpgroups(description) == 1:
        return None
    n = description.tile.threadblock[1]
    sums = rows_of_warpgroup(description) * n // WARPGROUP
    return (24, 240) if sums > 128 else (40, 232)


def result(description: GemmDescription) -> Output | None:
    """The operand D of the epilogue, when it leaves through shared memory and TMA."""
    for operand in product(description).epilogue.outputs:
        if operand.name == "D" and operand.kind == "full" and operand.layout == "row":
            fits = operand.alignment * type_bits(operand.dtype) >= WIDEST_ALIGNMENT * 8
            return operand if fits and out_columns(description, operand) else None
    return None


def out_columns(description: GemmDescription, result: Output) -> int:
    """Columns of a box of D: up to a row of the widest swizzle, 0 where that of the narrowest does not divide N."""
    bits = type_bits(result.dtype)
    columns = gcd(description.tile.threadblock[1], SWIZZLE_BYTES * 8 // bits)
    return columns if columns * bits >= 2 * WIDEST_ALIGNMENT * 8 else 0


def shared_memory_bytes(description: GemmDescription, beside: int = 0) -> int:
    """Dynamic shared memory of one threadblock: stages, boxes of D, barriers and what lies beside these."""
    m, n, k = description.tile.threadblock
    stages = description.tile.stages
    used = (m * description.a.bits + n * description.b.bits) * k // 8 * stages
    if out := result(description):
        box = INSTRUCTION_M * out_columns(description, out) * type_bits(out.dtype) // 8
        used += box * OUT_BUFFERS * warpgroups(description)
    beside += (2 * stages + 2) * BARRIER_BYTES
    return used + -(-beside // STAGES_ALIGNMENT) * STAGES_ALIGNMENT


def accepts(description: GemmDescription) -> Refusal | None:
    if description.mode == "split_k_serial" and description.tile.schedule == "pingpong":
        reason = "warpgroups that take turns at the tensor cores cannot also wait for their turn at a tile"
        return Refusal(reason, ("mode", "tile.schedule"))
    if description.mode == "split_k_serial" and description.tile.cluster != (1, 1):
        return Refusal("a cluster cannot wait for the turn of each of its tiles", ("mode", "tile.cluster"))
    return None
