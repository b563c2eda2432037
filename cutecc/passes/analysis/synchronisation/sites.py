"""Sites of synchronisation: the operations of a lowered kernel by which warps wait for each other, or order memory.

Works on the form that `cutecc.passes.analysis.program` works on, in both pipelines: there each is one operation of
`nvvm`, whose addresses are integers.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, field

from cutecc.ir.mlir import ir


class Kind(enum.Enum):
    """What is done at a site."""

    INIT = "initialises an mbarrier"
    ARRIVE = "arrives at an mbarrier"
    EXPECT = "announces bytes to an mbarrier"
    ARRIVE_EXPECT = "announces bytes to an mbarrier, and arrives"
    COPY = "copies, and completes bytes at an mbarrier"
    COMMIT = "has tensor cores arrive at an mbarrier"
    WAIT = "waits at an mbarrier"
    TEST = "asks an mbarrier"
    BARRIER = "waits at a barrier of the block"
    BARRIER_ARRIVE = "arrives at a barrier of the block"
    CLUSTER_ARRIVE = "arrives at the cluster's barrier"
    CLUSTER_WAIT = "waits at the cluster's barrier"
    WRITE = "writes shared memory"
    READ = "has an asynchronous proxy read shared memory"
    REMOTE_READ = "reads shared memory of another block"
    PROXY_FENCE = "orders writes for asynchronous proxies"
    INIT_FENCE = "makes new mbarriers visible"
    FENCE = "orders memory for other threads"
    REGISTERS = "sets the number of registers"
    ALLOCATE = "allocates columns of tensor memory"
    DEALLOCATE = "deallocates columns of tensor memory"
    RELINQUISH = "gives up allocating tensor memory"
    ASSEMBLY = "does one of these in assembly that is not looked into"


ORDERING = frozenset({Kind.PROXY_FENCE, Kind.INIT_FENCE, Kind.FENCE})
MEMORY = ORDERING | {Kind.WRITE, Kind.READ, Kind.REMOTE_READ}
"""What no other warp waits for: a branch that has nothing else can be left out."""


@dataclass(frozen=True, eq=False)
class Site:
    """One operation."""

    operation: ir.Operation
    kind: Kind
    address: ir.Value | None = None
    """Of the mbarrier; of a write or read its place in shared memory; of columns the place of their address."""
    amount: ir.Value | int | None = None
    """Arrivals, bytes, threads of a barrier, or columns; `None` where there is none, or all threads are meant."""
    parity: ir.Value | None = None
    identifier: ir.Value | int = 0
    """Of a barrier of the block."""
    blocks: ir.Value | None = None
    """The mask of the cluster's blocks that a multicast is for."""
    is_pair: bool = False
    """Of two blocks: an mbarrier of the other one counts."""
    is_relaxed: bool = False
    is_of_tensor: bool = False
    """A copy by the TMA, whose descriptor says how many bytes it moves."""
    descriptors: tuple[ir.Value, ...] = field(default=())
    """Of matrices in shared memory that tensor cores read."""
    reaches_cluster: bool = True
    """Of a fence: whether other blocks see what it orders."""

    @property
    def values(self) -> list[ir.Value]:
        """What has to be known of it."""
        found = [self.address, self.amount, self.parity, self.identifier, self.blocks, *self.descriptors]
        return [each for each in found if isinstance(each, ir.Value)]


_SYNCHRONISES = re.compile(
    r"\b(?:mbarrier|barrier|bar|setmaxnreg|mapa|clusterlaunchcontrol)\.|\bst\.async|\bcp\.(?:async|reduce)\.|\btcgen05\."
)
_IN_SHARED = re.compile(r"\b(?:st|red|atom|stmatrix)\.[\w.:]*shared")
_PROXY = re.compile(r"\bfence\.proxy\.async")
_TRY_CANCEL = 16
"""Bytes of an answer."""
_FENCES = {
    "nvvm.fence.proxy": Kind.PROXY_FENCE,
    "nvvm.fence.mbarrier.init": Kind.INIT_FENCE,
}
_LOADS = "nvvm.cp.async.bulk.tensor.shared.cluster.global"
_STORES = ("nvvm.cp.async.bulk.tensor.global.shared.cta", "nvvm.cp.async.bulk.tensor.reduce")


