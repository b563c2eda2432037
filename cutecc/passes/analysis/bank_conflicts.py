"""Find accesses of shared memory that take more wavefronts than their bytes need."""

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
class CheckBankConflicts(AnalysisPass):
    """Remark on bank conflicts: the wavefronts, passes over the 32 banks, that a warp's requests of shared memory take.

    Of loads and stores of any width, `ldmatrix` and `stmatrix`, atomic operations, and what `cp.async` writes; their
    addresses are computed and counted as `check-coalescing` does. TMA and `wgmma` are no requests of a warp's threads.
    """

    name: ClassVar[str] = "check-bank-conflicts"
    looks_after: ClassVar[str | None] = "strength-reduction"
    in_open: ClassVar[str | None] = "loop-invariant-code-motion"

    all: bool = False
    """Also say what accesses take that need it."""

    def run(self, module: ir.Module) -> None:
        for kernel in analyse(WarpRequests, module).kernels:
            check(kernel, "shared", "wavefronts", everything=self.all)
