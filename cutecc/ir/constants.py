"""Numbers that a module says."""

from __future__ import annotations

from cutecc.ir.mlir import ir


def constant_of(value: ir.Value) -> int | None:
    """The integer that `value` is, 1 for a truth; `None` when it is no constant."""
    if isinstance(value.owner, ir.Block) or value.owner.operation.name != "arith.constant":
        return None
    attribute = value.owner.operation.attributes["value"]
    if isinstance(attribute, ir.BoolAttr):
        return int(ir.BoolAttr(attribute).value)
    return ir.IntegerAttr(attribute).value if isinstance(attribute, ir.IntegerAttr) else None
