"""Bulk copies of consecutive bytes: `cp.async.bulk` and `cp.reduce.async.bulk`, one operation a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cutecc.emulator.instructions.atomics import REDUCTIONS, Reduce, reduction
from cutecc.emulator.instructions.issuer import Issuer, alike, issuers
from cutecc.emulator.instructions.operation import Operation, Reader
from cutecc.emulator.instructions.table import Step, instruction
from cutecc.emulator.instructions.transfer import (
    ALIGNMENT,
    SharedOperand,
    Transfer,
    destinations,
    global_bytes,
    post_to_group,
    post_to_mbarriers,
)
from cutecc.emulator.machine.lanes import Array, Lanes

if TYPE_CHECKING:
    from cutecc.emulator.machine.fragment import Waiting
    from cutecc.emulator.machine.gang import Gang

_HINT = "L2::cache_hint?"
_REDUCTION = f"{{{','.join(REDUCTIONS)}}}.noftz?.*"
_BYTES = "mbarrier::complete_tx::bytes"


@instruction(f"cp.async.bulk.prefetch.L2.global.{_HINT}")
def prefetch(operation: Operation) -> Step:
    """Caches are not modelled."""
    return lambda gang, lanes: None


@instruction(f"cp.async.bulk.{{shared::cluster,shared::cta}}.global.{_BYTES}.multicast::cluster?.{_HINT}")
def load(operation: Operation) -> Step:
    """From global memory to shared memory of one block, or of several at the same place."""
    address = [operation.address(each) for each in (*operation.operands[:2], operation.operands[3])]
    read_size = operation.reader(operation.operands[2], "u32")
    multicast = operation.form.has("multicast::cluster")
    read_mask: Reader | None = operation.reader(operation.operands[4], "u16") if multicast else None

    def step(gang: Gang, lanes: Lanes) -> Waiting | None:
        target, source, mbarrier = (each(gang) for each in address)
        to, ends = SharedOperand(gang, lanes, target), SharedOperand(gang, lanes, mbarrier)
        sizes = np.broadcast_to(read_size(gang), gang.shape)
        masks = None if read_mask is None else np.broadcast_to(read_mask(gang), gang.shape)
        for issuer in issuers(operation, gang, lanes):
            size, start = int(sizes[issuer.at]), int(source[issuer.at])
            place, barrier = to.place(issuer, size), ends.mbarrier(issuer)
            if place is None or barrier is None or not _is_aligned(issuer, start, size):
                continue
            places, barriers = (destinations(issuer, each, masks) for each in (place.index, barrier))
            _load(issuer, places, barriers, start, size, f"a bulk copy of {size} bytes to {place.text}")

    return step


def _load(issuer: Issuer, places: list[int], barriers: list[int], source: int, size: int, what: str) -> None:
    def action(transfer: Transfer) -> None:
        found = global_bytes(issuer, source, size, writes=False)
        if found is not None:
            transfer.main("read", lambda: np.array([source], np.uint64), size)
        for place, barrier in zip(places, barriers, strict=True):
            if found is not None:
                data, offset = found
                issuer.machine.memory.shared[place : place + size] = data[offset : offset + size]
            transfer.shared("write", [place], size)
            transfer.complete(barrier, size)

    post_to_mbarriers(issuer, action, what)


@instruction(
    f"cp.async.bulk.shared::cluster.shared::cta.{_BYTES}",
    f"cp.reduce.async.bulk.shared::cluster.shared::cta.{_BYTES}.{_REDUCTION}",
)
def send(operation: Operation) -> Step:
    """From the own shared memory to that of a block of the cluster, copied or reduced into what is there."""
    address = [operation.address(each) for each in (*operation.operands[:2], operation.operands[3])]
    read_size = operation.reader(operation.operands[2], "u32")
    reduce = _reduction(operation, "shared") if operation.form.modifiers[0] == "reduce" else None

    def step(gang: Gang, lanes: Lanes) -> Waiting | None:
        target, source, ends = (SharedOperand(gang, lanes, each(gang)) for each in address)
        sizes = np.broadcast_to(read_size(gang), gang.shape)
        for issuer in issuers(operation, gang, lanes):
            size = int(sizes[issuer.at])
            to, of, barrier = target.place(issuer, size), source.place(issuer, size), ends.mbarrier(issuer)
            if to is None or of is None or barrier is None or not _is_aligned(issuer, 0, size):
                continue

            def action(
                transfer: Transfer, issuer: Issuer = issuer, to: int = to.index, of: int = of.index,
                barrier: int = barrier, size: int = size,
            ) -> None:  # fmt: skip
                shared = issuer.machine.memory.shared
                new = shared[of : of + size]
                shared[to : to + size] = new if reduce is None else reduce(shared[to : to + size], new)
                transfer.shared("read", [of], size)
                transfer.shared("write" if reduce is None else "atomic", [to], size)
                transfer.complete(barrier, size)

            post_to_mbarriers(issuer, action, f"a bulk copy of {size} bytes to {to.text}")

    return step


@instruction(
    f"cp.async.bulk.global.shared::cta.bulk_group.{_HINT}.cp_mask?",
    f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{_HINT}.{_REDUCTION}",
)
def store(operation: Operation) -> Step:
    """From shared to global memory, copied or reduced into what is there. A mask has a bit for each of 16 bytes."""
    form = operation.form
    address = [operation.address(each) for each in operation.operands[:2]]
    read_size = operation.reader(operation.operands[2], "u32")
    reduce = _reduction(operation, "global") if form.modifiers[0] == "reduce" else None
    read_mask: Reader | None = operation.reader(operation.operands[-1], "u16") if form.has("cp_mask") else None

    def step(gang: Gang, lanes: Lanes) -> Waiting | None:
        target, source = address[0](gang), SharedOperand(gang, lanes, address[1](gang))
        sizes = np.broadcast_to(read_size(gang), gang.shape)
        masks = None if read_mask is None else np.broadcast_to(read_mask(gang), gang.shape)
        same = [target, source.indices, sizes, *([] if masks is None else [masks])]
        for issuer in issuers(operation, gang, lanes) if reduce else alike(operation, gang, lanes, same):
            size, start = int(sizes[issuer.at]), int(target[issuer.at])
            of = source.place(issuer, size)
            if of is None or not _is_aligned(issuer, start, size):
                continue
            kept = None if masks is None else (int(masks[issuer.at]) >> np.arange(size) % 16 & 1).astype(bool)
            _store(issuer, start, of.index, size, reduce, kept)

    return step


def _store(issuer: Issuer, target: int, source: int, size: int, reduce: Reduce | None, kept: Array | None) -> None:
    def action(transfer: Transfer) -> None:
        new = issuer.machine.memory.shared[source : source + size]
        transfer.shared("read", [source], size)
        found = global_bytes(issuer, target, size, writes=True)
        if found is None:
            return
        data, offset = found
        old = data[offset : offset + size]
        if reduce is not None:
            new = reduce(old, new)
        old[...] = new if kept is None else np.where(kept, new, old)
        kind = "write" if reduce is None else "atomic"
        if kept is None:
            transfer.main(kind, lambda: np.array([target], np.uint64), size)
        else:
            written = target + np.flatnonzero(kept).astype(np.uint64)
            transfer.main(kind, lambda: written, 1)

    post_to_group(issuer, action, f"a bulk copy of {size} bytes to {issuer.machine.memory.describe('global', target)}")


def _is_aligned(issuer: Issuer, address: int, size: int) -> bool:
    """Whether address and size of a global operand are right; else a fault."""
    text = issuer.machine.memory.describe("global", address) if address else None
    if address % ALIGNMENT:
        issuer.fault("misaligned", f"a bulk copy's global address is not a multiple of {ALIGNMENT}", text)
        return False
    if size % ALIGNMENT:
        issuer.fault("misaligned", f"copies {size} bytes, which are not a multiple of {ALIGNMENT}", text)
        return False
    return True


def _reduction(operation: Operation, space: str) -> Reduce:
    return reduction(operation, operation.form.one_of(*REDUCTIONS), operation.form.type, space)
