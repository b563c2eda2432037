"""Find barriers that not all threads they wait for can reach."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from cutecc.errors import SourceLocation
from cutecc.ir.constants import constant_of
from cutecc.ir.editing import address_of
from cutecc.ir.locations import nearest_location
from cutecc.ir.mlir import ir
from cutecc.passes.analysis.base import AnalysisPass
from cutecc.passes.analysis.divergence import Divergence, divergence_of
from cutecc.passes.analysis.loops import deciding, enclosing
from cutecc.passes.analysis.per_thread import ThreadValues, Values, block_shape
from cutecc.passes.analysis.places import walk_device
from cutecc.passes.diagnostics import warning
from cutecc.passes.registry import register

_WARP = 32
_SYNC, _ARRIVE, _CLUSTER = "nvvm.barrier", "nvvm.barrier.arrive", "nvvm.cluster.arrive"
_CLUSTER_NAMES = (_CLUSTER, "nvvm.cluster.arrive.relaxed")
_BARRIERS = (_SYNC, _ARRIVE, *_CLUSTER_NAMES)
_BETWEEN = {
    Divergence.BLOCKS: "blocks of the cluster",
    Divergence.WARPS: "warps",
    Divergence.LANES: "threads of a warp",
}


@register
@dataclass(frozen=True)
class CheckDivergentBarriers(AnalysisPass):
    """Warn of barriers in a branch or loop that not all threads take alike, and of those that too few can reach.

    Branches of whole warps are fine for barriers of that many threads, and where both branches have the barrier.
    """

    name: ClassVar[str] = "check-divergent-barriers"
    looks_after: ClassVar[str | None] = None

    def run(self, module: ir.Module) -> None:
        kernels: dict[int, list[ir.Operation]] = {}
        for operation in walk_device(module, *_BARRIERS):
            kernels.setdefault(address_of(_function_of(operation)), []).append(operation)
        for barriers in kernels.values():
            shape = block_shape(_function_of(barriers[0]))
            values = ThreadValues(shape) if shape else None
            _check_kernel([_Barrier.of(each, values) for each in barriers])


@dataclass(frozen=True)
class _Condition:
    """A branch or loop around a barrier."""

    around: ir.Operation
    region: int
    values: Values | None
    """Of the branch's condition in each thread, where the thread alone decides."""
    divergence: Divergence
    """Between whom it can differ."""

    @property
    def is_loop(self) -> bool:
        return self.around.name != "scf.if"


@dataclass(frozen=True)
class _Barrier:
    """A barrier and the way to it."""

    operation: ir.Operation
    values: ThreadValues | None
    conditions: list[_Condition] = field(default_factory=list[_Condition])
    """Those that differ between threads, innermost first."""

    @classmethod
    def of(cls, operation: ir.Operation, values: ThreadValues | None) -> _Barrier:
        return cls(operation, values, list(_conditions(operation, values)))

    @property
    def expected(self) -> int | None:
        """The number of threads that it is for, where that is a constant."""
        operands = list(self.operation.operands)
        if self.operation.name in _CLUSTER_NAMES or len(operands) < 2:
            return None
        return constant_of(operands[1])

    def may_arrive(self) -> set[int] | None:
        """The threads that can come here; `None` where it is not known that some cannot."""
        if self.values is None:
            return None
        threads = set(range(self.values.threads))
        for each in self.conditions:
            if each.values is not None and not each.is_loop:
                threads &= {thread for thread in threads if bool(each.values[thread]) == (each.region == 0)}
        return threads


def _check_kernel(barriers: Sequence[_Barrier]) -> None:
    for barrier in barriers:
        arriving = barrier.may_arrive()
        if arriving is not None and not arriving:
            continue
        for condition in barrier.conditions:
            if _is_wrong(barrier, condition):
                _say_divergent(barrier, condition, arriving)
                break
    by_identifier: dict[int | None, list[_Barrier]] = {}
    for barrier in barriers:
        if barrier.operation.name not in _CLUSTER_NAMES and len(barrier.operation.operands) >= 1:
            by_identifier.setdefault(_identifier(barrier.operation), []).append(barrier)
    # One whose identifier is computed may be any of them.
    if None not in by_identifier:
        for number, same in by_identifier.items():
            _check_counts(number, same)


def _is_wrong(barrier: _Barrier, condition: _Condition) -> bool:
    """Whether this condition keeps threads from a barrier that waits for them."""
    is_cluster = barrier.operation.name in _CLUSTER_NAMES
    if condition.divergence < (Divergence.BLOCKS if is_cluster else Divergence.WARPS):
        return False
    if barrier.expected is not None:
        # Which warps come is for the counts to say; that warps come whole is not.
        return condition.divergence == Divergence.LANES
    if condition.divergence == Divergence.LANES and barrier.operation.name != _CLUSTER:
        return True
    return condition.is_loop or not _both_branches_have(condition.around, barrier.operation)


