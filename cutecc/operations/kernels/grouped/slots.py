"""Where grouped products leave their parts of reductions: a slot of the workspace for each tile of D. Needs no DSL.

A slot has the parts that the warps of the tile have found of each reduction. Slots lie behind the descriptors, those of
a group next to each other, tiles along M first. Clusters count whole: some of their tiles may lie outside of D.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cutecc.operations.epilogue.values import Kind
from cutecc.operations.grouped.description import GroupedDescription
from cutecc.operations.kernels.workspace import ALIGNMENT, Cut, epilogue_cut, round_up
from cutecc.operations.operand import type_bits


@dataclass(frozen=True)
class Parts:
    """The parts of one reduction in a slot: of each warp as many as the tile has results."""

    offset: int
    """Bytes from where the slot begins."""
    warps: int
    """That have parts of the same results."""
    results: int
    """Of a tile."""


def parts(description: GroupedDescription) -> dict[str, Parts]:
    """The parts in a slot of each output that is a reduction, by name."""
    found, offset = dict[str, Parts](), 0
    for output in description.gemm.epilogue.outputs:
        if output.reduction != "none":
            found[output.name] = each = Parts(offset, *_shape(output.kind, epilogue_cut(description.gemm)))
            offset += _bytes(description, each)
    return found


def slot_bytes(description: GroupedDescription) -> int:
    """The size of a slot."""
    return sum(_bytes(description, each) for each in parts(description).values())


def slots(description: GroupedDescription, turns: Any) -> Any:
    """How many slots so many turns (`schedule.py`) have."""
    along_m, along_n = description.gemm.tile.cluster
    return turns * (along_m * along_n)


def _bytes(description: GroupedDescription, each: Parts) -> int:
    return round_up(each.warps * each.results * type_bits(description.gemm.epilogue.compute) // 8, ALIGNMENT)


def _shape(kind: Kind, cut: Cut) -> tuple[int, int]:
    """Warps with parts of the same results, and those results."""
    match kind:
        case "row":
            return cut.warps[0], cut.tile[1]
        case "column":
            return cut.warps[1], cut.tile[0]
        case _:
            return cut.warps[0] * cut.warps[1], 1
