"""Cluster launch control: a block has a cluster that has not begun cancelled, and does its work (PTX ISA,
"clusterlaunchcontrol.try_cancel").

The answer, of 16 bytes, is the manual's secret; here it is as ptxas decodes it for sm_100a: x of the cluster's first
block, y and z of 16 bits each, and in bit 64 whether there is a cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from cutecc.emulator.instructions.issuer import Issuer, issuers
from cutecc.emulator.instructions.table import Step, instruction
from cutecc.emulator.instructions.transfer import SharedOperand, Transfer, destinations, post_to_mbarriers
from cutecc.emulator.machine.lanes import Array, Lanes
from cutecc.emulator.memory.poison import POISON

if TYPE_CHECKING:
    from cutecc.emulator.grid import Dim3
    from cutecc.emulator.instructions.form import Form
    from cutecc.emulator.instructions.operation import Operation, Reader
    from cutecc.emulator.machine.gang import Gang

_BYTES: Final = 16
"""Of an answer."""
_ALL_BLOCKS: Final = (1 << 16) - 1
_FIELDS: Final = {"x": (0, 32), "y": (32, 16), "z": (48, 16)}
"""Of the lower half: first bit, and bits."""
_FAILED: Final = "failed request"


def answer(first: Dim3 | None) -> bytes:
    """What is written of a request: of a cluster's first block, or of none."""
    if first is None:
        return bytes(_BYTES)
    low = sum(at << _FIELDS[axis][0] for axis, at in zip("xyz", first, strict=True))
    return (low | 1 << 64).to_bytes(_BYTES, "little")


@instruction(
    "clusterlaunchcontrol.try_cancel.async.shared::cta?.mbarrier::complete_tx::bytes.multicast::cluster::all?.b128"
)
def try_cancel(operation: Operation) -> Step:
    """A request. Its answer goes to the block, or with `.multicast::cluster::all` to each of the cluster."""
    target, mbarrier = operation.operands
    read_target, read_mbarrier = operation.address(target), operation.address(mbarrier)
    multicast = operation.form.has("multicast::cluster::all")

    def step(gang: Gang, lanes: Lanes) -> None:
        to, ends = (SharedOperand(gang, lanes, read(gang)) for read in (read_target, read_mbarrier))
        masks = np.full(gang.shape, _ALL_BLOCKS) if multicast else None
        for issuer in issuers(operation, gang, lanes):
            place, barrier = to.place(issuer, _BYTES), ends.mbarrier(issuer)
            if place is None or barrier is None:
                continue
            _check(issuer, (place.index, barrier), multicast)
            places, barriers = (destinations(issuer, each, masks) for each in (place.index, barrier))
            _request(issuer, places, barriers)

    return step


def _check(issuer: Issuer, places: tuple[int, int], multicast: bool) -> None:
    """Report what leaves a request undefined."""
    machine, block = issuer.machine, issuer.block
    if any(place // machine.memory.shared_stride != block.slot for place in places):
        issuer.report("launch-control", "names shared memory of another block: the answer comes to the block's own")
    failed: Operation | None = block.state.get(_FAILED)
    if failed is not None:
        text = f"requests a cluster after its block has seen a request fail, at {failed.where}"
        issuer.report("launch-control", f"{text}\nthe first request that fails has to be the last one")
    if multicast and any(not each.live_warps for each in block.cluster.blocks):
        issuer.report("launch-control", "is answered in all blocks of the cluster, of which one has exited")


def _request(issuer: Issuer, places: list[int], barriers: list[int]) -> None:
    def action(transfer: Transfer) -> None:
        machine = issuer.machine
        data = np.frombuffer(answer(machine.cancel()), np.uint8)
        for place, barrier in zip(places, barriers, strict=True):
            machine.memory.shared[place : place + _BYTES] = data
            transfer.shared("write", [place], _BYTES)
            transfer.complete(barrier, _BYTES)

    post_to_mbarriers(issuer, action, "a request to cancel a cluster")


@instruction("clusterlaunchcontrol.query_cancel.is_canceled.pred.b128")
def is_canceled(operation: Operation) -> Step:
    """Whether a cluster was cancelled."""
    read, write = success_of(operation), operation.writer(operation.operands[0], "pred")

    def step(gang: Gang, lanes: Lanes) -> None:
        succeeded = read(gang)
        for row in lanes.only(~succeeded).rows:
            gang.blocks[row].state[_FAILED] = operation
        write(gang, lanes, succeeded)

    return step


@instruction(
    "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128",
    "clusterlaunchcontrol.query_cancel.{get_first_ctaid::x,get_first_ctaid::y,get_first_ctaid::z}.b32.b128",
)
def first_block(operation: Operation) -> Step:
    """The first block of the cluster; of a request that failed, nothing that a kernel may use."""
    form, (result, source) = operation.form, operation.operands
    succeeded, read = success_of(operation), operation.vector_reader(source, "b64", 2)
    if form.has("v4"):
        results, axes = operation.in_braces(result, 4)[:3], "xyz"
    else:
        results, axes = (result,), form.modifiers[1][-1]
    writers = [operation.writer(each, "b32") for each in results]

    def step(gang: Gang, lanes: Lanes) -> None:
        low, there = np.broadcast_to(read(gang)[0], gang.shape), succeeded(gang)
        for axis, write in zip(axes, writers, strict=True):
            first, bits = _FIELDS[axis]
            field = low >> np.uint64(first) & np.uint64((1 << bits) - 1)
            write(gang, lanes, np.where(there, field, POISON[4]).astype(np.uint32))

    return step


def is_first_block(form: Form) -> bool:
    """Whether an instruction takes a block's index from an answer."""
    return form.opcode == "clusterlaunchcontrol" and form.modifiers[1].startswith("get_first_ctaid")


def success_of(operation: Operation) -> Reader:
    """Reads whether the answer that is queried is that of a request that has cancelled a cluster."""
    read = operation.vector_reader(operation.operands[1], "b64", 2)

    def succeeded(gang: Gang) -> Array:
        return np.broadcast_to(read(gang)[1] & np.uint64(1) != 0, gang.shape)

    return succeeded
