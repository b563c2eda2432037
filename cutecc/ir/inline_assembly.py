"""Inline assembly: instructions that MLIR has no operation for."""

from __future__ import annotations

from collections.abc import Sequence

from cutecc.ir import llvm_types
from cutecc.ir.mlir import ir, llvm
from cutecc.ir.structs import members

_ATT = 0
"""The dialect of assembly that LLVM assumes."""


def inline_assembly(
    text: str,
    constraints: Sequence[str],
    results: Sequence[ir.Type],
    operands: Sequence[ir.Value],
    *,
    side_effects: bool = True,
) -> list[ir.Value]:
    """`llvm.inline_asm`, and what it gives.

    `text` names results and operands `$0`, `$1`, …, in the order of their LLVM `constraints`. One without
    `side_effects` goes where nobody uses its results, and two that are equal are one.
    """
    given = inline_assembly_whole(text, constraints, results, operands, side_effects=side_effects)
    return members(given[0], results) if len(results) > 1 else given


def inline_assembly_whole(
    text: str,
    constraints: Sequence[str],
    results: Sequence[ir.Type],
    operands: Sequence[ir.Value],
    *,
    side_effects: bool = True,
) -> list[ir.Value]:
    """The same, with several results in one struct."""
    type = llvm_types.struct(results) if len(results) > 1 else next(iter(results), None)
    joined = ",".join(constraints)
    given = llvm.inline_asm(type, operands, text, joined, has_side_effects=side_effects, asm_dialect=_ATT)
    return [given] if results else []
