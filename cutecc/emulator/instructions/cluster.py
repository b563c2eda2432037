"""Other blocks of the cluster: their addresses, and stores and reductions that complete bytes there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cutecc.emulator.instructions.atomics import update_of
from cutecc.emulator.instructions.issuer import issuers
from cutecc.emulator.instructions.table import Step, instruction
from cutecc.emulator.instructions.transfer import SharedOperand, Transfer, post_to_mbarriers
from cutecc.emulator.instructions.types import DTYPES, bits_of
from cutecc.emulator.machine.lanes import Array, Lanes
from cutecc.emulator.memory.conflicts import Update
from cutecc.emulator.memory.spaces import (
    CLUSTER_OFFSET_MASK,
    CLUSTER_SHIFT,
    FIRST_RANK,
    SHARED_ADDRESS_MASK,
    SHARED_APERTURE,
)

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.fragment import Waiting
    from cutecc.emulator.machine.gang import Gang

_COMPLETES = "mbarrier::complete_tx::bytes"
_ASYNC = f"{{weak,relaxed}}?.cluster?.shared::cluster?.{_COMPLETES}"


@instruction("mapa.shared::cluster?.{u32,u64}")
def mapa(operation: Operation) -> Step:
    """The address in another block of what an address means in the own one; generic addresses to generic ones."""
    result, address, rank = operation.operands
    type_, is_generic = operation.form.type, not operation.form.has("shared::cluster")
    write, read = operation.writer(result, type_), operation.reader(address, "u64")
    read_rank = operation.reader(rank, "u32")
    aperture = np.uint64(SHARED_APERTURE if is_generic else 0)

    def step(gang: Gang, lanes: Lanes) -> Waiting | None:
        offset = read(gang) & np.uint64(CLUSTER_OFFSET_MASK)
        block = np.broadcast_to(read_rank(gang), gang.shape).astype(np.uint64) + np.uint64(FIRST_RANK)
        found = offset | block << np.uint64(CLUSTER_SHIFT) | aperture
        write(gang, lanes, found.astype(DTYPES[type_]))

    return step


@instruction("getctarank.shared::cluster?.{u32,u64}")
def getctarank(operation: Operation) -> Step:
    """The rank of the block whose shared memory an address is in."""
    result, address = operation.operands
    write, read = operation.writer(result, "u32"), operation.reader(address, "u64")

    def step(gang: Gang, lanes: Lanes) -> Waiting | None:
        window = (read(gang) & np.uint64(SHARED_ADDRESS_MASK)) >> np.uint64(CLUSTER_SHIFT)
        own = np.array([[block.rank] for block in gang.blocks], np.uint64)
        found = np.where(window == 0, own, window - np.uint64(FIRST_RANK))
        write(gang, lanes, np.broadcast_to(found, gang.shape).astype(np.uint32))

    return step


@instruction(
    f"st.async.{_ASYNC}.{{v2,v4}}?.*",
    f"red.async.{_ASYNC}.{{inc,dec,min,max,and,or,xor,add}}.*",
)
def store(operation: Operation) -> Step:
    """Each thread stores a value, or reduces it into what is there, and completes as many bytes at an mbarrier."""
    form = operation.form
    target, value, mbarrier = operation.operands
    type_ = form.type
    read_target, read_mbarrier = operation.address(target), operation.address(mbarrier)
    count = int(form.one_of("v2", "v4", default="v1")[1:])
    readers = [operation.reader(item, type_) for item in operation.in_braces(value, count)]
    name = form.one_of("inc", "dec", "min", "max", "and", "or", "xor", "add")
    prepare = update_of(operation, name, type_, "shared") if form.opcode == "red" else None

    def step(gang: Gang, lanes: Lanes) -> Waiting | None:
        to, ends = (SharedOperand(gang, lanes, read(gang)) for read in (read_target, read_mbarrier))
        values = np.stack([np.broadcast_to(read(gang), gang.shape) for read in readers], axis=-1)
        for issuer in issuers(operation, gang, lanes):
            mine = values[issuer.at]
            place, barrier = to.place(issuer, mine.nbytes, mine.nbytes), ends.mbarrier(issuer)
            if place is None or barrier is None:
                continue
            update = None if prepare is None else prepare(mine, mine)

            def action(
                transfer: Transfer,
                old: Array = place.view(issuer),
                mine: Array = mine,
                update: Update | None = update,
                index: int = place.index,
                barrier: int = barrier,
            ) -> None:
                bits = bits_of(mine.dtype)
                old[...] = (mine if update is None else update(old.view(bits), np.zeros(1, np.int64))).view(np.uint8)
                transfer.shared("write" if update is None else "atomic", [index], mine.nbytes)
                transfer.complete(barrier, mine.nbytes)

            post_to_mbarriers(issuer, action, f"an asynchronous store of {mine.nbytes} bytes to {place.text}")

    return step
