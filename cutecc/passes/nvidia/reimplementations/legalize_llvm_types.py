"""The wheel's `legalize-llvm-types`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir.mlir import ir
from cutecc.passes.base import ModulePass
from cutecc.passes.registry import register
from cutecc.record import Provider


@register
@dataclass(frozen=True)
class LegalizeLlvmTypes(ModulePass):
    """Leave the module alone.

    Observed: on the IR that reaches it, `strength-reduction` through `one-shot-convert-to-llvm` give the wheel's module
    without it; narrow floating-point types are legalised by `core-to-llvm-prepare`.
    """

    name: ClassVar[str] = "legalize-llvm-types"
    provider: ClassVar[Provider] = "reimplementation"

    def run(self, module: ir.Module) -> None:
        del module
