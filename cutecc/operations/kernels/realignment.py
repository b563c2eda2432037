"""Operands of `wgmma` that TMA cannot read where they are: which are copied first, and how. Needs no DSL.

TMA takes addresses and leading dimensions that are multiples of 16 bytes. An operand with less is copied to the workspace,
its rows filled up with zeros to the next such multiple: as many bytes again as the operand has, next to the products of
each element with a whole row or column of the other.
"""

from __future__ import annotations

from typing import Any

from cutecc.operations.description import GemmDescription
from cutecc.operations.operand import WIDEST_ALIGNMENT, Operand

THREADS = 256
"""Of a block; each copies 16 bytes."""


def realigned(description: GemmDescription) -> list[str]:
    """Which of `a` and `b` are copied first."""
    if description.family != "sm90":
        return []
    operands = {"a": description.a, "b": description.b}
    return [name for name, operand in operands.items() if operand.alignment_bytes < WIDEST_ALIGNMENT]


def vector(operand: Operand) -> int:
    """Elements of 16 bytes."""
    return WIDEST_ALIGNMENT * 8 // operand.bits


def is_k_major(description: GemmDescription, name: str) -> bool:
    """Whether an operand is contiguous along K."""
    return description.a.layout == "row" if name == "a" else description.b.layout == "column"


def extents(description: GemmDescription, name: str, m: Any, n: Any, k: Any) -> tuple[Any, Any]:
    """The contiguous extent of an operand, and the other one."""
    rows = m if name == "a" else n
    return (k, rows) if is_k_major(description, name) else (rows, k)


def row_elements(operand: Operand, contiguous: Any) -> Any:
    """The leading dimension of the copy, in elements."""
    elements = vector(operand)
    return (contiguous + (elements - 1)) // elements * elements
