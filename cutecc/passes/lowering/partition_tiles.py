"""Tiled copies and matrix products become what each thread has of a tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir.mlir import ir
from cutecc.passes.base import ModulePass
from cutecc.passes.lowering.values.materialize import Materialization
from cutecc.passes.lowering.values.semantics import PARTITIONING, RETILING, SEMANTICS
from cutecc.passes.registry import register


@register
@dataclass(frozen=True)
class PartitionTiles(ModulePass):
    """Compute what a thread has of a tensor in a tiled copy or matrix product: its pointer and layout.

    The tensor is divided by the tile, the tile is looked at by thread and value, and the thread is fixed
    (`cutecc.layout.tiled`).
    """

    name: ClassVar[str] = "partition-tiles"
    lowers: ClassVar[tuple[str, ...]] = (*PARTITIONING, *RETILING)

    def run(self, module: ir.Module) -> None:
        Materialization({name: SEMANTICS[name] for name in PARTITIONING}, RETILING).run(module)
