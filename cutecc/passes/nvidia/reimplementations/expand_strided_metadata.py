"""The wheel's `expand-strided-metadata`, upstream MLIR's pass of that name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir.mlir import ir
from cutecc.passes.base import ModulePass
from cutecc.passes.registry import register
from cutecc.record import Provider


@register
@dataclass(frozen=True)
class ExpandStridedMetadata(ModulePass):
    """Leave the module alone: upstream's pass rewrites operations on memrefs, a dialect that the wheel lacks."""

    name: ClassVar[str] = "expand-strided-metadata"
    provider: ClassVar[Provider] = "reimplementation"

    def run(self, module: ir.Module) -> None:
        del module
