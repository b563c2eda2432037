"""Slices and views become pointers and layouts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir.mlir import ir
from cutecc.passes.base import ModulePass
from cutecc.passes.lowering.values.materialize import Materialization
from cutecc.passes.lowering.values.semantics import ALGEBRA, REPACKING
from cutecc.passes.registry import register


@register
@dataclass(frozen=True)
class UnfoldTensors(ModulePass):
    """Write parts and other views of tensors as a pointer, which moves, and the numbers of a layout.

    A slice fixes some modes: their share of the offset moves the pointer, or the first coordinate of a tensor of
    coordinates. A division, a composition or a grouping of modes leaves it where it is.
    """

    name: ClassVar[str] = "unfold-tensors"
    lowers: ClassVar[tuple[str, ...]] = (*ALGEBRA, *REPACKING)

    def run(self, module: ir.Module) -> None:
        Materialization(ALGEBRA, REPACKING).run(module)
