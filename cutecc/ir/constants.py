"""Numbers that a module says."""

from __future__ import annotations

from cutecc.ir.mlir import ir


def constant_of(value: ir.Value) -> int | None:
    """The integer that `value` is; `None` when it is no constant."""
    if isinstance(value.owner, ir.Block) or value.owner.operation.name != "arith.constant":
        return None
    attribute = value.owner.operation.attributes["value"]
    return ir.IntegerAttr(attribute).value if isinstance(attribute, ir.IntegerAttr) else None
