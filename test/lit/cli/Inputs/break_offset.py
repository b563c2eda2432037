"""A lowering that is wrong: the first offset that is added to a pointer is the neighbour of the right one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir.mlir import ir
from cutecc.ir.walking import walk
from cutecc.passes import ModulePass, register


@register
@dataclass(frozen=True)
class BreakOffset(ModulePass):
    """Flip the lowest bit of the first offset in a kernel."""

    name: ClassVar[str] = "break-offset"

    def run(self, module: ir.Module) -> None:
        for device in walk(module, "gpu.module"):
            for step in walk(device, "llvm.getelementptr"):
                if len(step.operands) > 1:
                    offset = step.operands[1]
                    value = {"value": ir.IntegerAttr.get(offset.type, 1)}
                    with ir.InsertionPoint(step), step.location:
                        one = ir.Operation.create("arith.constant", [offset.type], attributes=value).result
                        step.operands[1] = ir.Operation.create("arith.xori", [offset.type], [offset, one]).result
                    return
