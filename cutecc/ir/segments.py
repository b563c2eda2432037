"""The operands of operations that have several groups of them, such as the sources and destinations of a copy."""

from __future__ import annotations

from cutecc.ir.mlir import ir

SEGMENTS = "operandSegmentSizes"
"""The attribute that says how many operands each group has."""


def segments(operation: ir.Operation) -> list[list[ir.Value]]:
    """The operands in their groups."""
    operands = list(operation.operands)
    found: list[list[ir.Value]] = []
    for size in ir.DenseI32ArrayAttr(operation.attributes[SEGMENTS]):
        found.append(operands[:size])
        operands = operands[size:]
    return found
