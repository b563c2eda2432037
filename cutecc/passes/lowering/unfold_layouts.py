"""The layout algebra becomes arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir.mlir import ir
from cutecc.ir.types import CoordTensor, MemRef, view
from cutecc.passes.base import ModulePass
from cutecc.passes.lowering.values.materialize import Materialization
from cutecc.passes.lowering.values.semantics import ALGEBRA, REPACKING
from cutecc.passes.registry import register


@register
@dataclass(frozen=True)
class UnfoldLayouts(ModulePass):
    """Compute layouts, shapes, coordinates and offsets: static ones become constants, dynamic ones `arith` operations.

    What an operation means is a function of cutecc's layout algebra; the numbers behind the `?` of its result are
    written out from those of its operands.
    """

    name: ClassVar[str] = "unfold-layouts"
    lowers: ClassVar[tuple[str, ...]] = (*ALGEBRA, *REPACKING)

    def run(self, module: ir.Module) -> None:
        Materialization(ALGEBRA, REPACKING).run(module, lambda operation: not gives_tensor(operation))


def gives_tensor(operation: ir.Operation) -> bool:
    """Whether a result of `operation` is a tensor, of memory or of coordinates."""
    return any(isinstance(view(result.type), MemRef | CoordTensor) for result in operation.results)
