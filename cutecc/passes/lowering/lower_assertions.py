"""Assertions become a message and a trap, or nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from cutecc.ir import editing
from cutecc.ir.mlir import ir
from cutecc.ir.walking import walk
from cutecc.passes.base import ModulePass
from cutecc.passes.debug_counter import limited
from cutecc.passes.lowering.values.host import device_modules
from cutecc.passes.lowering.values.integers import computed, constant
from cutecc.passes.lowering.values.loops import only_if
from cutecc.passes.registry import register


@register
@dataclass(frozen=True)
class LowerAssertions(ModulePass):
    """Drop the assertions of a kernel, or check them: print the message and stop the kernel where one fails."""

    name: ClassVar[str] = "lower-assertions"

    check: bool = False
    """Check them."""

    def run(self, module: ir.Module) -> None:
        for device in device_modules(module):
            for assertion in limited(walk(device, "cf.assert")):
                if self.check:
                    with ir.InsertionPoint(assertion), assertion.location:
                        _check(assertion.operands[0], assertion.attributes["msg"].value)
                editing.erase(assertion)


def _check(holds: ir.Value, message: str) -> None:
    with only_if(computed("arith.xori", holds, constant(1, 1))):
        # A percent sign in the message is no format.
        text: dict[str, Any] = {"format": ir.StringAttr.get(message.replace("%", "%%") + "\n")}
        ir.Operation.create("gpu.printf", attributes=text)
        ir.Operation.create("llvm.intr.trap")
