"""Find bulk copies that more than one thread issues, each a copy of its own of the same bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir.mlir import ir
from cutecc.ir.types import CopyAtom, view
from cutecc.passes.analysis.base import AnalysisPass
from cutecc.passes.analysis.device_code import by_kernel, walk_device
from cutecc.passes.analysis.divergence import Divergence, divergence_of
from cutecc.passes.analysis.reaching import WARP, Reach, values_of
from cutecc.passes.diagnostics import warning
from cutecc.passes.registry import register

_COUNTED = "an mbarrier counts the bytes of each"
_BY_THREADS = {
    "bulk_copy_g2s": _COUNTED,
    "bulk_copy_s2s": _COUNTED,
    "bulk_copy_s2g": "the same is written again and again",
}
"""Each thread that comes issues one; what comes of it."""
_BY_WARPS = {"tma_load": _COUNTED, "im2col_tma_load": _COUNTED, "tma_reduce": "each adds to what the others have left"}
"""CuTe elects a thread of each warp that comes. A `tma_store` is left out: kernels have a whole warp store the same."""


@register
@dataclass(frozen=True)
class CheckBulkCopies(AnalysisPass):
    """Warn of bulk copies, and loads through the TMA, that several threads issue although one does for all."""

    name: ClassVar[str] = "check-bulk-copies"
    looks_after: ClassVar[str | None] = None

    def run(self, module: ir.Module) -> None:
        for copies in by_kernel(walk_device(module, "cute.copy")):
            values = values_of(copies[0])
            for copy in copies:
                atom = view(copy.operands[0].type)
                kind = f"{atom.kind}" if isinstance(atom, CopyAtom) else ""
                if values is not None and (harm := _BY_THREADS.get(kind) or _BY_WARPS.get(kind)):
                    _check(copy, Reach.of(copy, values), harm, by_warps=kind in _BY_WARPS)


_ONE_WARP = "let one warp come: if warp_idx == 0"
_ONE_THREAD = "let one thread issue it: with cute.arch.elect_one()"


def _check(copy: ir.Operation, reach: Reach, harm: str, *, by_warps: bool) -> None:
    if any(each.values is None for each in reach.conditions):
        # A condition that is not known may leave one thread.
        return
    arriving = reach.may_arrive() or set()
    # Threads with a place or a barrier of their own each have a copy of their own.
    own = max(divergence_of(each) for each in copy.operands)
    warps = {thread // WARP for thread in arriving}
    lanes = max((sum(thread // WARP == warp for thread in arriving) for warp in warps), default=0)
    too_many_lanes = not by_warps and lanes > 1 and own < Divergence.LANES
    too_many_warps = len(warps) > 1 and own < Divergence.WARPS
    if not (too_many_lanes or too_many_warps):
        return
    numbers = {"threads arriving": len(arriving), "warps arriving": len(warps)}
    if by_warps:
        what, mend = f"{len(warps)} warps come to this tensor copy, and each issues it", _ONE_WARP
    elif too_many_warps:
        what, mend = (
            f"{len(arriving)} threads issue this bulk copy, of the same bytes each",
            f"{_ONE_THREAD}, if warp_idx == 0",
        )
    else:
        what, mend = f"{lanes} threads of a warp issue this bulk copy, of the same bytes each", _ONE_THREAD
    warning(copy, f"{what}; {harm}: {mend}", numbers)
