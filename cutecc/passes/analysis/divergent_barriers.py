"""Find barriers that not all threads they wait for can reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir.constants import constant_of
from cutecc.ir.mlir import ir
from cutecc.passes.analysis.base import AnalysisPass
from cutecc.passes.analysis.device_code import by_kernel, walk_device
from cutecc.passes.analysis.divergence import Divergence
from cutecc.passes.analysis.equality import Equality
from cutecc.passes.analysis.loops import enclosing
from cutecc.passes.analysis.reaching import BETWEEN, WARP, Condition, Reach, values_of
from cutecc.passes.diagnostics import warning
from cutecc.passes.registry import register

_SYNC, _ARRIVE, _CLUSTER = "nvvm.barrier", "nvvm.barrier.arrive", "nvvm.cluster.arrive"
_CLUSTER_NAMES = (_CLUSTER, "nvvm.cluster.arrive.relaxed")
_BARRIERS = (_SYNC, _ARRIVE, *_CLUSTER_NAMES)


@register
@dataclass(frozen=True)
class CheckDivergentBarriers(AnalysisPass):
    """Warn of barriers in a branch or loop that not all threads take alike, and of those that too few can reach.

    Branches of whole warps are fine for barriers of that many threads, and where both branches have the barrier.
    """

    name: ClassVar[str] = "check-divergent-barriers"
    looks_after: ClassVar[str | None] = None

    def run(self, module: ir.Module) -> None:
        for barriers in by_kernel(walk_device(module, *_BARRIERS)):
            values, equality = values_of(barriers[0]), Equality()
            reaches = (Reach.of(each, values, of_cluster=each.name in _CLUSTER_NAMES) for each in barriers)
            _check_kernel([_Barrier(each, reach, equality) for each, reach in zip(barriers, reaches, strict=True)])


@dataclass(frozen=True)
class _Barrier:
    """A barrier and the way to it."""

    operation: ir.Operation
    reach: Reach
    equality: Equality
    """Of the kernel's values: loops hand the numbers of a `NamedBarrier` on."""

    @property
    def expected(self) -> int | None:
        """The number of threads that it is for, where that is a constant."""
        operands = list(self.operation.operands)
        if self.operation.name in _CLUSTER_NAMES or len(operands) < 2:
            return None
        return constant_of(self.equality.origin(operands[1]))

    @property
    def identifier(self) -> int | None:
        """Its number; `None` when it is computed."""
        return self.identifier_of(self.operation)

    def identifier_of(self, operation: ir.Operation) -> int | None:
        """The number of another barrier of the kernel."""
        operands = list(operation.operands)
        return constant_of(self.equality.origin(operands[0])) if operands else 0

    def is_like(self, operation: ir.Operation) -> bool:
        """Whether `operation` is such a barrier, of the same number."""
        return operation.name == self.operation.name and self.identifier_of(operation) == self.identifier


def _check_kernel(barriers: Sequence[_Barrier]) -> None:
    for barrier in barriers:
        arriving = barrier.reach.may_arrive()
        if arriving is not None and not arriving:
            continue
        for condition in barrier.reach.conditions:
            if _is_wrong(barrier, condition):
                _say_divergent(barrier, condition, arriving)
                break
    by_identifier: dict[int | None, list[_Barrier]] = {}
    for barrier in barriers:
        if barrier.operation.name not in _CLUSTER_NAMES and len(barrier.operation.operands) >= 1:
            by_identifier.setdefault(barrier.identifier, []).append(barrier)
    # One whose identifier is computed may be any of them.
    if None not in by_identifier:
        for number, same in by_identifier.items():
            _check_counts(number, same)


def _is_wrong(barrier: _Barrier, condition: Condition) -> bool:
    """Whether this condition keeps threads from a barrier that waits for them."""
    is_cluster = barrier.operation.name in _CLUSTER_NAMES
    if condition.divergence < (Divergence.BLOCKS if is_cluster else Divergence.WARPS):
        return False
    if barrier.expected is not None:
        # Which warps come is for the counts to say; that warps come whole is not.
        return condition.divergence == Divergence.LANES
    if condition.divergence == Divergence.LANES and barrier.operation.name != _CLUSTER:
        return True
    return condition.is_loop or not _both_branches_have(condition.around, barrier)


def _check_counts(number: int | None, barriers: Sequence[_Barrier]) -> None:
    """Warn of a barrier for more threads than can ever come to those of its identifier, `number`."""
    first = next((each for each in barriers if each.operation.name == _SYNC), None)
    if first is None or (expected := first.expected) is None or any(each.expected != expected for each in barriers):
        return
    waiting: set[int] = set()
    arriving = 0
    for barrier in barriers:
        threads = barrier.reach.may_arrive()
        in_loop = any(each.name != "scf.if" for each in enclosing(barrier.operation))
        if threads is None or (barrier.operation.name == _ARRIVE and in_loop):
            return
        if barrier.operation.name == _ARRIVE:
            arriving += len(threads)
        else:
            waiting |= threads
    total = arriving + len(waiting)
    if 0 < total < expected:
        # Barriers count whole warps (PTX ISA, "bar").
        fewer = "" if total % WARP else f"count those, number_of_threads={total}, or "
        warning(
            first.operation,
            f"barrier {number} waits for {expected} threads, and at most {total} come to it: "
            f"{fewer}let the others come too",
            {"threads expected": expected, "threads arriving": total},
        )


def _say_divergent(barrier: _Barrier, condition: Condition, arriving: set[int] | None) -> None:
    what = "the cluster's barrier" if barrier.operation.name in _CLUSTER_NAMES else "a barrier"
    between = BETWEEN[condition.divergence]
    numbers: dict[str, int | float | str] = {"between": between}
    reached = ""
    if arriving is not None and barrier.reach.values and len(arriving) < barrier.reach.values.threads:
        reached = f"; {len(arriving)} of {barrier.reach.values.threads} threads reach it"
        numbers |= {"threads arriving": len(arriving), "threads": barrier.reach.values.threads}
    advice = "move it out of the branch" if not condition.is_loop else "make all threads take as many rounds"
    warning(
        barrier.operation,
        f"{what} inside {condition.described(barrier.operation)}, whose condition differs between {between}{reached}: "
        f"{advice}",
        numbers,
    )


def _both_branches_have(branch: ir.Operation, barrier: _Barrier) -> bool:
    """Whether warps that take either branch come to as many barriers like this one."""
    counts = [_count(region, barrier) for region in branch.regions]
    return len(counts) == 2 and counts[0] == counts[1]


def _count(region: ir.Region, barrier: _Barrier) -> int:
    """How many barriers like `barrier` a way through `region` has; of branches in it, the one with most counts."""
    found = 0
    for block in region.blocks:
        for each in block.operations:
            operation = each.operation
            if barrier.is_like(operation):
                found += 1
            elif len(operation.regions):
                found += max(_count(inner, barrier) for inner in operation.regions)
    return found
