"""The wheel's `convert-math-to-funcs`, upstream MLIR's pass of that name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir.mlir import ir
from cutecc.passes.base import ModulePass
from cutecc.passes.nvidia.reimplementations.unmodelled import refuse
from cutecc.passes.registry import register
from cutecc.record import Provider


@register
@dataclass(frozen=True)
class ConvertMathToFuncs(ModulePass):
    """Leave the module alone; refuse integer powers.

    Upstream's pass turns `math.ipowi` and `math.fpowi` into calls of functions that it adds to the module. In a kernel
    such a call has no callee, since the functions stand outside the `gpu.module`: the DSL does not trace to them.
    """

    name: ClassVar[str] = "convert-math-to-funcs"
    provider: ClassVar[Provider] = "reimplementation"

    convert_ctlz: bool = False
    """Convert `math.ctlz` too."""
    min_width_of_fpowi_exponent: int = 1
    """Leave `math.fpowi` with a narrower exponent alone."""

    def run(self, module: ir.Module) -> None:
        refuse(module, self.name, {"math.ipowi", "math.fpowi", *({"math.ctlz"} if self.convert_ctlz else set())})
