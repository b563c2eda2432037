"""Find operations of a whole warp that only some of its lanes come to."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir.constants import constant_of
from cutecc.ir.mlir import ir
from cutecc.passes.analysis.base import AnalysisPass
from cutecc.passes.analysis.device_code import by_kernel, walk_device
from cutecc.passes.analysis.divergence import Divergence
from cutecc.passes.analysis.reaching import WARP, Condition, Reach, values_of
from cutecc.passes.diagnostics import warning
from cutecc.passes.registry import register

_ALL = (1 << WARP) - 1
_UNIFORM, _ELECT = "cute_nvgpu.arch.make_warp_uniform", "nvvm.elect.sync"
_WHAT = {
    _UNIFORM: "a shuffle, as warp_idx() and make_warp_uniform() are,",
    _ELECT: "elect_one()",
    "nvvm.shfl.sync": "a shuffle",
    "nvvm.vote.sync": "a vote",
    "nvvm.match.sync": "a match",
    "nvvm.redux.sync": "a reduction by redux",
    "nvvm.bar.warp.sync": "sync_warp()",
    "nvvm.wgmma.fence.aligned": "a wgmma fence",
    "nvvm.wgmma.commit.group.sync.aligned": "a wgmma commit",
    "nvvm.wgmma.wait.group.sync.aligned": "a wgmma wait",
    "nvvm.setmaxregister": "setmaxregister",
}
_COLLECTIVE = {
    "cute.gemm": ("cute_nvgpu.sm80.mma", "cute_nvgpu.sm89.mma", "cute_nvgpu.sm90.mma", "cute_nvgpu.sm120.mma"),
    "cute.copy": ("cute_nvgpu.atom.ldsm", "cute_nvgpu.atom.stsm"),
}
"""Operations that belong to a warp for some of their atoms."""


@register
@dataclass(frozen=True)
class CheckPartialWarps(AnalysisPass):
    """Warn of shuffles, votes, elections and other operations of a warp in code that not all lanes they name reach."""

    name: ClassVar[str] = "check-partial-warps"
    looks_after: ClassVar[str | None] = None

    def run(self, module: ir.Module) -> None:
        for operations in by_kernel(walk_device(module, *_WHAT, *_COLLECTIVE)):
            values = values_of(operations[0])
            for operation in operations:
                mask = _named(operation)
                if mask is not None:
                    _check(operation, mask, Reach.of(operation, values))


def _named(operation: ir.Operation) -> int | None:
    """The mask of the lanes that an operation waits for; `None` when it is computed, or there is no operation."""
    if atoms := _COLLECTIVE.get(operation.name):
        return _ALL if any(atom in str(operation.operands[0].type) for atom in atoms) else None
    operands = list(operation.operands)
    if operation.name in ("nvvm.shfl.sync", "nvvm.vote.sync", "nvvm.match.sync", "nvvm.bar.warp.sync"):
        mask = constant_of(operands[0])
    elif operation.name == "nvvm.redux.sync":
        mask = constant_of(operands[1])
    elif operation.name == _ELECT and operands:
        mask = constant_of(operands[0])
    else:
        mask = _ALL
    return None if mask is None else mask & _ALL


def _check(operation: ir.Operation, mask: int, reach: Reach) -> None:
    parting = [each for each in reach.conditions if each.divergence == Divergence.LANES]
    if not parting:
        return
    arriving = reach.may_arrive()
    unknown = next((each for each in parting if not _tells_who(each)), None)
    if unknown is not None:
        # Who is there is not known: of some lanes only, they may be those that are named.
        if mask == _ALL and (arriving is None or arriving):
            _say(operation, unknown, mask, None)
        return
    assert arriving is not None and reach.values is not None
    for present, wanted in _warps(arriving, mask, reach.values.threads):
        if present and not wanted <= present:
            _say(operation, parting[0], mask, present)
            return


def _tells_who(condition: Condition) -> bool:
    """Whether it is known for which threads it holds."""
    return not condition.is_loop and condition.values is not None


def _warps(arriving: Collection[int], mask: int, threads: int) -> Iterator[tuple[set[int], set[int]]]:
    """Of each warp, the lanes that arrive and those that the mask names."""
    for first in range(0, threads, WARP):
        lanes = range(min(WARP, threads - first))
        yield (
            {thread - first for thread in arriving if first <= thread < first + WARP},
            {lane for lane in lanes if mask >> lane & 1},
        )


def _say(operation: ir.Operation, condition: Condition, mask: int, present: set[int] | None) -> None:
    what = _what(operation)
    lanes = "all lanes of its warp" if mask == _ALL else f"the lanes of {mask:#010x}"
    which = "not all come there" if present is None else f"{len(present)} of 32 come there"
    numbers: dict[str, int | float | str] = {"lanes named": mask.bit_count()}
    if present is not None:
        numbers["lanes arriving"] = len(present)
    warning(
        operation,
        f"{what} of {lanes} inside {condition.described(operation)} whose condition differs between threads of a warp, "
        f"so that {which}: {_mend(operation, condition, present)}",
        numbers,
    )


def _what(operation: ir.Operation) -> str:
    if operation.name in _COLLECTIVE:
        return f"{operation.name} by instructions"
    return _WHAT[operation.name]


def _mend(operation: ir.Operation, condition: Condition, present: set[int] | None) -> str:
    if condition.is_loop:
        return "make all lanes take as many rounds"
    if operation.name in (_UNIFORM, _ELECT):
        return "call it before the branch, and use its result there"
    takes_mask = operation.name in ("nvvm.shfl.sync", "nvvm.vote.sync", "nvvm.redux.sync", "nvvm.bar.warp.sync")
    if takes_mask and present is not None:
        mask = sum(1 << lane for lane in present)
        return f"move it out of the branch, or name those that come, if the call takes a mask: mask={mask:#010x}"
    return "move it out of the branch"