def site_of(operation: ir.Operation) -> Site | None:  # one way for each operation
    """The site that an operation is; `None` for one that is none."""
    name = operation.name
    if name.startswith("nvvm.mbarrier."):
        return _of_mbarrier(operation, name.removeprefix("nvvm.mbarrier."))
    if name.startswith("nvvm.cp.async") or name in ("nvvm.store.async", "nvvm.clusterlaunchcontrol.try.cancel"):
        return _of_copy(operation, name)
    if name.startswith("nvvm.tcgen05."):
        return _of_tensor_memory(operation, name.removeprefix("nvvm.tcgen05."))
    if "barrier" in name or name.startswith("nvvm.cluster."):
        return _of_barrier(operation, name)
    if name == "nvvm.setmaxregister":
        return Site(operation, Kind.REGISTERS, amount=ir.IntegerAttr(operation.attributes["regCount"]).value)
    if name == "llvm.inline_asm":
        return _of_assembly(operation)
    if name.startswith("nvvm.fence"):
        return Site(operation, _FENCES.get(name, Kind.FENCE), reaches_cluster=not name.endswith("cta"))
    if name == "llvm.load" and str(operation.operands[0].type) == "!llvm.ptr<7>":
        return Site(operation, Kind.REMOTE_READ, operation.operands[0], _bytes(operation.results[0].type))
    return None


def _of_mbarrier(operation: ir.Operation, name: str) -> Site | None:
    operands = list(operation.operands)
    second = operands[1] if len(operands) > 1 else None
    if "wait" in name:
        kind = Kind.TEST if len(operation.results) else Kind.WAIT
        return Site(operation, kind if "parity" in name else Kind.ASSEMBLY, operands[0], parity=second)
    match name:
        case "init" | "init.shared":
            return Site(operation, Kind.INIT, operands[0], second)
        case "arrive" | "arrive.shared":
            return Site(operation, Kind.ARRIVE, operands[0], 1 if second is None else second)
        case "arrive.expect_tx" | "arrive.expect_tx.shared":
            kind = Kind.ARRIVE_EXPECT if len(operands) == 2 else Kind.ASSEMBLY
            return Site(operation, kind, operands[0], second)
        case "expect_tx":
            return Site(operation, Kind.EXPECT, operands[0], second)
        case "inval" | "inval.shared" | "txn":
            return None
        case _:
            return Site(operation, Kind.ASSEMBLY)


def _of_copy(operation: ir.Operation, name: str) -> Site | None:
    operands = list(operation.operands)
    if name == _LOADS:
        _, _, _, barrier, _, mask, _, predicate = _segments(operation)
        kind = Kind.ASSEMBLY if predicate else Kind.COPY
        blocks = mask[0] if mask else None
        return Site(operation, kind, barrier[0], blocks=blocks, is_pair=_is_pair(operation), is_of_tensor=True)
    if name in _STORES:
        return Site(operation, Kind.READ, operands[1], is_of_tensor=True)
    match name:
        case "nvvm.cp.async.shared.global":
            return Site(operation, Kind.WRITE, operands[0], ir.IntegerAttr(operation.attributes["size"]).value)
        case "nvvm.cp.async.mbarrier.arrive" | "nvvm.cp.async.mbarrier.arrive.shared":
            is_counted = "noinc" in operation.attributes and ir.IntegerAttr(operation.attributes["noinc"]).value
            return Site(operation, Kind.ARRIVE if is_counted else Kind.ASSEMBLY, operands[0], 1)
        case "nvvm.cp.async.bulk.shared.cluster.global" | "nvvm.cp.async.bulk.shared.cluster.shared.cta":
            return _of_bulk_copy(operation)
        case "nvvm.cp.async.bulk.global.shared.cta":
            return Site(operation, Kind.READ, operands[1], operands[2])
        case "nvvm.store.async":
            return Site(operation, Kind.COPY, operands[2], _bytes(operands[1].type))
        case "nvvm.clusterlaunchcontrol.try.cancel":
            is_multicast = "multicast" in operation.attributes
            return Site(operation, Kind.COPY, operands[1], _TRY_CANCEL, is_pair=False, is_relaxed=is_multicast)
        case _:
            return None


