"""Inline assembly: instructions that MLIR has no operation for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cutecc.ir.mlir import ir
from cutecc.passes.lowering.values import llvm_types


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
    types = list(results)
    attributes: dict[str, Any] = {
        "asm_string": ir.StringAttr.get(text),
        "constraints": ir.StringAttr.get(",".join(constraints)),
        "asm_dialect": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0),
    }
    if side_effects:
        attributes["has_side_effects"] = ir.UnitAttr.get()
    whole = types if len(types) < 2 else [llvm_types.struct(types)]
    operation = ir.Operation.create("llvm.inline_asm", whole, list(operands), attributes=attributes)
    return members(operation.result, types) if len(types) > 1 else list(operation.results)


def members(struct: ir.Value, types: Sequence[ir.Type]) -> list[ir.Value]:
    """The members of an LLVM struct."""
    return [
        ir.Operation.create(
            "llvm.extractvalue", [type], [struct], attributes={"position": ir.DenseI64ArrayAttr.get([index])}
        ).result
        for index, type in enumerate(types)
    ]
