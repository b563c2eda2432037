"""The tensor pipe of a multiprocessor: multiplications and copies that threads issue, and `tcgen05.commit` behind them.

What one thread issues to a pipe happens in that order, some time after. The manual promises the order of some pairs
only ("Pipelined tcgen05 Instructions"): whether a kernel relies on more is for the checks to say, and each operation
tells them what it is promised to come after. An operation of a pair of blocks is in both their pipes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from cutecc.emulator.instructions import mbarrier_object
from cutecc.emulator.instructions.issuer import Issuer, issuers
from cutecc.emulator.instructions.table import Step, instruction
from cutecc.emulator.instructions.tcgen05_allocation import MEND_OF_PAIRS, pair_of
from cutecc.emulator.instructions.transfer import SharedOperand, destinations
from cutecc.emulator.machine.lanes import Lanes
from cutecc.emulator.memory.tensor_memory import tensor_memory_of

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.block import Block
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.watch import Agent

COPY: Final = "copy"
SHIFT: Final = "shift"
PRODUCT: Final = "product"
"""Kinds of operations, of which others are promised to come behind."""
_GROUP: Final = "{cta_group::1,cta_group::2}"


def blocks_of(issuer: Issuer) -> tuple[Block, ...] | None:
    """The blocks that an operation of a thread is of: one, or with `.cta_group::2` the pair; a fault without one."""
    if not issuer.operation.form.has("cta_group::2"):
        return (issuer.block,)
    pair = pair_of(issuer.block)
    if pair is None:
        text = f"is an operation of a pair of blocks, and its cluster has none\n{MEND_OF_PAIRS}"
        issuer.fault("tensor-memory", text)
    return pair


def issue(
    issuer: Issuer,
    blocks: tuple[Block, ...],
    action: Callable[[Agent], None],
    kinds: Sequence[str] = (),
    after: Sequence[str] = (),
    *,
    tells: bool = False,
) -> None:
    """Issue an operation to the pipes of its blocks. `action` does it, and tells the watch what it accesses.

    `after` are the kinds of the thread's earlier operations that it is promised to come after; `kinds` are its own.
    With `tells` it arrives at an mbarrier.
    """
    machine, watch = issuer.machine, issuer.machine.watch
    agent = watch.spawn(issuer.gang, Lanes(issuer.mask), issuer.operation) if watch.listens else -1
    queues = [tensor_memory_of(machine, block).issued for block in blocks]

    def act() -> None:
        for each in queues:
            # From the oldest on, as none is before that: the calls are not as deep as the queue is long.
            while each and each[0] is not pending:
                machine.finish(each[0])
            if each:
                each.popleft()
        if watch.listens:
            for each in after:
                watch.order(agent, thread_key(issuer, each))
        action(agent)
        if watch.listens:
            for each in ("", *kinds):
                watch.finish(agent, thread_key(issuer, each))

    operation = issuer.operation
    what = f"the {operation.form} of PTX line {operation.instruction.line}, of {issuer.block.name}"
    pending = machine.post(act, lambda: what, issuer.block.cluster, tells=tells)
    if not pending.done:
        for each in queues:
            each.append(pending)


def thread_key(issuer: Issuer, kind: str = "") -> Hashable:
    """What the watch knows all by that a thread has issued to its pipe, or those of a kind: it only grows."""
    return "tensor pipe", issuer.block.slot, issuer.threads[0], kind


@instruction(
    f"tcgen05.commit.{_GROUP}.mbarrier::arrive::one.{{shared::cluster,shared::cta}}?.b64",
    f"tcgen05.commit.{_GROUP}.mbarrier::arrive::one.{{shared::cluster,shared::cta}}?.multicast::cluster.b64",
)
def commit(operation: Operation) -> Step:
    """An arrival at an mbarrier, of one block or several, once all is over that the thread has issued so far."""
    place, *rest = operation.operands
    address = operation.address(place)
    read_mask = operation.reader(rest[0], "u16") if rest else None

    def step(gang: Gang, lanes: Lanes) -> None:
        barriers = SharedOperand(gang, lanes, address(gang))
        masks = None if read_mask is None else np.broadcast_to(read_mask(gang), gang.shape)
        for issuer in issuers(operation, gang, lanes):
            blocks, barrier = blocks_of(issuer), barriers.mbarrier(issuer)
            if blocks is None or barrier is None:
                continue
            _commit(issuer, blocks, destinations(issuer, barrier, masks))

    return step


def _commit(issuer: Issuer, blocks: tuple[Block, ...], barriers: list[int]) -> None:
    machine, watch = issuer.machine, issuer.machine.watch

    def action(agent: Agent) -> None:
        for index in barriers:
            barrier = mbarrier_object.find(machine, index)
            if barrier is not None:
                watch.finish(agent, barrier.key)
                barrier.ledger.note("arrives", issuer.operation, issuer.gang, issuer.mask, 1, 1)
            place = machine.memory.describe("shared", index % machine.memory.shared_stride)
            mbarrier_object.arrive(
                machine, index, 1, lambda message, place=place: issuer.report("mbarrier", message, place)
            )

    issue(issuer, blocks, action, after=("",), tells=True)


@instruction("tcgen05.fence::before_thread_sync", "tcgen05.fence::after_thread_sync")
def fence(operation: Operation) -> Step:
    """Orders what threads did with tensor memory before or after they synchronise; here it is in order anyway."""

    def step(gang: Gang, lanes: Lanes) -> None:
        gang.machine.watch.fence(gang, lanes, operation)

    return step
