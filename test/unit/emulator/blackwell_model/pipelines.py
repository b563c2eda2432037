"""Which `tcgen05` instructions are in order by themselves, who issues them, and what says that they are done.

PTX ISA, 9.7.16.5 "Issue Granularity", 9.7.16.6 "Memory Consistency Model for 5th generation of TensorCore operations",
9.7.16.6.1 "Asynchronous Operations", 9.7.16.6.2 "Pipelined tcgen05 Instructions" with its subsections.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Operation(Enum):
    ALLOC = "alloc"
    DEALLOC = "dealloc"
    RELINQUISH = "relinquish_alloc_permit"
    FENCE = "fence"
    WAIT_LD = "wait::ld"
    WAIT_ST = "wait::st"
    COMMIT = "commit"
    MMA = "mma"
    CP = "cp"
    SHIFT = "shift"
    LD = "ld"
    ST = "st"


ASYNCHRONOUS = {Operation.MMA, Operation.CP, Operation.SHIFT, Operation.LD, Operation.ST}
BY_ONE_THREAD = {Operation.MMA, Operation.CP, Operation.SHIFT, Operation.COMMIT}
BY_ONE_WARP = {Operation.ALLOC, Operation.DEALLOC, Operation.RELINQUISH}
"""Of `.cta_group::2` by one warp in each block of the pair, and the first one may wait for the second."""
BY_EACH_WARP = {Operation.LD, Operation.ST, Operation.WAIT_LD, Operation.WAIT_ST}
COMPLETION = {
    Operation.MMA: Operation.COMMIT,
    Operation.CP: Operation.COMMIT,
    Operation.SHIFT: Operation.COMMIT,
    Operation.LD: Operation.WAIT_LD,
    Operation.ST: Operation.WAIT_ST,
}
"""What tracks each, of those of the same thread before it; `commit` also only those of its `.cta_group`."""


@dataclass(frozen=True)
class Issued:
    """An asynchronous instruction, as far as order depends on it."""

    operation: Operation
    cta_group: int = 1
    shape: str = ""
    """M and N of a product; the qualifier of a copy."""
    kind: str = ""
    accumulator: int = 0
    """Its address, of a product."""


def are_pipelined(first: Issued, second: Issued) -> bool:
    """Whether two of a thread, or of threads that are ordered, execute in the order in which they were issued."""
    if first.cta_group != second.cta_group:
        return False
    match first.operation, second.operation:
        case Operation.MMA, Operation.MMA:
            same = (first.shape, first.kind, first.accumulator) == (second.shape, second.kind, second.accumulator)
            return same
        case (Operation.CP | Operation.SHIFT, Operation.MMA) | (Operation.MMA, Operation.SHIFT):
            return True
        case Operation.SHIFT, Operation.CP:
            return second.shape == "4x256b"
        case tracked, Operation.COMMIT | Operation.WAIT_LD | Operation.WAIT_ST:
            return COMPLETION.get(tracked) is second.operation
        case _:
            return False


def peer(rank: int) -> int:
    """The rank in the cluster of the other block of a pair (`%cluster_ctarank`)."""
    return rank ^ 1
