"""The wheel's `lir-auto-predication`, where it cannot be followed by passes that run on their own."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir.mlir import ir, passmanager
from cutecc.passes.base import ModulePass
from cutecc.passes.nvidia.standins.lir_pipeline_to_nvvm import LirPipelineToNvvm
from cutecc.passes.registry import register
from cutecc.record import Provider


@register
@dataclass(frozen=True)
class LirAutoPredication(ModulePass):
    """Guard copies at the edges of tensors; where there are any, lower the `lir` functions to the end in the same step.

    The wheel registers this pass, but it is not idempotent: run again it guards every copy a second time. And
    `lir-pipeline-to-nvvm` can only be reached by running all passes before it again. So a module that this pass changes
    enters the composite here, before the change, and one that it leaves alone enters it there.
    """

    name: ClassVar[str] = "lir-auto-predication"
    provider: ClassVar[Provider] = "composite"
    anchors: ClassVar[tuple[str, ...]] = ("gpu.module", "lir.func")

    require_explicit_predication_origin: bool = True
    """Guard only copies whose kernel marks where the tensors begin."""

    def run(self, module: ir.Module) -> None:
        before = _bytecode(module)
        trial = ir.Module.parse(before, module.context)
        option = f"require-explicit-predication-origin={str(self.require_explicit_predication_origin).lower()}"
        text = f"builtin.module(gpu.module(lir.func(lir-auto-predication{{{option}}})))"
        manager = passmanager.PassManager.parse(text, module.context)
        manager.enable_verifier(False)
        reference = _bytecode(trial)
        manager.run(trial.operation)
        if _bytecode(trial) != reference:
            LirPipelineToNvvm().run(module)


def _bytecode(module: ir.Module) -> bytes:
    buffer = io.BytesIO()
    module.operation.write_bytecode(buffer)
    return buffer.getvalue()
