"""How a reimplementation says that it meets an operation whose rewrite it does not know."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from cutecc.errors import PassError
from cutecc.ir.mlir import ir


def refuse(module: ir.Module, pass_name: str, names: Set[str]) -> None:
    """Raise `PassError` when `module` holds an operation in `names`."""

    def visit(op: Any) -> Any:
        name = op.operation.name
        if name in names:
            raise PassError(
                f"cutecc does not know what the wheel's hidden pass '{pass_name}' makes of '{name}'",
                hints=["compile this kernel with the pipeline `open`, or with the stock compiler"],
            )
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
