"""Operands of `wgmma` that are copied to the workspace first, and how. Needs no DSL.

| what is copied | why | its copy |
|---|---|---|
| what is aligned to less than 16 bytes | TMA cannot read it | the same with longer lines |
| what is contiguous along M or N, but of 16-bit elements | `wgmma` reads it along K only | contiguous along K |

A line is what is contiguous in memory: a row of a row-major matrix. Those of a copy are filled up with zeros to whole
vectors of 16 bytes.

A copy takes as many bytes again as the operand has: little next to the products of each element with a whole row or
column of the other, where both are large.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cutecc.operations.description import GemmDescription
from cutecc.operations.operand import WIDEST_ALIGNMENT, Operand

WGMMA_EITHER_WAY_BITS = 16
"""Elements that `wgmma` reads along K and along the rows; all others along K only."""


@dataclass(frozen=True)
class OperandCopy:
    """The copy of one operand."""

    name: str
    """`a` or `b`."""
    operand: Operand
    """What is copied."""
    rows_axis: int
    """Of (M, N, K): which one the operand has besides K."""
    is_k_major: bool
    """Whether the operand is contiguous along K."""
    is_transposed: bool
    """Whether its copy is contiguous along the other extent; else only its alignment differs."""

    @property
    def vector(self) -> int:
        """Elements of 16 bytes."""
        return WIDEST_ALIGNMENT * 8 // self.operand.bits

    def source_extents(self, m: Any, n: Any, k: Any) -> tuple[Any, Any]:
        """(length of a line, lines) of the operand."""
        rows = (m, n, k)[self.rows_axis]
        return (k, rows) if self.is_k_major else (rows, k)

    def extents(self, m: Any, n: Any, k: Any) -> tuple[Any, Any]:
        """(length of a line, lines) of the copy, without what fills a line up."""
        length, lines = self.source_extents(m, n, k)
        return (lines, length) if self.is_transposed else (length, lines)

    def vectors(self, m: Any, n: Any, k: Any) -> Any:
        """How often 16 bytes a line of the copy has."""
        return (self.extents(m, n, k)[0] + (self.vector - 1)) // self.vector

    def bytes(self, m: Any, n: Any, k: Any, batches: Any) -> Any:
        """What the copy takes in the workspace."""
        return self.vectors(m, n, k) * self.extents(m, n, k)[1] * batches * WIDEST_ALIGNMENT


def operand_copies(description: GemmDescription) -> list[OperandCopy]:
    """What is copied before the kernel of a description, as it is compiled, runs."""
    if description.family != "sm90":
        return []
    found: list[OperandCopy] = []
    for axis, (name, operand) in enumerate((("a", description.a), ("b", description.b))):
        is_k_major = operand.layout == ("row", "column")[axis]
        is_transposed = not is_k_major and operand.bits != WGMMA_EITHER_WAY_BITS
        if is_transposed or operand.alignment_bytes < WIDEST_ALIGNMENT:
            found.append(OperandCopy(name, operand, axis, is_k_major, is_transposed))
    return found


def is_read_along_k(description: GemmDescription, name: str) -> bool:
    """Whether what `wgmma` reads of `a` or `b`, the operand or its copy, is contiguous along K."""
    operand, along_k = (description.a, "row") if name == "a" else (description.b, "column")
    return operand.layout == along_k or operand.bits != WGMMA_EITHER_WAY_BITS


def copied_bytes(description: GemmDescription, m: int, n: int, k: int, batches: int = 1) -> int:
    """Bytes that the copies write before the kernel runs; as many are read."""
    return sum(each.bytes(m, n, k, batches) for each in operand_copies(description))
