"""The rules of grouped products, beside those of the product of one group.

A rule takes a description as it is compiled, so that D is never column-major, and gives the refusal or `None`.
"""

from __future__ import annotations

from collections.abc import Callable

from cutecc.operations.grouped.description import SCALE_BLOCK, GroupedDescription
from cutecc.operations.kernels.family import Part, Refusal
from cutecc.operations.kernels.grouped.scaled import shared_memory_bytes
from cutecc.operations.kernels.operand_copies import operand_copies
from cutecc.operations.kernels.sm90 import WARPGROUP, rows_of_warpgroup
from cutecc.operations.tile_rules import fits_shared_memory

Rule = Callable[[GroupedDescription], Refusal | None]

ARGUMENTS = ("offsets", "scales_a", "scales_b")
"""Of a call, besides matrices and the epilogue's operands."""
_MOST_SUMS = 128
"""Registers of a thread for the sums of a tile, beside those of a block."""


def mode(description: GroupedDescription) -> Refusal | None:
    """Each group is one product."""
    given = description.gemm.mode
    if given == "gemm":
        return None
    return Refusal(f"the product of a group is of mode gemm, not {given}", ("mode",))


def layouts(description: GroupedDescription) -> Refusal | None:
    """Nothing is interleaved, nor swapped."""
    gemm = description.gemm
    if gemm.tile.swapped:
        return Refusal("tiles of groups are not swapped", ())
    for name, operand in (("A", gemm.a), ("B", gemm.b), ("C", gemm.c), ("D", gemm.d)):
        if operand is not None and operand.is_interleaved:
            part: Part = f"{name.lower()}.layout"  # type: ignore[assignment]  # one of its names
            return Refusal(f"matrices of groups are not interleaved, and {name} is", (part,))
    return None


def epilogue(description: GroupedDescription) -> Refusal | None:
    """No operand with the name of another argument."""
    found = description.gemm.epilogue
    taken = next((each.name for each in found.operands if each.name in ARGUMENTS), None)
    if taken is not None:
        return Refusal(
            f"{taken} is an argument of grouped products, and no name of an epilogue's operand", ("epilogue",)
        )
    return None


def copies(description: GroupedDescription) -> Refusal | None:
    """wgmma reads A and B as they lie."""
    if description.gemm.mode != "gemm" or description.gemm.family != "sm90":
        return None
    for each in operand_copies(description.gemm):
        name = each.name
        layout: Part = f"{name}.layout"  # type: ignore[assignment]  # one of its names
        if each.is_transposed:
            reason = f"wgmma on {each.operand.dtype} reads {name.upper()} along K, and it is contiguous along the other"
            return Refusal(reason, (layout, "instruction"))
        alignment: Part = f"{name}.alignment"  # type: ignore[assignment]  # one of its names
        bytes_ = each.operand.alignment_bytes
        return Refusal(f"TMA reads {name.upper()} aligned to 16 bytes, not to {bytes_}", (alignment, "instruction"))
    return None


def scales(description: GroupedDescription) -> Refusal | None:
    """Scales of blocks are of 8-bit floats for wgmma, groups packed by rows, and a tile's K is a block."""
    if description.scales == "none":
        return None
    gemm = description.gemm
    if not gemm.a.dtype.startswith("f8") or not gemm.b.dtype.startswith("f8"):
        return Refusal(f"scales are of 8-bit floats, not of {gemm.a.dtype} and {gemm.b.dtype}", ("a.dtype", "b.dtype"))
    if gemm.family != "sm90":
        return Refusal(f"products with scales are those of wgmma, not of {gemm.instruction.unit}", ("instruction",))
    if gemm.tile.threadblock[2] != SCALE_BLOCK:
        return Refusal(f"a scale is of {SCALE_BLOCK} of K, and a tile has {gemm.tile.threadblock[2]}", ("tile.k",))
    n = gemm.tile.threadblock[1]
    if SCALE_BLOCK % n and n % SCALE_BLOCK:
        return Refusal(
            f"a tile of {n} columns is neither part of a block of {SCALE_BLOCK} nor whole blocks", ("tile.n",)
        )
    sums = rows_of_warpgroup(gemm) * n // WARPGROUP
    # The factors of columns take registers too.
    most = _MOST_SUMS // 2 if description.packing == "depth" else _MOST_SUMS
    if sums > most:
        reason = f"a thread has {sums} sums beside those of a block, and there is room for {most}"
        return Refusal(reason, ("tile.m", "tile.n", "tile.warps", "tile.schedule"))
    return fits_shared_memory(gemm, shared_memory_bytes(description))


RULES: tuple[Rule, ...] = (mode, layouts, epilogue, copies, scales)
"""In the order in which they are asked."""
