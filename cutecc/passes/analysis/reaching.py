"""Which threads come to an operation: the branches and loops around it that they may take differently."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cutecc.ir.locations import nearest_location
from cutecc.ir.mlir import ir
from cutecc.passes.analysis.device_code import function_of
from cutecc.passes.analysis.divergence import Divergence, divergence_of
from cutecc.passes.analysis.loops import deciding, enclosing, side_of
from cutecc.passes.analysis.per_thread import ThreadValues, Values, block_shape

WARP = 32
"""Threads."""
BETWEEN = {
    Divergence.BLOCKS: "blocks of the cluster",
    Divergence.WARPS: "warps",
    Divergence.LANES: "threads of a warp",
}


@dataclass(frozen=True)
class Condition:
    """A branch or loop around an operation."""

    around: ir.Operation
    region: int
    values: Values | None
    """Of a branch's condition, or of a loop's rounds, in each thread, where the thread alone decides."""
    divergence: Divergence
    """Between whom it can differ."""

    @property
    def is_loop(self) -> bool:
        return self.around.name != "scf.if"

    def described(self, inside: ir.Operation) -> str:
        """In words; with its line, where that is not the line of the operation inside of it."""
        place, own = nearest_location(self.around.location), nearest_location(inside.location)
        where = "a loop that threads leave at different times" if self.is_loop else "a branch"
        is_elsewhere = place is not None and (own is None or place.line != own.line)
        return f"{where} (line {place.line})" if place and is_elsewhere else where


@dataclass(frozen=True)
class Reach:
    """The way to an operation."""

    values: ThreadValues | None
    conditions: list[Condition]
    """Those that differ between threads, innermost first."""

    @classmethod
    def of(cls, operation: ir.Operation, values: ThreadValues | None, *, of_cluster: bool = False) -> Reach:
        """`of_cluster` is for an operation that the blocks of a cluster have to come to together."""
        return cls(values, list(_conditions(operation, values, of_cluster)))

    def may_arrive(self) -> set[int] | None:
        """The threads that can come here; `None` where it is not known that some cannot."""
        if self.values is None:
            return None
        threads = set(range(self.values.threads))
        for each in self.conditions:
            if each.values is not None and not each.is_loop:
                threads &= {thread for thread in threads if bool(each.values[thread]) == (each.region == 0)}
        return threads


def values_of(operation: ir.Operation) -> ThreadValues | None:
    """The values in the threads of the kernel around `operation`, where it says what shape its blocks have."""
    shape = block_shape(function_of(operation))
    return ThreadValues(shape) if shape else None


def _conditions(operation: ir.Operation, values: ThreadValues | None, of_cluster: bool) -> Iterator[Condition]:
    """The branches and loops around `operation` that threads of its block or cluster may take differently."""
    inside = operation
    for around in enclosing(operation):
        region = side_of(inside, around)
        rounds = _rounds(around, values) if values else None
        if rounds is not None:
            if (divergence := _of_values(rounds)) != Divergence.NONE:
                yield Condition(around, region, rounds, divergence)
            inside = around
            continue
        for value in deciding(around):
            known = values.of(value) if values else None
            if known is not None:
                divergence = _of_values(known)
            elif values and of_cluster and (ranks := values.in_cluster(value)):
                divergence = max(map(_of_values, ranks))
                if divergence == Divergence.NONE and len({each[0] for each in ranks}) > 1:
                    divergence = Divergence.BLOCKS
            else:
                divergence = divergence_of(value)
            if divergence != Divergence.NONE:
                yield Condition(around, region, known, divergence)
        inside = around


def _rounds(loop: ir.Operation, values: ThreadValues) -> Values | None:
    """How many rounds of a `scf.for` each thread takes, where the thread alone decides."""
    if loop.name != "scf.for":
        return None
    low, high, step = (values.of(each) for each in deciding(loop))
    if low is None or high is None or step is None or min(step) < 1:
        return None
    return tuple(max(0, -(-(end - begin) // by)) for begin, end, by in zip(low, high, step, strict=True))


def _of_values(values: Values) -> Divergence:
    if len(set(values)) == 1:
        return Divergence.NONE
    warps = [values[first : first + WARP] for first in range(0, len(values), WARP)]
    return Divergence.WARPS if all(len(set(warp)) == 1 for warp in warps) else Divergence.LANES
