"""Assertions become a message and a trap, or nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir.mlir import gpu, ir, llvm
from cutecc.passes.base import ModulePass
from cutecc.passes.lowering.values.host import device_modules
from cutecc.passes.lowering.values.integers import computed, constant
from cutecc.passes.lowering.values.loops import only_if
from cutecc.passes.registry import register
from cutecc.passes.rewriting import Rewriter, rewrite, rewrites


@register
@dataclass(frozen=True)
class LowerAssertions(ModulePass):
    """Drop the assertions of a kernel, or check them: print the message and stop the kernel where one fails."""

    name: ClassVar[str] = "lower-assertions"

    check: bool = False
    """Check them."""

    def run(self, module: ir.Module) -> None:
        for device in device_modules(module):
            rewrite(device, [self.lower], once=True)

    @rewrites("cf.assert")
    def lower(self, assertion: ir.Operation, rewriter: Rewriter) -> None:
        if self.check:
            _check(assertion.operands[0], assertion.attributes["msg"].value)
        rewriter.erase(assertion)


def _check(holds: ir.Value, message: str) -> None:
    with only_if(computed("arith.xori", holds, constant(1, 1))):
        # A percent sign in the message is no format.
        gpu.printf(message.replace("%", "%%") + "\n")
        llvm.intr_trap()
