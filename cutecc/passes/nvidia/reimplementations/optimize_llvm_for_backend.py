"""The wheel's `optimize-llvm-for-backend`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir.mlir import ir
from cutecc.passes.nesting import OperationPass
from cutecc.passes.registry import register
from cutecc.record import Provider


@register
@dataclass(frozen=True)
class OptimizeLlvmForBackend(OperationPass):
    """Leave the module alone.

    Observed: on every lowered kernel module compared, the IR behind it is that of the registered passes around it.
    """

    name: ClassVar[str] = "optimize-llvm-for-backend"
    provider: ClassVar[Provider] = "reimplementation"
    runs_on: ClassVar[tuple[str, ...]] = ("gpu.module",)

    def run(self, operation: ir.Operation) -> None:
        del operation
