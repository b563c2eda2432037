"""The workspace of grouped products: TMA descriptors, one of each operand that needs its own a group, and parts of
reductions (`slots.py`). Needs no DSL.

A descriptor says where a tensor ends: what a box has behind that end arrives as zeros. Of packed rows and columns no
operand needs that, since sums of other groups' rows and columns are not stored. Along K they would be added up.
"""

from __future__ import annotations

from typing import Any

from cutecc.operations.grouped.description import GroupedDescription
from cutecc.operations.kernels import sm90
from cutecc.operations.kernels.grouped.slots import slot_bytes, slots

DESCRIPTOR_BYTES = 128
"""Of a TMA descriptor, which begins at a multiple of them."""


def described(description: GroupedDescription) -> tuple[str, ...]:
    """The operands of which each group has a descriptor, of `a`, `b`, `d`; they lie in this order, by group."""
    if description.gemm.family != "sm90" or description.packing in ("rows", "columns"):
        return ()
    has_result = description.packing == "list" and sm90.result(description.gemm) is not None
    return ("a", "b", "d") if has_result else ("a", "b")


def needs_workspace(description: GroupedDescription) -> bool:
    """Whether a kernel of this description takes a workspace."""
    return bool(described(description)) or description.gemm.epilogue.has_reductions


def workspace_bytes(description: GroupedDescription, groups: Any, turns: Any = 0) -> Any:
    """The bytes that a launch needs, of groups with so many turns; without reductions these do not count.

    They begin at a multiple of `DESCRIPTOR_BYTES`, and nothing has to be in them.
    """
    return slots_offset(description, groups) + slots(description, turns) * slot_bytes(description)


def slots_offset(description: GroupedDescription, groups: Any) -> Any:
    """Where the slots begin, in bytes."""
    return len(described(description)) * groups * DESCRIPTOR_BYTES
