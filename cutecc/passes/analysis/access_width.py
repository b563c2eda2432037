"""Find accesses of global and shared memory that move fewer bits at once than they could."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir.mlir import ir
from cutecc.passes.analysis.base import AnalysisPass
from cutecc.passes.analysis.device_code import walk_device
from cutecc.passes.analysis.element_accesses import ELEMENT_ACCESSES, element_groups
from cutecc.passes.analysis.vector_width import Narrowing, copy_width
from cutecc.passes.diagnostics import remark
from cutecc.passes.registry import register

_COPIES = ("cute.copy", "lir.simt_auto_vec_copy")


@register
@dataclass(frozen=True)
class CheckAccessWidth(AnalysisPass):
    """Remark on copies, loads and stores that are narrower than layout, alignment and type of the data allow.

    Of a thread's accesses; how those of a warp fall together is `check-coalescing`'s. Copies that other units do (TMA,
    `ldmatrix`, `stmatrix`, tensor memory) have the width of their instruction and are left out.
    """

    name: ClassVar[str] = "check-access-width"
    looks_after: ClassVar[str | None] = None

    def run(self, module: ir.Module) -> None:
        accesses: list[ir.Operation] = []
        for operation in walk_device(module, *_COPIES, *ELEMENT_ACCESSES):
            if operation.name not in _COPIES:
                accesses.append(operation)
            elif narrowing := copy_width(operation):
                _say(operation, "copy", narrowing)
        for group in element_groups(accesses):
            _say(group.first, group.what, group.narrowing)


def _say(operation: ir.Operation, what: str, found: Narrowing) -> None:
    at_once = "one element" if found.bits == found.element_bits else f"{found.bits // found.element_bits} elements"
    remark(
        operation,
        f"{what} of {found.element} in {found.space} memory moves {found.bits} bits at a time, {at_once}, where "
        f"{found.possible_bits} are possible: {found.why}",
        {"bits": found.bits, "possible bits": found.possible_bits, "reason": found.reason},
    )
