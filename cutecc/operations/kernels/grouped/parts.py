# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""The parts of reductions in the slots of a workspace, as kernels find them."""

from __future__ import annotations

from typing import Any, NamedTuple

import cutlass
from cutlass import cute

from cutecc.operations.grouped.description import GroupedDescription
from cutecc.operations.kernels.grouped import slots
from cutecc.operations.kernels.grouped.groups import Problem, Span
from cutecc.operations.kernels.grouped.schedule import turns_along, turns_before
from cutecc.operations.kernels.grouped.workspace import slots_offset
from cutecc.operations.kernels.numeric import numeric


class OfGroup(NamedTuple):
    """The slots of a group."""

    offset: Any
    """Of the first one in the workspace, in bytes."""
    along_m: Any
    """How many lie along M."""


class Slots:
    """The slots of all groups in a workspace."""

    def __init__(self, description: GroupedDescription):
        self.description = description
        self.parts, self.bytes = slots.parts(description), slots.slot_bytes(description)
        self.compute = numeric(description.gemm.epilogue.compute)

    def of_group(self, problem: Problem, group, span: Span) -> OfGroup:
        """Those of a group."""
        if self.description.packing == "list":
            turns = problem.schedule[group]
        else:
            varies = 1 if self.description.packing == "columns" else 0
            turns = turns_before(self.description, *problem[:2], group, span.begin[varies])
        first = cutlass.Int64(slots.slots(self.description, turns)) * self.bytes
        offset = slots_offset(self.description, cutlass.Int64(problem.groups)) + first
        along_m, _ = turns_along(self.description, span.size(0), span.size(1))
        return OfGroup(offset, along_m * self.description.gemm.tile.cluster[0])

    def place(self, workspace, own: OfGroup, tile, name: str) -> cute.Pointer:
        """Where the parts of an output are that the tile at (m, n) of a group has left."""
        index = cutlass.Int64(tile[1]) * own.along_m + tile[0]
        at = own.offset + index * self.bytes + self.parts[name].offset
        return cute.recast_ptr((workspace.iterator + at).align(slots.ALIGNMENT), dtype=self.compute)
