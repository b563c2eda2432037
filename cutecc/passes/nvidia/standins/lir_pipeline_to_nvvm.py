"""The wheel's `lir-pipeline-to-nvvm`, run by the wheel itself together with what follows it for `lir` functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from cutecc.errors import PassError
from cutecc.ir.mlir import ir, passmanager
from cutecc.passes.base import ModulePass
from cutecc.passes.registry import register
from cutecc.record import Provider


@register
@dataclass(frozen=True)
class LirPipelineToNvvm(ModulePass):
    """Lower `lir.func` from its pipelines on: a composite of all passes from this one to the end of `lir-to-cute-dsl`.

    The wheel registers only `lir-to-cute-dsl`, which enters with the twelve passes that have run already and change
    nothing any more, and cannot be stopped cleanly on the way: `lir-to-cute-conversion` edits operations in place
    before it fails. The passes that follow in the pipeline find no `lir` operation left and change nothing. Observed:
    the module is that of the uninterrupted run (nvidia-cutlass-dsl 4.8.1).
    """

    name: ClassVar[str] = "lir-pipeline-to-nvvm"
    provider: ClassVar[Provider] = "composite"
    anchors: ClassVar[tuple[str, ...]] = ("gpu.module", "lir.func")

    def run(self, module: ir.Module) -> None:
        if not _has_lir_function(module):
            return
        manager = passmanager.PassManager.parse("builtin.module(lir-to-cute-dsl)", module.context)
        manager.enable_verifier(False)
        try:
            manager.run(module.operation)
        except ir.MLIRError as failure:
            raise PassError(str(failure)[:2000], pass_name=self.name) from None


def _has_lir_function(module: ir.Module) -> bool:
    return any(
        nested.operation.name == "lir.func"
        for op in module.body.operations
        if op.operation.name == "gpu.module"
        for nested in _operations(op)
    )


def _operations(device_module: Any) -> Any:
    return device_module.operation.regions[0].blocks[0].operations