def _check_counts(number: int | None, barriers: Sequence[_Barrier]) -> None:
    """Warn of a barrier for more threads than can ever come to those of its identifier, `number`."""
    first = next((each for each in barriers if each.operation.name == _SYNC), None)
    if first is None or (expected := first.expected) is None or any(each.expected != expected for each in barriers):
        return
    waiting: set[int] = set()
    arriving = 0
    for barrier in barriers:
        threads = barrier.may_arrive()
        in_loop = any(each.name != "scf.if" for each in enclosing(barrier.operation))
        if threads is None or (barrier.operation.name == _ARRIVE and in_loop):
            return
        if barrier.operation.name == _ARRIVE:
            arriving += len(threads)
        else:
            waiting |= threads
    total = arriving + len(waiting)
    if 0 < total < expected:
        warning(
            first.operation,
            f"barrier {number} waits for {expected} threads, and at most {total} come to it: those that come wait for "
            "ever",
            {"threads expected": expected, "threads arriving": total},
        )


def _say_divergent(barrier: _Barrier, condition: _Condition, arriving: set[int] | None) -> None:
    what = "the cluster's barrier" if barrier.operation.name in _CLUSTER_NAMES else "a barrier"
    place = nearest_location(condition.around.location)
    where = "a loop that threads leave at different times" if condition.is_loop else "a branch"
    line = f" (line {place.line})" if place and _is_elsewhere(place, barrier.operation) else ""
    between = _BETWEEN[condition.divergence]
    numbers: dict[str, int | float | str] = {"between": between}
    reached = ""
    if arriving is not None and barrier.values and len(arriving) < barrier.values.threads:
        reached = f"; {len(arriving)} of {barrier.values.threads} threads reach it"
        numbers |= {"threads arriving": len(arriving), "threads": barrier.values.threads}
    advice = "move it out of the branch" if not condition.is_loop else "make all threads take as many rounds"
    warning(
        barrier.operation,
        f"{what} inside {where}{line}, whose condition differs between {between}{reached}: {advice}",
        numbers,
    )


def _is_elsewhere(place: SourceLocation, operation: ir.Operation) -> bool:
    own = nearest_location(operation.location)
    return own is None or place.line != own.line


def _conditions(operation: ir.Operation, values: ThreadValues | None) -> Iterator[_Condition]:
    """The branches and loops around `operation` that threads of its block or cluster may take differently."""
    inside = operation
    for around in enclosing(operation):
        region = next(n for n, each in enumerate(around.regions) if _is_in(inside, each))
        for value in deciding(around):
            known = values.of(value) if values else None
            if known is not None:
                divergence = _of_values(known)
            elif values and operation.name in _CLUSTER_NAMES and (ranks := values.in_cluster(value)):
                divergence = max(map(_of_values, ranks))
                if divergence == Divergence.NONE and len({each[0] for each in ranks}) > 1:
                    divergence = Divergence.BLOCKS
            else:
                divergence = divergence_of(value)
            if divergence != Divergence.NONE:
                yield _Condition(around, region, known, divergence)
        inside = around


def _of_values(values: Values) -> Divergence:
    if len(set(values)) == 1:
        return Divergence.NONE
    warps = [values[first : first + _WARP] for first in range(0, len(values), _WARP)]
    return Divergence.WARPS if all(len(set(warp)) == 1 for warp in warps) else Divergence.LANES


def _is_in(operation: ir.Operation, region: ir.Region) -> bool:
    return any(operation.block == block for block in region.blocks)


def _both_branches_have(branch: ir.Operation, barrier: ir.Operation) -> bool:
    """Whether warps that take either branch come to as many barriers like this one."""
    counts = [_count(region, barrier) for region in branch.regions]
    return len(counts) == 2 and counts[0] == counts[1]


def _count(region: ir.Region, barrier: ir.Operation) -> int:
    """How many barriers like `barrier` a way through `region` has; of branches in it, the one with most counts."""
    found = 0
    for block in region.blocks:
        for each in block.operations:
            operation = each.operation
            if operation.name == barrier.name and _identifier(operation) == _identifier(barrier):
                found += 1
            elif len(operation.regions):
                found += max(_count(inner, barrier) for inner in operation.regions)
    return found


def _identifier(operation: ir.Operation) -> int | None:
    """The number of a barrier; `None` when it is computed."""
    operands = list(operation.operands)
    return constant_of(operands[0]) if operands else 0


def _function_of(operation: ir.Operation) -> ir.Operation:
    around = operation
    while around.parent is not None and around.parent.operation.name != "gpu.module":
        around = around.parent.operation
    return around
