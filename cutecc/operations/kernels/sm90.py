"""The warp-specialised Hopper GEMM: what it takes, and how its operands lie in shared memory. Needs no DSL.

Blocks stay for the whole launch and take one tile of D after the other. One warp of the first warpgroup loads: TMA
brings tiles of A and B, 128 bytes of K deep, into a ring of `stages`. The other warpgroups multiply with `wgmma`.

| schedule | who computes what |
|---|---|
| `cooperative` | all warpgroups one tile, each `threadblock` M / warpgroups rows of it |
| `pingpong` | each of two its own tile; while one multiplies, the other runs its epilogue |

The blocks of a cluster compute tiles that lie next to each other. Those along N multiply the same rows of A, those
along M the same columns of B: each loads its part of what is shared, and TMA writes it to all of them at once. With
`split_k_cluster` all compute the same tile, each a slice of K, and the first one adds them up (`cluster_sums.py`).

Operands that TMA or `wgmma` cannot read as they lie are copied first (`operand_copies.py`).

A 16-byte aligned D leaves through shared memory, in boxes of 64 rows that TMA writes while the next one is gathered,
clipped at the edges. Any other D, and every other result of the epilogue, is stored from registers; so is D where the
tile's N is no multiple of 32 bytes.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

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


def sharing(description: GemmDescription) -> tuple[int, int]:
    """Blocks of a cluster along M and N, which share what they load; with slices of K in a cluster none do."""
    return (1, 1) if description.mode == "split_k_cluster" else description.tile.cluster


def cluster_slices(description: GemmDescription) -> int:
    """Slices of K that the blocks of a cluster have."""
    return prod(description.tile.cluster) if description.mode == "split_k_cluster" else 1


def clusters_at_once(blocks: Any, multiprocessors: Any) -> Any:
    """How many clusters of so many blocks, a block an SM, a GPU runs at once; numbers, or values of the DSL.

    A cluster is within a GPC, of whose 16 or 18 SMs some are switched off. On an H200 of 132 SMs the occupancy
    calculator says 66 clusters of 2, 30 of 4, 15 of 8: of 120 SMs.
    """
    found = (multiprocessors - (blocks > 2) * (multiprocessors // 11)) // blocks
    return found + (found < 1)


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
    out = _aligned_result(description)
    return out if out and out_columns(description, out) else None


def _aligned_result(description: GemmDescription) -> Output | None:
    """The same whatever the tile's N is."""
    for operand in product(description).epilogue.outputs:
        if operand.name == "D" and operand.kind == "full" and operand.layout == "row":
            fits = operand.alignment * type_bits(operand.dtype) >= WIDEST_ALIGNMENT * 8
            return operand if fits else None
    return None


def leaves_by_tma(description: GemmDescription, n: Any) -> Any:
    """Whether D leaves through shared memory and TMA where a tile's N is `n`; of an array for each."""
    out = _aligned_result(description)
    return _columns_of_box(n, type_bits(out.dtype)) > 0 if out else n < 0


def out_columns(description: GemmDescription, result: Output) -> int:
    """Columns of a box of D: up to a row of the widest swizzle, 0 where that of the narrowest does not divide N."""
    return int(_columns_of_box(description.tile.threadblock[1], type_bits(result.dtype)))


def _columns_of_box(n: Any, bits: int) -> Any:
    columns = np.gcd(n, SWIZZLE_BYTES * 8 // bits)
    return columns * (columns * bits >= 2 * WIDEST_ALIGNMENT * 8)


def shared_memory_bytes(description: GemmDescription, beside: int = 0) -> int:
    """Dynamic shared memory of one threadblock: stages, boxes of D, barriers and what lies beside these."""
    tile, slices = description.tile, cluster_slices(description)
    return int(shared_memory_of(description, tile.threadblock, tile.stages, warpgroups(description), slices, beside))


def shared_memory_of(
    description: GemmDescription, threadblock: Any, stages: Any, groups: Any, slices: Any, beside: int = 0
) -> Any:
    """The same with another tile; of arrays one of each."""
    m, n, k = threadblock
    used = (m * description.a.bits + n * description.b.bits) * k // 8 * stages
    if out := _aligned_result(description):
        bits = type_bits(out.dtype)
        used = used + INSTRUCTION_M * _columns_of_box(n, bits) * bits // 8 * OUT_BUFFERS * groups
    of_others = (slices - 1) * m * n * type_bits(description.instruction.accumulator) // 8
    barriers = (2 * stages + 2 + 2 * (slices > 1)) * BARRIER_BYTES
    return used + -(-(beside + of_others + barriers) // STAGES_ALIGNMENT) * STAGES_ALIGNMENT


def accepts(description: GemmDescription) -> Refusal | None:
    if description.mode == "split_k_serial" and description.tile.schedule == "pingpong":
        reason = "warpgroups that take turns at the tensor cores cannot also wait for their turn at a tile"
        return Refusal(reason, ("mode", "tile.schedule"))
    if description.mode == "split_k_serial" and description.tile.cluster != (1, 1):
        return Refusal("a cluster cannot wait for the turn of each of its tiles", ("mode", "tile.cluster"))
    if description.mode == "split_k_cluster":
        if description.tile.cluster == (1, 1):
            return Refusal("a cluster of one block has no slices of K to share", ("mode", "tile.cluster"))
        if description.tile.schedule == "pingpong":
            reason = "warpgroups that take turns at the tensor cores cannot also add up slices of a cluster"
            return Refusal(reason, ("mode", "tile.schedule"))
    return None
