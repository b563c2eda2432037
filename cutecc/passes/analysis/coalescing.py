"""Find accesses of global memory that touch more sectors than their bytes need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir.mlir import ir
from cutecc.passes.analyses import analyse
from cutecc.passes.analysis.base import AnalysisPass
from cutecc.passes.analysis.excess import check
from cutecc.passes.analysis.requests import WarpRequests
from cutecc.passes.registry import register


@register
@dataclass(frozen=True)
class CheckCoalescing(AnalysisPass):
    """Remark on strided and misaligned accesses of global memory: the sectors of 32 bytes that a warp's requests touch.

    Addresses of all threads of two blocks are computed from the lowered kernel, and counted by the rules by which the
    emulator counts. For sizes and strides of a launch stands a large number with round bits, which the remark names
    where it matters; pointers count as aligned. Accesses whose addresses depend on what is in memory are left out, and
    their number is said.
    """

    name: ClassVar[str] = "check-coalescing"
    looks_after: ClassVar[str | None] = "strength-reduction"
    in_open: ClassVar[str | None] = "loop-invariant-code-motion"

    all: bool = False
    """Also say what accesses take that need it."""

    def run(self, module: ir.Module) -> None:
        for kernel in analyse(WarpRequests, module).kernels:
            check(kernel, "global", "sectors", everything=self.all)