def _of_bulk_copy(operation: ir.Operation) -> Site:
    operands = list(operation.operands)
    plain = 4
    if "operandSegmentSizes" in operation.attributes:
        segments = _segments(operation)
        mask = segments[4] if operation.name.endswith("global") and len(segments) > plain else []
        return Site(operation, Kind.COPY, segments[2][0], segments[3][0], blocks=mask[0] if mask else None)
    return Site(operation, Kind.COPY, operands[2], operands[3])


def _of_tensor_memory(operation: ir.Operation, name: str) -> Site | None:
    operands = list(operation.operands)
    match name:
        case "commit" | "commit.arrive":
            mask = operands[1] if len(operands) > 1 else None
            return Site(operation, Kind.COMMIT, operands[0], 1, blocks=mask)
        case "alloc":
            return Site(operation, Kind.ALLOCATE, operands[0], operands[1], is_pair=_is_pair(operation))
        case "dealloc":
            return Site(operation, Kind.DEALLOCATE, None, operands[1], is_pair=_is_pair(operation))
        case "relinquish_alloc_permit":
            return Site(operation, Kind.RELINQUISH)
        case _ if name == "cp" or name.startswith("mma"):
            wide = [each for each in operands if str(each.type) == "i64"]
            return Site(operation, Kind.READ, descriptors=tuple(wide)) if wide and not operation.results else None
        case _:
            return None


def _of_barrier(operation: ir.Operation, name: str) -> Site | None:
    operands = list(operation.operands)
    match name:
        case "nvvm.barrier" | "nvvm.barrier0":
            threads = operands[1] if len(operands) > 1 else None
            return Site(operation, Kind.BARRIER, amount=threads, identifier=operands[0] if operands else 0)
        case "nvvm.barrier.arrive":
            threads = operands[1] if len(operands) > 1 else None
            return Site(operation, Kind.BARRIER_ARRIVE, amount=threads, identifier=operands[0])
        case "nvvm.cluster.arrive" | "nvvm.cluster.arrive.relaxed":
            return Site(operation, Kind.CLUSTER_ARRIVE, is_relaxed=name.endswith("relaxed"))
        case "nvvm.cluster.wait":
            return Site(operation, Kind.CLUSTER_WAIT)
        case "nvvm.fence.mbarrier.init":
            return Site(operation, Kind.INIT_FENCE)
        case _:
            return None


def _of_assembly(operation: ir.Operation) -> Site | None:
    text = ir.StringAttr(operation.attributes["asm_string"]).value
    if "wgmma.mma_async" in text:
        return Site(
            operation, Kind.READ, descriptors=tuple(each for each in operation.operands if str(each.type) == "i64")
        )
    if _PROXY.search(text):
        return Site(operation, Kind.PROXY_FENCE)
    if _SYNCHRONISES.search(text):
        return Site(operation, Kind.ASSEMBLY)
    if _IN_SHARED.search(text):
        return None
    return Site(operation, Kind.FENCE, reaches_cluster=".cta" not in text) if "fence." in text else None


def _segments(operation: ir.Operation) -> list[list[ir.Value]]:
    """Operands, by what they are."""
    operands = iter(operation.operands)
    sizes = ir.DenseI32ArrayAttr(operation.attributes["operandSegmentSizes"])
    return [[next(operands) for _ in range(size)] for size in sizes]


def _is_pair(operation: ir.Operation) -> bool:
    return "group" in operation.attributes and "cta_2" in str(operation.attributes["group"])


def _bytes(type_: ir.Type) -> int:
    digits = re.findall(r"\d+", str(type_))
    count = 1
    for each in digits:
        count *= int(each)
    return count // 8
